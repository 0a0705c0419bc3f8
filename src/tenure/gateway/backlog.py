"""How full the queues are, known well enough to refuse: counted in the store now and then, and what was added since."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from tenure.client.queue import AsyncQueue

__all__ = ["Backlog"]

_EVERY = 1.0
_SHARE = 20
"""Counting may take no more than one part in so many of the time."""


class Backlog:
    """Pending jobs by queue. The first look waits for the store; later ones take the last count."""

    def __init__(self, queue: Callable[[], Awaitable[AsyncQueue]]) -> None:
        self._queue = queue
        self._counted: Counter[str] = Counter()
        self._added: Counter[str] = Counter()
        self._next = 0.0
        self._counting: asyncio.Task[None] | None = None

    def has_room(self, queue: str, most: int) -> bool:
        """Whether it holds fewer, as far as is known; False also when it is time to count again, which `of` does."""
        return not self._is_due() and self._counted[queue] + self._added[queue] < most

    async def of(self, queue: str) -> int:
        """About how many pending jobs it holds."""
        if self._is_due():
            self._counting = asyncio.create_task(self._count())
            self._counting.add_done_callback(_heard)
            if self._next == 0.0:
                await asyncio.shield(self._counting)
        return self._counted[queue] + self._added[queue]

    def _is_due(self) -> bool:
        return time.monotonic() >= self._next and (self._counting is None or self._counting.done())

    def add(self, queue: str) -> None:
        """One more was stored."""
        self._added[queue] += 1

    async def _count(self) -> None:
        began, before = time.monotonic(), Counter(self._added)
        try:
            counts = await (await self._queue()).counts()
            self._counted = Counter(
                {q: states["scheduled"] + states["waiting"] + states["ready"] for q, states in counts.items()}
            )
            self._added -= before
        finally:
            took = time.monotonic() - began
            self._next = time.monotonic() + max(_EVERY, took * _SHARE)


def _heard(task: asyncio.Task[None]) -> None:
    """A store that cannot be counted cannot be written either, and that is told to whoever tries."""
    if not task.cancelled():
        task.exception()
