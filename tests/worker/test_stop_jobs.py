"""Jobs that must stop: they ran too long, somebody asked for it, or their claim is lost."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.events import ClaimGone, Listeners, Outage, SlotStuck
from tenure.worker.isolate import Children
from tenure.worker.run import Run
from tests.support.workers import alive
from tests.worker.house import Heard, House, Working, crash_once, stands, until

_HOUR = timedelta(hours=1)


def test_an_async_handler_that_runs_too_long_is_cancelled_and_tried_again(house: House) -> None:
    ended: list[str] = []

    @house.app.job(timeout="50ms", retry=tenure.Fixed("1h"))
    async def long() -> None:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    job, own = long.enqueue(), long.options(timeout="100ms").enqueue()
    house.start()
    for one, words in ((job, "0.05 s"), (own, "0.1 s")):
        waits = house.seen(one, lambda j: j.state == "scheduled")
        [told] = house.queue.history(one.id)
        assert (told.attempt, told.error_kind) == (1, "TimeoutError")
        assert f"longer than its timeout of {words}" in told.message
        assert waits.run_at - told.finished_at == _HOUR
    assert ended == ["cancelled"] * 2


def test_a_thread_that_runs_too_long_is_told_and_keeps_its_slot_and_claim_until_it_ends(house: House) -> None:
    go = threading.Event()
    heard = Heard(house.app, SlotStuck)

    @house.app.job(timeout="50ms", retry=tenure.Fixed("1h"))
    def long(ctx: tenure.Context) -> None:
        go.wait(30)
        with pytest.raises(TimeoutError, match="longer than its timeout"):
            ctx.check()
        ctx.check()

    @house.app.job
    async def next_one() -> str:
        return "ran"

    job = long.enqueue()
    house.start(concurrency=1, lease="2s")
    until(lambda: heard.events)
    assert heard.events[0].claim.id == job.id
    behind = next_one.enqueue()
    lease = house.seen(job, lambda j: j.lease_until).lease_until
    house.seen(job, lambda j: j.state == "running" and j.lease_until != lease)
    waiting = behind.get()
    assert waiting is not None
    assert waiting.state == "ready"
    go.set()
    assert "longer than its timeout" in str(house.seen(job, lambda j: j.state == "scheduled").error)
    assert behind.result("30s") == "ran"


@pytest.mark.parametrize("why", ["timeout", "cancel", "lost"])
def test_an_async_handler_that_swallows_its_cancellation_is_reported_as_stuck(
    house: House, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    told, go = list[str](), threading.Event()
    heard = Heard(house.app, SlotStuck)

    @house.app.job(timeout="50ms" if why == "timeout" else None)
    async def deaf() -> str:
        while not go.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                told.append(why)
        return "mine"

    @house.app.job
    async def next_one() -> str:
        return "ran"

    job = deaf.enqueue()
    working = house.start(concurrency=1, lease="2s")
    house.seen(job, lambda j: j.state == "running")
    if why == "cancel":
        job.cancel()
    elif why == "lost":
        _take_away(working, house, job.id)
    until(lambda: heard.events)
    assert [(e.claim.id, e.seconds > 1) for e in heard.events] == [(job.id, True)]
    [line] = [r for r in caplog.records if "its slot is stuck" in r.getMessage()]
    assert (line.__dict__["job_id"], line.__dict__["job_kind"]) == (job.id, "deaf")
    behind = next_one.enqueue()
    until(lambda: '"stuck": 1' in str(house.queue.workers()[0].about))
    assert house.seen(behind, lambda _: True).state == "ready"
    go.set()
    assert behind.result("30s") == "ran"
    assert told == [why]
    until(lambda: '"stuck": 0' in str(house.queue.workers()[0].about))
    assert house.ended(job).result == ("theirs" if why == "lost" else "mine")
    assert len(heard.events) == 1


def test_a_handler_that_stops_when_it_is_told_is_not_reported_as_stuck(house: House) -> None:
    heard = Heard(house.app, SlotStuck)

    @house.app.job(timeout="50ms", retry=tenure.Fixed("1h"))
    async def cleans_up() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(0.1)

    @house.app.job
    async def later() -> None:
        await asyncio.sleep(2.5)  # longer than the first may take to stop

    job = cleans_up.enqueue()
    house.start()
    house.seen(job, lambda j: j.state == "scheduled")
    house.ended(later.enqueue())
    assert heard.events == []


def test_a_thread_that_ends_late_but_well_is_done(house: House) -> None:
    heard = Heard(house.app, SlotStuck)

    @house.app.job(timeout="20ms")
    def late() -> str:
        until(lambda: heard.events)
        return "late"

    job = late.enqueue()
    house.start()
    assert job.result("30s") == "late"


def test_a_child_that_runs_too_long_is_killed(parent_house: House, tmp_path: Path) -> None:
    from tests.worker import apps

    job = apps.too_long.enqueue()
    parent_house.start(children=1)
    assert "longer than its timeout of 0.3 s" in str(
        parent_house.seen(job, lambda j: j.state == "scheduled").error
    )
    pid = int((tmp_path / "began").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    again = parent_house.seen(job, lambda j: j.state == "scheduled")
    assert (again.attempt, again.crashes) == (1, 0)


def test_a_child_that_was_to_be_killed_gets_no_other_job_though_it_ended_in_time(parent_house: House) -> None:
    from tests.worker import apps

    async def processes() -> list[object]:
        loop = asyncio.get_running_loop()
        children = Children(apps.app.address, most=1, marking=stands, listeners=Listeners(), worker="w")

        def stop(run: Run) -> None:
            run.time_out()
            run.active = False  # it has ended when the kill is due

        def begun(run: Run) -> None:
            loop.call_soon(stop, run)

        found: list[object] = []
        for claim in parent_house.queue.claim(2, worker="w"):
            run = Run(claim, apps.where, None, tenure.Context(claim, None))
            outcome = await children.run(run, begun, suspect=False)
            assert isinstance(outcome, tenure.Done)
            found.append(outcome.result)
        await children.close()
        return found

    for _ in range(2):
        apps.where.enqueue()
    first, second = asyncio.run(processes())
    assert first != second


def test_what_a_killed_child_has_started_is_killed_with_it(parent_house: House, tmp_path: Path) -> None:
    from tests.worker import apps

    job = apps.has_a_child.enqueue()
    working = parent_house.start(children=1, lease="2s")
    until((tmp_path / "began").exists)
    grandchild = int((tmp_path / "began").read_text())
    _take_away(working, parent_house, job.id)
    until(lambda: not alive(grandchild))


def test_time_spent_waiting_for_a_child_does_not_count(parent_house: House) -> None:
    from tests.worker import apps

    # Of a group: so it waits for its child, however long that takes, and is not put off.
    second = apps.plain_where.options(timeout="600ms", group="g").enqueue()
    crash_once(parent_house, second)
    first = apps.patient.options(priority=1).enqueue()
    parent_house.start(children=1, lease="2s")
    lease = _lease(parent_house.seen(second, lambda j: j.lease_until))
    parent_house.seen(second, lambda j: _lease(j) - lease > timedelta(seconds=0.7))
    first.cancel()
    assert parent_house.ended(first).state == "cancelled"
    assert second.result("30s") != os.getpid()
    assert len(parent_house.story(second)) == 1


def _lease(job: tenure.JobSeen) -> datetime:
    assert job.lease_until is not None
    return job.lease_until


def test_a_running_async_job_that_is_asked_to_cancel_is_cancelled(house: House) -> None:
    begun = threading.Event()

    @house.app.job
    async def long() -> None:
        begun.set()
        await asyncio.sleep(3_600)

    job = long.enqueue()
    house.start(lease="2s")
    assert begun.wait(30)
    assert job.cancel("changed my mind") == "asked"
    end = house.ended(job)
    assert (end.state, end.reason) == ("cancelled", "changed my mind")


def test_a_thread_that_is_asked_to_cancel_sees_it_in_check(house: House) -> None:
    begun, seen = threading.Event(), list[bool]()

    @house.app.job
    def long(ctx: tenure.Context) -> None:
        begun.set()
        try:
            while True:
                ctx.check()
                time.sleep(0.002)
        except tenure.JobAsked:
            seen.append(ctx.cancelled)
            raise

    job = long.enqueue()
    house.start(lease="2s")
    assert begun.wait(30)
    job.cancel()
    assert house.ended(job).state == "cancelled"
    assert seen == [True]


def test_an_isolated_job_that_is_asked_to_cancel_stops(parent_house: House, tmp_path: Path) -> None:
    from tests.worker import apps

    job = apps.patient.enqueue()
    parent_house.start(children=1, lease="2s")
    until((tmp_path / "began").exists)
    job.cancel()
    assert parent_house.ended(job).state == "cancelled"
    assert isinstance(apps.where.enqueue().result("30s"), int)


def test_done_wins_over_cancel(house: House) -> None:
    begun, go = threading.Event(), threading.Event()

    @house.app.job
    def finishes() -> str:
        begun.set()
        go.wait(30)
        return "finished"

    job = finishes.enqueue()
    house.start()
    assert begun.wait(30)
    assert job.cancel() == "asked"
    go.set()
    assert job.result("30s") == "finished"


def test_a_job_that_is_cancelled_while_it_waits_for_a_slot_here_never_starts(house: House) -> None:
    go, ran = threading.Event(), list[int]()

    @house.app.job
    async def short(n: int) -> None:
        ran.append(n)

    @house.app.job(priority=-1)
    async def blocks() -> None:
        await asyncio.to_thread(go.wait, 30)

    jobs = [blocks.enqueue(), *(short.options(priority=-2).enqueue(n) for n in range(3))]
    working = house.start(concurrency=1, lease="2s", prefetch=100)
    until(lambda: house.queue.counts()["default"].get("running", 0))
    working.crowd(3)
    until(lambda: house.queue.counts()["default"].get("running", 0) == 4)
    assert jobs[2].cancel() == "asked"
    assert house.ended(jobs[2]).state == "cancelled"
    go.set()
    house.ended(jobs[3])
    assert ran == [0, 2]


def test_a_handler_whose_claim_is_lost_is_cancelled_and_its_outcome_counts_for_nothing(house: House) -> None:
    begun, stopped = threading.Event(), threading.Event()
    heard = Heard(house.app, ClaimGone)

    @house.app.job
    async def stubborn() -> str:
        begun.set()
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            stopped.set()
        return "mine"

    job = stubborn.enqueue()
    working = house.start(lease="2s")
    assert begun.wait(30)
    _take_away(working, house, job.id)
    assert stopped.wait(30)
    until(lambda: heard.events)
    assert heard.events[0].claim.id == job.id
    assert house.ended(job).result == "theirs"


def test_a_thread_whose_claim_is_lost_sees_it_in_check_and_is_told_once(house: House) -> None:
    begun, lost = threading.Event(), threading.Event()
    heard = Heard(house.app, ClaimGone)

    @house.app.job
    def slow(ctx: tenure.Context) -> str:
        begun.set()
        until(lambda: ctx.lost)
        lost.set()
        with pytest.raises(tenure.ClaimLost):
            ctx.check()
        beat = house.queue.workers()[0].seen_at
        until(lambda: house.queue.workers()[0].seen_at - beat > timedelta(seconds=0.7))  # two renewals later
        return "mine"

    @house.app.job
    async def after() -> str:
        return "after"

    job = slow.enqueue()
    working = house.start(lease="2s", concurrency=1)
    assert begun.wait(30)
    _take_away(working, house, job.id)
    assert lost.wait(30)
    assert after.enqueue().result("30s") == "after"
    assert house.ended(job).result == "theirs"
    assert len(heard.events) == 1


def test_an_isolated_job_whose_claim_is_lost_is_stopped(parent_house: House, tmp_path: Path) -> None:
    from tests.worker import apps

    job = apps.patient.enqueue()
    working = parent_house.start(children=1, lease="2s")
    until((tmp_path / "began").exists)
    _take_away(working, parent_house, job.id)
    assert isinstance(apps.where.enqueue().result("30s"), int)
    assert parent_house.ended(job).result == "theirs"


def test_a_lost_job_that_comes_back_to_the_same_worker_runs_again(house: House) -> None:
    """The first run is still in its thread when the second begins in another slot."""
    runs: list[int] = []
    both = threading.Event()

    @house.app.job
    def twice() -> int:
        runs.append(1)
        if len(runs) == 1:
            both.wait(30)
            return 1
        both.set()
        return 2

    job = twice.enqueue()
    house.start(lease="3s", concurrency=2)
    until(lambda: runs)
    house.seen(job, lambda j: j.state == "running")
    house.queue.vanished(house.seen(job, lambda j: j.worker).worker or "")
    assert job.result("30s") == 2
    assert house.ended(job).crashes == 0
    again = twice.enqueue()
    assert again.result("30s") == 2


def test_progress_reaches_the_store_while_the_job_runs(house: House) -> None:
    go = threading.Event()

    @house.app.job
    def tells(ctx: tenure.Context) -> None:
        ctx.progress(0.1)
        ctx.progress(0.4, "almost\x00 half")
        with pytest.raises(tenure.FieldError):
            ctx.progress(1.5)
        go.wait(30)

    job = tells.enqueue()
    house.start(lease="1500ms")
    seen = house.seen(job, lambda j: j.progress is not None)
    assert (seen.progress, seen.progress_note, seen.state) == (0.4, "almost\ufffd half", "running")
    go.set()
    assert house.ended(job).state == "done"


def test_who_tells_of_progress_all_the_time_delays_no_lease(house: House) -> None:
    go = threading.Event()

    @house.app.job
    def chatters(ctx: tenure.Context) -> None:
        while not go.wait(0.0001):
            ctx.progress(0.5, "still at it")

    @house.app.job
    def says_once(ctx: tenure.Context) -> None:
        ctx.progress(0.25)
        go.wait(60)

    jobs = [chatters.enqueue(), says_once.enqueue()]
    house.start(lease="1500ms")
    leases = [house.seen(job, lambda j: j.progress is not None).lease_until for job in jobs]
    for _ in range(3):
        leases = [_renewed(house, job, since) for job, since in zip(jobs, leases, strict=True)]
    go.set()
    assert [(j.state, j.attempt, j.crashes) for j in map(house.ended, jobs)] == [("done", 1, 0)] * 2


@pytest.mark.parametrize("own_house", ["postgres"], indirect=True)
def test_what_is_settled_in_a_transaction_of_its_own_tells_no_more_of_its_progress(own_house: House) -> None:
    """Its row is held until that transaction ends, and who waits for it renews no lease meanwhile."""
    heard = Heard(own_house.app, Outage)
    go = threading.Event()

    @own_house.app.job
    def ends_itself(ctx: tenure.Context) -> None:
        with own_house.connection() as connection:
            ctx.claim.settle_in(connection, tenure.Done())
            ctx.progress(0.9)
            go.wait(60)
            connection.commit()

    @own_house.app.job
    async def waits() -> None:
        while not go.is_set():  # noqa: ASYNC110 - the test is no task
            await asyncio.sleep(0.01)

    jobs = [ends_itself.enqueue(), waits.enqueue()]
    own_house.start(lease="1500ms")
    lease = own_house.seen(jobs[1], lambda j: j.state == "running").lease_until
    for _ in range(8):
        lease = _renewed(own_house, jobs[1], lease)
    assert heard.events == []
    go.set()
    assert [own_house.ended(job).state for job in jobs] == ["done"] * 2


def _renewed(house: House, job: Any, since: datetime | None) -> datetime | None:
    """Until when a running job's lease lasts, once that is later than it was."""
    assert since is not None
    return house.seen(job, lambda j: j.lease_until is not None and j.lease_until > since).lease_until


def test_progress_of_an_isolated_job_reaches_the_store(parent_house: House, tmp_path: Path) -> None:
    from tests.worker import apps

    job = apps.told.enqueue()
    parent_house.start(children=1, lease="1500ms")
    seen = parent_house.seen(job, lambda j: j.progress is not None)
    assert (seen.progress, seen.progress_note) == (0.5, "half")
    (tmp_path / "seen").touch()
    assert parent_house.ended(job).state == "done"


def _take_away(working: Working, house: House, job_id: str) -> None:
    """End the job by other means than its worker's."""
    runs = working.worker._runner.runs
    until(lambda: job_id in runs)
    assert house.queue.settle(runs[tenure.JobId(job_id)].claim, tenure.Done("theirs"))
