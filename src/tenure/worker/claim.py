"""The claimer: keeps the lines supplied, and rests when there is nothing to claim.

It claims what the slots can take, no more. When a claim comes back short it waits to be woken: by the store (somebody
enqueued), by the clock (something falls due), and at the latest by the poll that stands behind both.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from tenure.client.queue import Queue
from tenure.errors import StoreUnavailable
from tenure.job import Claim
from tenure.service import Service
from tenure.store.base import Watch
from tenure.worker.line import Line

__all__ = ["Claimer"]

log = logging.getLogger("tenure")
_FLOOR = 0.01
_AFTER_YOU = 0.0002
"""Who was woken by one job lets the event loop have the interpreter, and start it, before looking for more."""
_FULL, _UNSTEADY, _BEHIND = 0.25, 0.1, 0.05
"""How long to rest while the slots are full, while leases are not kept in time, while too much waits to be settled."""


class Claimer(Service):
    """Claims for every line of a worker."""

    def __init__(
        self,
        queue: Queue,
        lines: Sequence[Line],
        *,
        kinds: Sequence[str],
        worker: str,
        lease: timedelta,
        poll: timedelta,
        deliver: Callable[[Line, list[Claim]], None],
        outage: Callable[[str, Exception], None],
        steady: Callable[[], bool],
        held: set[Claim],
        most: int,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__("claim")
        self._steady, self._held, self._most = steady, held, most
        self._queue, self._lines, self._kinds, self._worker = queue, lines, list(kinds), worker
        self._lease, self._poll = lease, poll.total_seconds()
        self._deliver, self._outage, self._loop = deliver, outage, loop
        self._watch: Watch = queue.watch()
        self._woken, self._floor = False, _FLOOR
        self._full = False
        """Whether a line may have more to do than slots, while another one has nothing and waits for the store."""

    def tick(self) -> float:
        """Claim for every line that wants some; how long to rest."""
        if not self._steady():
            return _UNSTEADY
        if len(self._held) >= self._most:
            return _BEHIND
        self._full = len(self._lines) > 1
        wanted = [(line, count) for line in self._lines if (count := line.wanted())]
        self._full = self._full and len(wanted) < len(self._lines)
        short, hasty, self._woken = True, self._woken, False
        for line, count in wanted:
            if self.stopping:
                return 0
            claims = self._queue.claim(
                count,
                queues=line.terms.queues,
                except_queues=line.terms.except_queues,
                kinds=self._kinds,
                lease=self._lease,
                worker=self._worker,
                started=False,
                hasty=hasty,
            )
            if claims:
                self._held.update(
                    claims
                )  # kept from now on, however long the event loop takes to hear of them
                line.sent += len(claims)
                self._floor = _FLOOR
                self._loop.call_soon_threadsafe(self._deliver, line, claims)
                if hasty:
                    time.sleep(_AFTER_YOU)
            short = short and len(claims) < count
        if wanted and short:
            self._sleep()
            return 0
        return 0 if wanted else _FULL

    def _sleep(self) -> None:
        """Nothing more is ready: wait until something may be."""
        due = self._queue.next_due()
        timeout = self._poll * random.uniform(0.8, 1.0)
        if not self.stopping:
            self._woken = self._watch.wait(timeout if due is None else min(timeout, max(due, self._floor)))
            if due is not None and due <= self._floor:
                self._woken = False  # a hasty claim would not see to it
                self._floor = min(self._floor * 2, 1.0)  # somebody's transaction may hold what is due

    def ring(self) -> None:
        """Slots are free again: worth a claim, unless nothing was ready for them a moment ago."""
        if self.stopping or self._full:
            self._full = False
            self._watch.interrupt()
        super().ring()

    def look(self) -> None:
        """A job of ours is to run again, or its group's next may: the store tells nobody of these."""
        self._watch.interrupt()
        super().ring()

    def failed(self, error: Exception) -> None:
        """The database is away: the worker stays up and goes on trying."""
        if isinstance(error, StoreUnavailable):
            self._outage("claim", error)
        else:
            super().failed(error)

    def finish(self) -> None:
        """Let go of the watch."""
        self._watch.close()
