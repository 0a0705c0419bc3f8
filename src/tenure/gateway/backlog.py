"""How full the queues are, known well enough to refuse: counted in the store now and then, and what was added since.

What workers have taken since the last count is not known. So a queue that is full only by what was added since is counted
again before anybody is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from tenure.client.async_queue import AsyncQueue

__all__ = ["Backlog"]

_EVERY = 1.0
_SHARE = 20
"""Counting may take no more than one part in so many of the time."""
_PENDING = ("scheduled", "waiting", "ready")
_MOST_COUNTED = 1_000_000


class Backlog:
    """Pending jobs by queue. The first look waits for the store; later ones take the last count, unless that means to refuse."""

    def __init__(self, queue: Callable[[], Awaitable[AsyncQueue]]) -> None:
        self._queue = queue
        self._counted: Counter[str] = Counter()
        self._added: Counter[str] = Counter()
        self._next = self._soonest = 0.0
        """When to count again anyway, and when that may be at the soonest."""
        self._most = 0
        """The highest limit that was asked about: nobody needs to know of more."""
        self._counting: asyncio.Task[None] | None = None

    def has_room(self, queue: str, most: int) -> bool:
        """Whether it holds fewer, as far as is known; False also when it is time to count again, which `is_full` does."""
        return bool(self._next) and not self._is_due() and self._counted[queue] + self._added[queue] < most

    async def is_full(self, queue: str, most: int) -> bool:
        """Whether it holds so many pending jobs."""
        self._most = max(self._most, most)
        first = self._next == 0.0
        if self._is_due():
            self._count_again()
        if first and self._counting is not None:
            await asyncio.shield(self._counting)
        while self._counted[queue] < most <= self._counted[queue] + self._added[queue]:
            rest = self._soonest - time.monotonic()
            if rest > _EVERY:
                break  # counting is dear here, and the last count has to do
            await (asyncio.sleep(rest) if rest > 0 else asyncio.shield(self._count_again()))
        return self._counted[queue] + self._added[queue] >= most

    def _is_due(self) -> bool:
        return time.monotonic() >= self._next and (self._counting is None or self._counting.done())

    def _count_again(self) -> asyncio.Task[None]:
        if self._counting is None or self._counting.done():
            self._counting = asyncio.create_task(self._count())
            self._counting.add_done_callback(_heard)
        return self._counting

    def add(self, queue: str) -> None:
        """One more was stored."""
        self._added[queue] += 1

    async def _count(self) -> None:
        began, before = time.monotonic(), Counter(self._added)
        try:
            counts = await self._counts()
            self._counted = Counter({q: sum(states[s] for s in _PENDING) for q, states in counts.items()})
            self._added -= before
        finally:
            now = time.monotonic()
            self._soonest = now + (now - began) * _SHARE
            self._next = max(self._soonest, now + _EVERY)

    async def _counts(self) -> Mapping[str, Mapping[str, int]]:
        """By queue and state: from indexes alone, unless so many wait that these tell too few of them."""
        queue = await self._queue()
        seen = await queue.pulse(cap=min(self._most + 1, _MOST_COUNTED))
        return await queue.counts() if seen.more.intersection(_PENDING) else seen.counts


def _heard(task: asyncio.Task[None]) -> None:
    """A store that cannot be counted cannot be written either, and that is told to whoever tries."""
    if not task.cancelled():
        task.exception()
