"""A line: slots that share a buffer of claims, for some queues.

The claimer fills the buffer, the slots empty it. A line asks for as many claims as it has free slots, and for as many more
as it expects to start within a tenth of a second: short jobs come in large batches, long ones are not held back from
other workers.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from tenure.job import Claim
from tenure.worker.settings import LineTerms

__all__ = ["Line"]

_AHEAD = 0.1
_MOST = 2_000


class Line:
    """The claims that wait here for a slot, and the slots that wait for a claim."""

    def __init__(self, terms: LineTerms, prefetch: int, loop: asyncio.AbstractEventLoop) -> None:
        self.terms, self._prefetch, self._loop = terms, prefetch, loop
        self.buffer: deque[Claim] = deque()
        self.running = 0
        self.ended = 0
        self.closed = False
        self.low = 0
        """How few claims may wait here before the claimer is told."""
        self.sent = self._received = 0
        """Claims that were sent here, counted by the claimer, and those that have arrived: the loop may be busy meanwhile."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._counted, self._since, self._rate = 0, time.monotonic(), 0.0

    def wanted(self) -> int:
        """How many claims to ask for now; 0 while enough are here."""
        if self.closed:
            return 0
        # In this order a claim that moves on meanwhile (sent, waiting, running) is counted twice, never not at all.
        sent = self.sent - self._received
        here = sent + len(self.buffer)
        free = self.terms.concurrency - self.running
        target = min(free + self._ahead(), _MOST)
        self.low = target // 2
        return target - here if here <= self.low else 0

    def _ahead(self) -> int:
        """How many jobs beyond the free slots, by how fast they have lately been ending."""
        now = time.monotonic()
        span = now - self._since
        if span >= 0.02:
            rate = (self.ended - self._counted) / span
            self._rate = rate if rate > self._rate else (self._rate + rate) / 2
            self._counted, self._since = self.ended, now
        ahead = int(self._rate * _AHEAD)
        return min(ahead, self._prefetch) if ahead > self.terms.concurrency else 0

    def deliver(self, claims: list[Claim], lost: int = 0) -> None:
        """Claims for the slots, and how many of those sent here were lost on the way; called on the event loop."""
        self.buffer.extend(claims)
        self._received += len(claims) + lost
        for _ in range(min(len(claims), len(self._waiting))):
            self._wake()

    async def something(self) -> bool:
        """Wait until a claim may be here; False once the line is closed."""
        if not self.buffer and not self.closed:
            waiting = self._loop.create_future()
            self._waiting.append(waiting)
            try:
                await waiting
            except asyncio.CancelledError:
                if waiting.done() and not waiting.cancelled():
                    self._wake()
                raise
        return not self.closed

    def close(self) -> list[Claim]:
        """Start nothing more; the claims that waited here."""
        self.closed = True
        left = list(self.buffer)
        self.buffer.clear()
        while self._waiting:
            self._wake()
        return left

    def _wake(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return
