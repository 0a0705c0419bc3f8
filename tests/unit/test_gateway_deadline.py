"""Deadline: many waits of one length share a timer, and each is still cut off by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure.gateway.deadline import Deadline


async def never() -> None:
    await asyncio.Event().wait()


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


def test_what_answers_in_time_is_answered() -> None:
    async def work() -> list[int]:
        deadline = Deadline(30)

        async def one(n: int) -> int:
            await asyncio.sleep(0)
            return n

        return await asyncio.gather(*(deadline.within(one(n)) for n in range(100)))

    assert run(work()) == list(range(100))


def test_what_takes_too_long_is_cancelled_and_its_neighbours_are_not() -> None:
    async def work() -> list[Any]:
        deadline, release = Deadline(0.02), asyncio.Event()
        stuck = [asyncio.create_task(deadline.within(never())) for _ in range(3)]
        with pytest.raises(TimeoutError):
            await stuck[0]
        late = asyncio.create_task(Deadline(30).within(release.wait()))
        release.set()
        return [await late, *await asyncio.gather(*stuck, return_exceptions=True)]

    late, *stuck = run(work())
    assert late is True
    assert [type(one) for one in stuck] == [TimeoutError] * 3


def test_a_wait_that_begins_after_others_ended_is_cut_off_too() -> None:
    async def work() -> None:
        deadline = Deadline(0.02)
        for _ in range(3):
            await deadline.within(asyncio.sleep(0))
            with pytest.raises(TimeoutError):
                await deadline.within(never())

    run(work())


def test_who_is_cancelled_by_somebody_else_is_cancelled_and_not_late() -> None:
    async def work() -> None:
        task = asyncio.create_task(Deadline(30).within(never()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())


def test_what_the_work_raises_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        run(Deadline(30).within(fail()))


def test_a_deadline_serves_one_event_loop_after_another() -> None:
    deadline = Deadline(0.02)

    async def work() -> None:
        with pytest.raises(TimeoutError):
            await deadline.within(never())

    async def left() -> None:
        await deadline.within(asyncio.sleep(0))

    for _ in range(2):
        run(left())
        run(work())
