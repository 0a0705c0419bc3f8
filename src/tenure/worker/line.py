"""A line: slots that share a buffer of claims, for some queues.

The claimer fills the buffer, the slots empty it. A line asks for as many claims as it has free slots, and for as many more
as it expects to start within a tenth of a second: short jobs come in large batches, long ones are not held back from
other workers. Claims that are to run in a child process wait aside until one is free, so that the slots go on with the rest;
suspects among them do so for a second, for nobody knew of them before they were claimed, and other workers may have room.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from operator import itemgetter

from tenure.job import CLAIM_COLUMNS, Claim
from tenure.worker.berths import Berths
from tenure.worker.pace import Pace
from tenure.worker.settings import LineTerms

__all__ = ["Line"]

_MOST = 4_000
_PATIENCE = 1.0
"""How long a suspect waits here for a berth, in seconds, before other workers may have it."""
_ORDER = itemgetter(*map(CLAIM_COLUMNS.index, ("rank", "run_at", "seq")))


class Line:
    """The claims that wait here for a slot, and the slots that wait for a claim."""

    def __init__(
        self,
        terms: LineTerms,
        prefetch: int,
        loop: asyncio.AbstractEventLoop,
        berths: Berths | None = None,
    ) -> None:
        self.terms, self._prefetch, self._loop = terms, prefetch, loop
        self.berths = Berths() if berths is None else berths
        self.buffer: deque[Claim] = deque()
        self.aside: deque[Claim] = deque()
        """Claims that wait for a berth."""
        self.running = 0
        self.ended = 0
        self.closed = False
        self.low = 0
        """How few claims may wait here before the claimer is told."""
        self.sent = self._received = 0
        """Claims that were sent here, counted by the claimer, and those that have arrived: the loop may be busy meanwhile."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._pace = Pace()

    def wanted(self) -> int:
        """How many claims to ask for now; 0 while enough are here."""
        if self.closed:
            return 0
        # In this order a claim that moves on meanwhile (sent, waiting, running) is counted twice, never not at all.
        sent = self.sent - self._received
        boarding = min(len(self.aside), self.berths.free)
        here = sent + boarding + len(self.buffer)
        free = self.terms.concurrency - self.running
        target = min(free + self._ahead(), _MOST)
        self.low = target * 3 // 4
        return target - here if here <= self.low else 0

    def _ahead(self) -> int:
        """How many jobs beyond the free slots, by how fast they have lately been ending."""
        ahead = self._pace.ahead(self.ended)
        return min(ahead, self._prefetch) if ahead > self.terms.concurrency else 0

    def deliver(self, claims: list[Claim], lost: int = 0, aside: Sequence[Claim] = ()) -> None:
        """Claims for the slots, how many of those sent here were lost on the way, and which need a berth; on the event loop."""
        self.buffer.extend(claims)
        self.aside.extend(aside)
        self._received += len(claims) + len(aside) + lost
        for _ in range(min(len(claims) + len(aside), len(self._waiting))):
            self.wake()
        # While one of a group is put off, its group may go on without it: so it waits here for its turn.
        if suspects := [claim for claim in aside if claim.apart and claim.group is None]:
            self._loop.call_later(_PATIENCE, self._put_off, suspects)

    def _put_off(self, suspects: Sequence[Claim]) -> None:
        """Those of them that still wait here are held no longer."""
        here = set(self.aside)
        late = [claim for claim in suspects if claim in here]
        for claim in late:
            self.aside.remove(claim)
        if late:
            self.berths.put_off(late)

    def board(self) -> bool:
        """Take a berth, if one is free and the next claim here waits for it."""
        if not self.aside or self.berths.free < 1:
            return False
        if self.buffer and _ORDER(self.buffer[0].row) < _ORDER(self.aside[0].row):
            return False
        self.berths.take()
        return True

    def remove(self, claim: Claim) -> bool:
        """Take out a claim that waits here; whether it did."""
        if claim in self.buffer:
            self.buffer.remove(claim)
            return True
        if claim in self.aside:
            self.aside.remove(claim)
            self.berths.tell_room()
            return True
        return False

    async def something(self) -> bool:
        """Wait until a claim may be here; False once the line is closed."""
        if not self.buffer and not (self.aside and self.berths.free > 0) and not self.closed:
            waiting = self._loop.create_future()
            self._waiting.append(waiting)
            try:
                await waiting
            except asyncio.CancelledError:
                if waiting.done() and not waiting.cancelled():
                    self.wake()
                raise
        return not self.closed

    def close(self) -> list[Claim]:
        """Start nothing more; the claims that waited here."""
        self.closed = True
        left = [*self.buffer, *self.aside]
        self.buffer.clear()
        self.aside.clear()
        while self.wake():
            pass
        return left

    def wake(self) -> bool:
        """Wake a slot that waits; whether there was one."""
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return True
        return False
