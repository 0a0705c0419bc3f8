"""What stands around handlers: middleware, and who listens to events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

import tenure
from tenure.events import (
    ChoreDone,
    Ended,
    Event,
    Settled,
    Started,
    WorkerStarted,
    WorkerStopped,
    WorkerStopping,
)
from tests.worker.house import Heard, House, until

Call = Callable[[], Awaitable[Any]]
_user: ContextVar[str] = ContextVar("user", default="nobody")


def test_the_first_registered_is_outermost_and_each_may_change_the_result(house: House) -> None:
    order: list[str] = []

    def layer(name: str) -> None:
        @house.app.middleware
        async def around(ctx: tenure.Context, call: Call) -> Any:
            order.append(f"{name} in")
            value = await call()
            order.append(f"{name} out")
            return f"{name}({value})"

    layer("outer")
    layer("inner")

    @house.app.job
    async def handler() -> str:
        order.append("handler")
        return "x"

    job = handler.enqueue()
    house.start()
    assert job.result("30s") == "outer(inner(x))"
    assert order == ["outer in", "inner in", "handler", "inner out", "outer out"]


def test_sync_handlers_run_in_threads_inside_it_with_its_context(house: House) -> None:
    @house.app.middleware
    async def signs_in(ctx: tenure.Context, call: Call) -> Any:
        _user.set(f"user of {ctx.job.kind}")
        return await call()

    @house.app.job
    def in_thread(ctx: tenure.Context) -> str:
        return _user.get()

    @house.app.job
    async def on_loop() -> str:
        await asyncio.sleep(0)
        return _user.get()

    jobs = [in_thread.enqueue(), on_loop.enqueue()]
    house.start(concurrency=1)
    assert [j.result("30s") for j in jobs] == ["user of in_thread", "user of on_loop"]


def test_middleware_that_raises_fails_the_job_and_one_that_swallows_ends_it_well(house: House) -> None:
    @house.app.middleware
    async def guards(ctx: tenure.Context, call: Call) -> Any:
        if ctx.job.kind == "refused":
            raise PermissionError("not you")
        try:
            return await call()
        except ZeroDivisionError:
            return "swallowed"

    @house.app.job(max_attempts=1)
    async def refused() -> None: ...

    @house.app.job
    def divides() -> float:
        return 1 / 0

    @house.app.job(max_attempts=1)
    async def breaks() -> None:
        raise ValueError("v")

    no, well, bad = refused.enqueue(), divides.enqueue(), breaks.enqueue()
    house.start()
    assert (house.ended(no).state, house.ended(no).error) == ("dead", "not you")
    assert house.ended(well).result == "swallowed"
    assert house.ended(bad).error == "v"


def test_a_handler_inside_middleware_is_stopped_like_any_other(house: House) -> None:
    left: list[str] = []

    @house.app.middleware
    async def watches(ctx: tenure.Context, call: Call) -> Any:
        try:
            return await call()
        finally:
            left.append(ctx.job.kind)

    @house.app.job(timeout="50ms", max_attempts=1)
    async def long() -> None:
        await asyncio.sleep(3_600)

    job = long.enqueue()
    house.start()
    assert "longer than its timeout" in str(house.ended(job).error)
    assert left == ["long"]


@pytest.mark.parametrize("lets_through", [True, False], ids=["let through", "swallowed"])
@pytest.mark.parametrize("how", ["cancelled", "timed out", "given back"])
def test_a_sync_job_that_waits_in_middleware_can_be_stopped_and_does_not_start(
    house: House, how: str, lets_through: bool
) -> None:
    begun, ran = threading.Event(), threading.Event()

    @house.app.middleware
    async def waits(ctx: tenure.Context, call: Call) -> Any:
        begun.set()
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            if lets_through:
                raise
        return await call()

    @house.app.job(timeout="50ms" if how == "timed out" else None, max_attempts=1)
    def sync() -> None:
        ran.set()

    job = sync.enqueue()
    working = house.start(lease="2s", grace="60s")
    assert begun.wait(60)
    if how == "given back":
        working.tell()
        working.tell()
        working.gone()
        assert house.seen(job, lambda j: j.state == "ready").attempt == 0
    else:
        if how == "cancelled":
            house.queue.cancel(job.id)
        assert house.ended(job).state == ("dead" if how == "timed out" else "cancelled")
    assert not ran.is_set()


def test_a_sync_job_whose_claim_was_lost_while_it_waited_in_middleware_does_not_start(house: House) -> None:
    begun, stopped, ran = threading.Event(), threading.Event(), threading.Event()

    @house.app.middleware
    async def waits(ctx: tenure.Context, call: Call) -> Any:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3_600)
        try:
            return await call()
        finally:
            stopped.set()

    @house.app.job
    def sync() -> None:
        ran.set()

    sync.enqueue()
    working = house.start()
    assert begun.wait(60)
    [run] = working.worker._runner.runs.values()
    working.worker._loop.call_soon_threadsafe(working.worker._lose, run)
    assert stopped.wait(60)
    working.stop()
    assert not ran.is_set()


def test_middleware_that_is_still_at_work_after_a_sync_handler_can_be_stopped(house: House) -> None:
    @house.app.middleware
    async def lingers(ctx: tenure.Context, call: Call) -> Any:
        await call()
        await asyncio.sleep(3_600)

    @house.app.job(timeout="50ms", max_attempts=1)
    def sync() -> None: ...

    job = sync.enqueue()
    house.start()
    assert "longer than its timeout" in str(house.ended(job).error)


def test_events_tell_the_life_of_a_worker_and_its_jobs(house: House) -> None:
    heard = Heard(house.app)

    @house.app.job
    async def fine(n: int) -> int:
        return n

    @house.app.job(max_attempts=1)
    def breaks() -> None:
        raise ValueError("v")

    job, bad = fine.enqueue(3), breaks.enqueue()
    later = fine.options(delay="10ms").enqueue(4)
    working = house.start(queues=["default:3", "*:1"])
    for one in (job, bad, later):
        house.ended(one)
    working.stop()
    [started], [stopping], [stopped] = (heard.of(e) for e in (WorkerStarted, WorkerStopping, WorkerStopped))
    assert (started.queues, started.kinds) == (("default:3", "*:1"), ("breaks", "fine"))
    assert {e.worker for e in heard.events} == {started.worker}
    assert stopping.running == 0
    assert heard.events[-1] == stopped
    assert {e.claim.id for e in heard.of(Started)} == {job.id, bad.id, later.id}
    outcomes = {e.claim.id: e.outcome for e in heard.of(Ended)}
    assert outcomes[job.id] == tenure.Done(3)
    assert (outcomes[bad.id].kind, outcomes[bad.id].error) == ("ValueError", "v")
    assert all(e.seconds >= 0 for e in heard.of(Ended))
    assert sum(e.stood for e in heard.of(Settled)) == 3
    assert sum(e.lost for e in heard.of(Settled)) == 0


def test_a_listener_that_raises_harms_nobody(house: House) -> None:
    def trips(event: Event) -> None:
        raise RuntimeError(f"no {event}")

    house.app.listen(trips)
    heard = Heard(house.app, Ended)

    @house.app.job
    async def fine(n: int) -> int:
        return n

    jobs = [fine.enqueue(n) for n in range(3)]
    working = house.start()
    assert [j.result("30s") for j in jobs] == [0, 1, 2]
    working.stop()
    assert len(heard.events) == 3


def test_a_chore_that_moved_something_is_told_of(house: House) -> None:
    heard = Heard(house.app, ChoreDone)

    @house.app.job
    async def fine() -> str:
        return "fine"

    job = fine.options(delay="1ms").enqueue()
    until(lambda: (house.queue.next_due() or 0) <= 0)
    house.start()
    assert job.result("30s") == "fine"
    assert [(e.chore, e.moved) for e in heard.events if e.chore == "promote"] == [("promote", 1)]
