"""A slot survives whatever a job does, and starts nothing that may be somebody else's by now."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from datetime import timedelta

import tenure
from tests.worker.house import House, until


@dataclass
class Money:
    """Arguments that say no by themselves."""

    amount: int

    def __post_init__(self) -> None:
        assert self.amount > 0, "must be more than nothing"


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("cannot be read")


def test_arguments_that_say_no_by_themselves_go_to_dead_and_the_slot_works_on(house: House) -> None:
    @house.app.job
    async def pay(money: Money) -> None:
        pass

    @house.app.job
    async def fine() -> str:
        return "fine"

    bad = house.queue.enqueue("pay", {"money": {"amount": 0}})
    house.start(concurrency=1)
    assert fine.enqueue().result(timeout=30) == "fine"
    end = house.queue.get(bad.id)
    assert end is not None
    assert (end.state, end.reason, end.attempt) == ("dead", "bad arguments", 1)
    assert "must be more than nothing" in str(end.error)


def test_an_error_that_cannot_be_read_is_a_failure_and_the_slot_works_on(house: House) -> None:
    @house.app.job(retry=tenure.Fixed("1h"))
    async def buries() -> None:
        raise tenure.Bury(Unreadable())  # type: ignore[arg-type]  # what users do

    @house.app.job
    async def fine() -> str:
        return "fine"

    job = buries.enqueue()
    house.start(concurrency=1)
    assert fine.enqueue().result(timeout=30) == "fine"
    assert house.seen(job, lambda j: j.state == "scheduled").attempt == 1


def test_a_handler_that_cancels_its_own_task_harms_neither_its_slot_nor_the_next_job(house: House) -> None:
    @house.app.job
    async def cancels(first: bool) -> str:
        if not first:
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done all the same"

    @house.app.job
    async def waits() -> str:
        await asyncio.sleep(0.01)
        return "fine"

    jobs = [cancels.enqueue(first=True), waits.enqueue(), cancels.enqueue(first=False), waits.enqueue()]
    house.start(concurrency=1)
    assert [house.ended(j).state for j in jobs] == ["done"] * 4
    assert [house.ended(j).attempt for j in jobs] == [1] * 4


def test_what_was_claimed_while_the_event_loop_was_blocked_is_kept_and_runs_once(house: House) -> None:
    blocked, go_on, ran = threading.Event(), threading.Event(), []

    @house.app.job
    async def blocks() -> None:
        blocked.set()
        go_on.wait(60)  # nothing else runs on this event loop meanwhile

    @house.app.job
    async def quick(n: int) -> None:
        ran.append(n)

    block = blocks.enqueue()
    house.start(concurrency=5, lease="1500ms", poll="100ms")
    assert blocked.wait(30)
    jobs = [quick.enqueue(n) for n in range(3)]
    claimed = [house.seen(j, lambda j: j.state == "running") for j in jobs]
    first = [j.lease_until for j in claimed]

    def renewed_past_the_first_lease() -> bool:
        now = [job for j in jobs if (job := j.get()) is not None]
        return all(
            job.lease_until is not None and old is not None and job.lease_until - old > timedelta(seconds=2)
            for job, old in zip(now, first, strict=True)
        )

    until(renewed_past_the_first_lease)  # the keeper knows of them, although the event loop does not
    go_on.set()
    ends = [house.ended(j) for j in [block, *jobs]]
    assert [(e.state, e.epoch, e.crashes) for e in ends] == [("done", 1, 0)] * 4
    assert sorted(ran) == [0, 1, 2]
