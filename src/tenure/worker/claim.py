"""The claimer: keeps the lines supplied, and rests when there is nothing to claim.

It claims what the slots can take, no more, and of isolated kinds what child processes can take. When a claim comes back short it waits to be woken: by the store (somebody
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
from tenure.worker.berths import Berths
from tenure.worker.line import Line
from tenure.worker.piling import Piling

__all__ = ["Claimer"]

log = logging.getLogger("tenure")
_FLOOR = 0.01
_AFTER_YOU = 0.0002
"""Who was woken by one job lets the event loop have the interpreter, and start it, before looking for more."""
_AFTER_OTHERS = 0.25
"""Who has put off suspects lets those who may have room for them come first when they are due."""
_FULL, _UNSTEADY, _BEHIND = 0.25, 0.1, 0.005
"""How long to rest while the slots are full, while leases are not kept in time, while too much waits to be settled."""
_PIECE = 500
"""A claim is not made smaller than this because much waits to be settled: many small ones cost more."""


class Claimer(Service):
    """Claims for every line of a worker."""

    def __init__(
        self,
        queue: Queue,
        lines: Sequence[Line],
        berths: Berths,
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
        self._came = 0
        """How many jobs the claims of this tick brought."""
        self._piling = Piling()
        self._berths, self._left_out = berths, False
        self._plain = [kind for kind in kinds if kind not in berths.isolated]
        berths.on_room = self._room_again
        self._full = False
        """Whether a line may have more to do than slots, while another one has nothing and waits for the store."""

    def tick(self) -> float:
        """Claim for every line that wants some; how long to rest."""
        if not self._steady():
            return _UNSTEADY
        if len(self._held) >= self._most:
            return _BEHIND
        if self._woken and (rest := self._piling.rest()):
            self.rest(rest)
        self._full = len(self._lines) > 1
        wanted = [(line, count) for line in self._lines if (count := line.wanted())]
        self._full = self._full and len(wanted) < len(self._lines)
        self._left_out = True  # before any room is looked at: the event loop may free a berth meanwhile
        short, left_out, hasty, self._woken = True, False, self._woken, False
        self._came = 0
        for line, count in wanted:
            if self.stopping:
                return 0
            room = max(self._most - len(self._held), _PIECE)
            nothing, passed_over = self._supply(line, min(count, room), hasty=hasty)
            short, left_out = short and nothing, left_out or passed_over
        self._left_out = left_out
        if wanted:
            self._piling.looked(woken=hasty, found=self._came > 0)
        if wanted and short:
            self._sleep()
            return 0
        return 0 if wanted else _FULL

    def _supply(self, line: Line, count: int, *, hasty: bool) -> tuple[bool, bool]:
        """Claim up to so many jobs for a line; whether nothing more is ready that could start, and whether some were passed over.

        The best of all kinds first, as many as could be isolated, then the others.
        """
        room = self._berths.room() if self._berths.isolated else count
        best = max(min(count, room), 0)
        came, apart = self._claim(line, best, self._kinds, hasty=hasty)
        if came < best or best == count:
            return came < best, False
        more, _ = self._claim(line, count - best, self._plain, hasty=hasty)
        return more < count - best and apart >= room, True

    def _claim(self, line: Line, count: int, kinds: list[str], *, hasty: bool) -> tuple[int, int]:
        """Claim so many of these kinds; how many came, and how many of them need a berth."""
        if not (count and kinds):
            return 0, 0
        claims = self._queue.claim(
            count,
            queues=line.terms.queues,
            except_queues=line.terms.except_queues,
            kinds=kinds,
            lease=self._lease,
            worker=self._worker,
            started=False,
            hasty=hasty,
        )
        apart = 0
        self._came += len(claims)
        if claims:
            self._held.update(claims)  # kept from now on, however long the event loop takes to hear of them
            apart = len(self._berths.needed_by(claims))
            self._berths.sent += apart
            line.sent += len(claims)
            self._floor = _FLOOR
            self._loop.call_soon_threadsafe(self._deliver, line, claims)
            if hasty:
                time.sleep(_AFTER_YOU)
        return len(claims), apart

    def _room_again(self) -> None:
        """A berth is free: isolated jobs may have been passed over for want of one."""
        if self._left_out:
            self._left_out = False
            self.look()

    def _sleep(self) -> None:
        """Nothing more is ready: wait until something may be."""
        due = self._queue.next_due()
        if due is not None and self._berths.crowded:
            due += _AFTER_OTHERS
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
