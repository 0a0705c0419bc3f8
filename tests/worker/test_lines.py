"""How much a worker takes at a time: slots, lines of slots for queues, priorities, and what it claims ahead."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import tenure
from tests.worker.house import House, until


class Gauge:
    """Counts how many are inside at a time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def test_a_line_never_runs_more_than_its_slots_and_the_others_leave_its_queue_alone(house: House) -> None:
    gauges = {"a": Gauge(), "rest": Gauge()}
    full = threading.Barrier(2)

    @house.app.job
    async def measured(queue: str) -> None:
        with gauges["a" if queue == "a" else "rest"]:
            await asyncio.sleep(0.001)

    @house.app.job(queue="a")
    def both() -> None:
        with gauges["a"]:
            full.wait(30)

    jobs = [both.enqueue(), both.enqueue()]
    for queue in ("a", "b", "c"):
        jobs += [measured.options(queue=queue).enqueue(queue) for _ in range(10)]
    house.start(queues=["a:2", "*:1"])
    assert {house.ended(j).state for j in jobs} == {"done"}
    assert (gauges["a"].most, gauges["rest"].most) == (2, 1)


def test_a_line_goes_on_with_its_backlog_while_another_has_nothing_to_do(house: House) -> None:
    """The poll is long: only a free slot tells the claimer."""

    @house.app.job(queue="a")
    def slow(n: int) -> int:
        threading.Event().wait(0.01)
        return n

    jobs = house.app.enqueue_many([slow.call(n) for n in range(20)])
    working = house.start(queues=["a:1", "b:1"], poll="5s", prefetch=0)
    assert [j.result("30s") for j in jobs] == list(range(20))
    assert working is not None


def test_a_worker_takes_only_the_queues_it_names(house: House) -> None:
    @house.app.job
    async def where(ctx: tenure.Context) -> str:
        return ctx.job.queue

    mine, other = where.options(queue="mine").enqueue(), where.options(queue="other").enqueue()
    house.start(queues=["mine"])
    assert mine.result("30s") == "mine"
    seen = other.get()
    assert seen is not None
    assert (seen.state, seen.attempt) == ("ready", 0)


def test_higher_priorities_run_first_then_what_came_first(house: House) -> None:
    order: list[int] = []

    @house.app.job
    async def put(n: int) -> None:
        order.append(n)

    jobs = [put.options(priority=p).enqueue(n) for n, p in enumerate([0, 0, 5, -1, 5, 9])]
    house.start(concurrency=1, prefetch=0)
    for job in jobs:
        house.ended(job)
    assert order == [5, 2, 4, 0, 1, 3]


def test_without_prefetch_only_what_runs_is_claimed(house: House) -> None:
    go, begun = threading.Event(), threading.Semaphore(0)

    @house.app.job
    def waits() -> None:
        begun.release()
        go.wait(30)

    jobs = [waits.enqueue() for _ in range(8)]
    house.start(concurrency=2, prefetch=0)
    for _ in range(2):
        assert begun.acquire(timeout=30)
    assert house.queue.counts()["default"]["running"] == 2
    go.set()
    assert {house.ended(j).state for j in jobs} == {"done"}


def test_no_more_is_claimed_than_slots_and_prefetch_allow_even_while_the_loop_is_blocked(
    house: House,
) -> None:
    go, held = threading.Event(), list[int]()

    @house.app.job
    async def short() -> None: ...

    @house.app.job
    async def blocks() -> None:
        go.wait(30)

    def running() -> int:
        return house.queue.counts()["default"].get("running", 0)

    house.app.enqueue_many([blocks.call(), *(short.call() for _ in range(300))])
    house.start(concurrency=2, prefetch=5, settle_delay=0)
    until(lambda: running() > 0)
    for _ in range(30):
        held.append(running())
        threading.Event().wait(0.01)
    go.set()
    assert max(held) <= 2 + 5
    until(lambda: house.queue.counts()["default"].get("done", 0) == 301)


def test_the_jobs_of_a_group_follow_each_other_without_waiting_for_a_poll(house: House) -> None:
    order: list[int] = []

    @house.app.job
    async def step(n: int) -> None:
        order.append(n)

    jobs = [step.options(group="g").enqueue(n) for n in range(15)]
    house.start(poll="5s")
    for job in jobs:
        house.ended(job)
    assert order == list(range(15))


def test_short_jobs_are_settled_in_batches_and_those_that_ask_for_it_at_once(house: House) -> None:
    batches: list[int] = []
    house.app.listen(lambda e: batches.append(e.stood), tenure.events.Settled)

    @house.app.job
    async def many(n: int) -> None: ...

    @house.app.job(settle="now")
    async def at_once() -> str:
        return "now"

    house.app.enqueue_many([many.call(n) for n in range(100)])
    working = house.start(settle_delay="200ms")
    until(lambda: sum(batches) == 100)
    assert len(batches) < 100
    working.stop()
    with _somebody_at_work(house):
        assert at_once.enqueue().result("30s") == "now"


@contextmanager
def _somebody_at_work(house: House) -> Iterator[None]:
    """A worker that settles after an hour, or as soon as nobody is left to wait for; and a job that it runs all the while."""
    leave = threading.Event()

    @house.app.job
    def slow() -> None:
        leave.wait()

    job = slow.enqueue()
    house.start(settle_delay="1h")
    house.seen(job, lambda j: j.state == "running")
    try:
        yield
    finally:
        leave.set()


def test_the_next_of_a_group_does_not_wait_for_a_batch_to_fill(house: House) -> None:
    @house.app.job
    async def step(n: int) -> int:
        return n

    with _somebody_at_work(house):
        jobs = [step.options(group="g").enqueue(n) for n in range(3)]
        assert [job.result("30s") for job in jobs] == [0, 1, 2]


def test_an_outcome_waits_for_others_only_while_others_may_come(house: House) -> None:
    @house.app.job
    async def alone() -> str:
        return "settled"

    job = alone.enqueue()
    house.start(settle_delay="1h")
    assert job.result("30s") == "settled"
