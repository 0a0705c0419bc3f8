"""How a worker stops: what runs is finished, what waits is given back, and nothing is lost."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.events import ChoreDone, WorkerStopping
from tenure.worker.start import make_worker, worker_settings
from tests.worker.house import Heard, House, until


def _running(house: House) -> int:
    return house.queue.counts()["default"].get("running", 0)


def test_the_first_stop_finishes_what_runs_and_gives_back_what_waits(house: House) -> None:
    begun, go = threading.Event(), threading.Event()

    @house.app.job
    def waits() -> str:
        begun.set()
        go.wait(30)
        return "finished"

    jobs = [waits.enqueue() for _ in range(4)]
    working = house.start(concurrency=1)
    assert begun.wait(30)
    working.crowd(3)
    until(lambda: _running(house) == 4)
    assert [w.kinds for w in house.queue.workers()] == [("waits",)]
    working.tell()
    for job in jobs[1:]:
        given_back = house.seen(job, lambda j: j.state == "ready")
        assert (given_back.attempt, given_back.crashes) == (0, 0)
    go.set()
    working.gone()
    assert house.ended(jobs[0]).result == "finished"
    assert house.queue.workers() == []
    house.start(concurrency=1)
    assert [j.result("30s") for j in jobs] == ["finished"] * 4
    assert [house.story(j) for j in jobs] == [[]] * 4


def test_the_second_stop_gives_back_what_runs(house: House) -> None:
    begun, go = threading.Barrier(3), threading.Event()

    @house.app.job
    async def on_loop() -> None:
        await asyncio.to_thread(begun.wait, 30)
        await asyncio.sleep(3_600)

    @house.app.job
    def in_thread() -> None:
        begun.wait(30)
        go.wait(30)

    jobs = [on_loop.enqueue(), in_thread.enqueue()]
    working = house.start(grace="2s")
    begun.wait(30)
    working.tell()
    working.tell()
    working.gone()
    for job in jobs:
        seen = house.seen(job, lambda j: j.state == "ready")
        assert (seen.attempt, seen.crashes, house.story(job)) == (0, 0, [])
    assert house.queue.workers() == []
    go.set()


def test_a_handler_in_a_thread_hears_that_its_worker_leaves_and_its_job_is_given_back(house: House) -> None:
    begun, ended = threading.Event(), threading.Event()

    @house.app.job
    def polls(ctx: tenure.Context) -> None:
        begun.set()
        try:
            while True:
                ctx.check()
                ended.wait(0.003)
        finally:
            ended.set()

    job = polls.enqueue()
    working = house.start(grace="30s")
    assert begun.wait(30)
    working.tell()
    working.tell()
    assert ended.wait(30)
    working.gone()
    seen = house.seen(job, lambda j: j.state == "ready")
    assert (seen.attempt, seen.crashes, house.story(job)) == (0, 0, [])


def test_past_its_grace_a_worker_waits_for_nobody(house: House) -> None:
    begun, go = threading.Barrier(3), threading.Event()

    @house.app.job
    async def deaf() -> None:
        await asyncio.to_thread(begun.wait, 30)
        while not go.is_set():
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                await asyncio.to_thread(go.wait, 0.5)
                return

    @house.app.job
    def hangs() -> None:
        begun.wait(30)
        go.wait(30)

    jobs = [deaf.enqueue(), hangs.enqueue()]
    working = house.start(grace="500ms")
    begun.wait(30)
    working.stop()
    for job in jobs:
        assert house.seen(job, lambda j: j.state == "ready").attempt == 0
    go.set()


def test_an_isolated_job_is_given_back_too_and_its_process_is_gone(
    parent_house: House, tmp_path: Path
) -> None:
    from tests.worker import apps

    job = apps.patient.enqueue()
    working = parent_house.start(children=1, grace="5s")
    until((tmp_path / "began").exists)
    working.tell()
    working.tell()
    working.gone()
    seen = parent_house.seen(job, lambda j: j.state == "ready")
    assert (seen.attempt, seen.crashes) == (0, 0)
    pid = int((tmp_path / "began").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_worker_that_is_told_to_stop_before_it_began_stops(house: House) -> None:
    @house.app.job
    async def fine() -> None: ...

    job = fine.enqueue()
    working = house.start()
    working.tell()
    working.gone()
    working.tell()
    house.seen(job, lambda j: j.state in ("ready", "done"))


@pytest.mark.parametrize(
    "settings",
    [{"concurrency": 1, "prefetch": 0}, {"concurrency": 50}, {"queues": ["default:5", "*:5"]}],
    ids=["one", "many", "lines"],
)
def test_a_worker_stops_by_itself_after_so_many_jobs_and_runs_not_one_more(
    house: House, settings: dict[str, Any]
) -> None:
    @house.app.job
    async def fine() -> None: ...

    house.app.enqueue_many(
        [fine.options(queue=queue).call() for queue in ("default", "mail") for _ in range(300)]
    )
    house.start(max_jobs=105, **settings).gone()
    counts = Counter[str]()
    for states in house.queue.counts().values():
        counts.update({state: n for state, n in states.items() if n})
    assert counts == {"done": 105, "ready": 495}
    assert house.queue.workers() == []


def test_who_makes_room_and_is_told_to_stop_meanwhile_has_been_told_once(house: House) -> None:
    begun, go = asyncio.Event(), threading.Event()

    @house.app.job
    async def waits() -> str:
        begun.set()
        while not go.is_set():  # noqa: ASYNC110 - the test is no task
            await asyncio.sleep(0.003)
        return "finished"

    @house.app.job
    async def fine() -> None: ...

    job = waits.enqueue()
    working = house.start(max_memory=1)
    until(begun.is_set)
    fine.enqueue()
    until(lambda: working.worker.made_room)
    working.tell()
    for _ in range(20):
        assert working.worker.answers(60)
    go.set()
    working.gone()
    assert house.ended(job).result == "finished"


def test_who_makes_room_waits_for_what_runs_longer_than_a_grace_period(house: House) -> None:
    """Nobody is in a hurry: what is given back would be begun anew by each fresh worker, and never end."""
    turns, go = [0], threading.Event()

    @house.app.job
    async def takes_long() -> str:
        while not go.is_set():
            turns[0] += 1
            await asyncio.sleep(0.003)
        return "finished"

    @house.app.job
    async def fine() -> None: ...

    job = takes_long.enqueue()
    working = house.start(max_memory=1, grace="300ms")
    until(lambda: turns[0])
    fine.enqueue()
    until(lambda: working.worker.made_room)
    then = turns[0]
    until(lambda: turns[0] > then + 300)
    later = fine.enqueue()
    assert house.seen(later, lambda j: j.state == "ready").attempt == 0
    go.set()
    working.gone()
    seen = house.ended(job)
    assert (seen.result, seen.attempt) == ("finished", 1)


def test_who_makes_room_does_not_wait_for_what_runs_on_past_its_timeout(house: House) -> None:
    begun, go = threading.Event(), threading.Event()

    @house.app.job(timeout="50ms")
    def hangs() -> None:
        begun.set()
        go.wait(60)

    @house.app.job
    async def fine() -> None: ...

    hangs.enqueue()
    working = house.start(max_memory=1, grace="300ms")
    assert begun.wait(30)
    fine.enqueue()
    working.gone()
    assert working.worker.made_room
    go.set()


def test_what_is_settled_while_the_claimer_counts_is_no_room_for_more(house: House) -> None:
    @house.app.job
    async def fine() -> None: ...

    worker = make_worker(house.app, worker_settings(max_jobs=5))

    class Settled(set[Any]):
        """The settler ends a claim the moment before they are counted."""

        def __len__(self) -> int:
            if set.__len__(self):
                worker._ended += 1
                self.pop()
            return set.__len__(self)

    worker._held = Settled(["a claim"])
    assert worker._left() == 4


def test_told_to_stop_during_the_first_chores_it_hears_it_and_claims_nothing(house: House) -> None:
    begun, go = threading.Event(), threading.Event()
    heard = Heard(house.app, WorkerStopping)

    def dawdles(_event: ChoreDone) -> None:
        begun.set()
        go.wait(60)

    house.app.listen(dawdles, ChoreDone)

    @house.app.job
    async def fine() -> None: ...

    job = fine.options(delay="1ms").enqueue()
    until(lambda: (house.queue.next_due() or 0) <= 0)
    working = house.start()
    assert begun.wait(60)
    working.tell()
    until(lambda: heard.events)
    go.set()
    working.gone()
    seen = house.seen(job, lambda j: j.state == "ready")
    assert (seen.attempt, house.queue.workers()) == (0, [])


def test_a_stopped_worker_hands_over_to_the_next(house: House) -> None:
    @house.app.job(max_attempts=1)
    async def fine(n: int) -> int:
        await asyncio.sleep(0)
        return n

    jobs = house.app.enqueue_many([fine.call(n) for n in range(200)])
    for _ in range(3):
        working = house.start(concurrency=5, settle_delay=0)
        until(lambda: _running(house) or not house.queue.counts()["default"].get("ready", 0))
        working.stop()
    house.start()
    assert [j.result("30s") for j in jobs] == list(range(200))
    assert tenure.State.DEAD not in {house.ended(j).state for j in jobs}
