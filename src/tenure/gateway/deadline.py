"""A limit of one length for many waits at a time, at a fraction of what a timer for each of them costs.

Waits of one length are over in the order in which they began, so one timer stands for the oldest of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

__all__ = ["Deadline", "Wait"]

T = TypeVar("T")


class Wait(Protocol):
    """What waits, and is told when that has taken too long."""

    ends: float

    def done(self) -> bool:
        """Whether it waits no more."""
        ...

    def expire(self) -> None:
        """It has taken too long."""
        ...


class _Task:
    """A task that waits: whether its time ran out, and whether it has gone on."""

    __slots__ = ("_task", "before", "ended", "ends", "over")

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task, self.before = task, task.cancelling()
        self.ends, self.over, self.ended = 0.0, False, False

    def done(self) -> bool:
        """Whether it has gone on."""
        return self.ended

    def expire(self) -> None:
        """Cancel it."""
        self.over = True
        self._task.cancel()


class Deadline:
    """Cancels what takes longer than `seconds`. For one event loop at a time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waits: deque[Wait] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def within(self, work: Awaitable[T]) -> T:
        """What it answers; TimeoutError if that takes too long, and then it was cancelled."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task to be cancelled")
        wait = _Task(task)
        self.watch(wait, task.get_loop())
        try:
            return await work
        except asyncio.CancelledError:
            if wait.over and task.uncancel() <= wait.before:
                raise TimeoutError(f"no answer within {self.seconds:g} s") from None
            raise
        finally:
            wait.ended = True

    def watch(self, wait: Wait, loop: asyncio.AbstractEventLoop) -> None:
        """Have it told when its time is over, unless it waits no more by then."""
        waits = self._waits
        wait.ends = loop.time() + self.seconds
        while waits and waits[0].done():
            waits.popleft()
        waits.append(wait)
        if self._timer is None or self._loop is not loop:
            self._loop, self._timer = loop, loop.call_at(wait.ends, self._look)

    def _look(self) -> None:
        """The oldest wait may be over; then look again when the next one would be."""
        self._timer, loop, waits = None, asyncio.get_running_loop(), self._waits
        while waits and (waits[0].done() or waits[0].ends <= loop.time()):
            wait = waits.popleft()
            if not wait.done():
                wait.expire()
        if waits:
            self._timer = loop.call_at(waits[0].ends, self._look)
