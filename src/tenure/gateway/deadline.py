"""A limit of one length for many waits at a time, at a fraction of what a timer for each of them costs.

Waits of one length are over in the order in which they began, so one timer stands for the oldest of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import Any, TypeVar

__all__ = ["Deadline"]

T = TypeVar("T")


class _Wait:
    """One wait: whose it is, until when, and whether its time ran out. No task: it has ended."""

    __slots__ = ("before", "ends", "over", "task")

    def __init__(self, task: asyncio.Task[Any], ends: float) -> None:
        self.task: asyncio.Task[Any] | None = task
        self.before, self.ends, self.over = task.cancelling(), ends, False


class Deadline:
    """Cancels what takes longer than `seconds`. For one event loop at a time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waits: deque[_Wait] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def within(self, work: Awaitable[T]) -> T:
        """What it answers; TimeoutError if that takes too long, and then it was cancelled."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task to be cancelled")
        loop, waits = task.get_loop(), self._waits
        wait = _Wait(task, loop.time() + self.seconds)
        while waits and waits[0].task is None:
            waits.popleft()
        waits.append(wait)
        if self._timer is None or self._loop is not loop:
            self._loop, self._timer = loop, loop.call_at(wait.ends, self._look)
        try:
            return await work
        except asyncio.CancelledError:
            if wait.over and task.uncancel() <= wait.before:
                raise TimeoutError(f"no answer within {self.seconds:g} s") from None
            raise
        finally:
            wait.task = None

    def _look(self) -> None:
        """The oldest wait may be over; then look again when the next one would be."""
        self._timer, loop, waits = None, asyncio.get_running_loop(), self._waits
        while waits and (waits[0].task is None or waits[0].ends <= loop.time()):
            wait = waits.popleft()
            if wait.task is not None:
                wait.over = True
                wait.task.cancel()
        if waits:
            self._timer = loop.call_at(waits[0].ends, self._look)
