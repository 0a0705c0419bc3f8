"""Crews of threads, where the system has none to give."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tenure
from tenure.worker.threads import Crew, NoThread
from tests.worker.house import House

_TOO_MUCH = 1 << 46
"""A stack that no thread can have."""


@contextmanager
def no_threads() -> Iterator[None]:
    """Meanwhile no thread can be started in this process."""
    before = threading.stack_size(_TOO_MUCH)
    try:
        yield
    finally:
        threading.stack_size(before)


def test_a_thread_that_could_not_be_started_is_not_counted() -> None:
    async def work() -> list[int]:
        crew = Crew(2, asyncio.get_running_loop())
        for _ in range(3):
            with no_threads(), pytest.raises(NoThread, match="no thread could be started"):
                crew.submit(lambda: 0)
        both = threading.Barrier(2)
        answers = [crew.submit(lambda: both.wait(60)) for _ in range(2)]
        places = await asyncio.wait_for(asyncio.gather(*answers), 60)
        crew.close()
        return sorted(places)

    assert asyncio.run(work()) == [0, 1]


def test_a_job_for_which_no_thread_could_be_started_is_given_back_and_burns_nothing(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    refused: list[int] = []

    @house.app.middleware
    async def first_without(ctx: tenure.Context, call: Callable[[], Awaitable[Any]]) -> Any:
        if refused:
            return await call()
        refused.append(ctx.attempt)
        with no_threads():
            return await call()

    @house.app.job(max_attempts=1)
    def sync() -> str:
        return "ran"

    job = sync.enqueue()
    house.start()
    assert job.result("60s") == "ran"
    assert (refused, house.ended(job).attempt, house.story(job)) == ([1], 1, [])
    assert "no thread could be started for it" in caplog.text
