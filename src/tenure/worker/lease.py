"""The keeper: an OS thread with a connection of its own that keeps this worker's claims alive.

Neither a handler that blocks the event loop nor settles or chores under way delay it: nobody else uses its queue. Six times
a lease it says that the worker lives, pushes every held lease forward, marks the jobs that have started, and brings back what
it learns: claims that were lost and jobs that were asked to cancel. Between these it passes on what handlers tell of their
progress, and what the worker has counted.
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Protocol
from weakref import ref

from tenure.client.queue import Queue
from tenure.clock import Leap
from tenure.context import Context
from tenure.errors import StoreError, StoreUnavailable
from tenure.job import Claim, JobId, Renewed
from tenure.release import VERSION
from tenure.service import Service
from tenure.worker.figures import Figures
from tenure.worker.recycle import memory

__all__ = ["Keeper"]

log = logging.getLogger("tenure")
_TIMES, _LONGEST = 6, 5.0
"""How often in a lease, and how seldom at most, in seconds: cancels and beats must not wait for a long one."""
_PROGRESS_EVERY = 1.0
_CALM = 4.0
"""How long nobody claims after a gap that may have cost others their leases, in seconds: they need as long to be back."""


class Flight(Protocol):
    """A job in flight."""

    claim: Claim
    context: Context
    begun: bool


class Keeper(Service):
    """Renews what this worker holds."""

    longest_rest = 1.0

    def __init__(
        self,
        queue: Queue,
        *,
        worker: str,
        queues: Sequence[str] | None,
        kinds: Sequence[str],
        lease: timedelta,
        held: Collection[Claim],
        runs: Mapping[JobId, Flight],
        renewed: Callable[[Renewed, Sequence[Claim]], None],
        outage: Callable[[str, Exception], None],
        about: Callable[[], dict[str, object]],
        figures: Figures | None = None,
    ) -> None:
        super().__init__("lease")
        self._figures = Figures() if figures is None else figures
        self._queue, self._worker, self._queues, self._kinds = queue, worker, queues, kinds
        self._lease, self._every = lease, min(lease.total_seconds() / _TIMES, _LONGEST)
        self.safe_until = time.monotonic() + lease.total_seconds()
        """When the lease of what is held may be over, unless it is renewed before."""
        self._held, self._runs = held, runs
        self._versions = {"version": VERSION, "python": platform.python_version()}
        self._renewed, self._outage, self._about = renewed, outage, about
        self._next = 0.0
        self._kept, self._calm_until = time.monotonic(), 0.0
        self._leap = Leap()
        self._told: dict[JobId, Context] = {}

    def progress(self, context: Context) -> None:
        """A handler told how far it is; passed on within a second."""
        self._told[context.id] = context

    def tick(self) -> float:
        """Renew if it is time, and pass on what was told."""
        now = time.monotonic()
        if now >= self._next or self._leap.happened:
            self.beat()
            self._keep()
            self.safe_until = now + self._lease.total_seconds()
            self._next = now + self._every
            self._note_gap()
            self._tell_figures()
        self._pass_on(until=self._next)
        return max(min(self._next - time.monotonic(), _PROGRESS_EVERY), 0.001)

    @property
    def steady(self) -> bool:
        """Whether leases are kept in time. While they are not, a claim would take back what others only could not renew."""
        if self._leap.happened:
            self.ring()
            return False
        now = time.monotonic()
        return now - self._kept < 2 * self._every and now >= self._calm_until

    def beat(self) -> None:
        """Say that this worker lives, and what it takes."""
        about = json.dumps({"pid": os.getpid(), "rss": memory(), **self._versions, **self._about()})
        self._queue.beat(self._worker, queues=self._queues, kinds=self._kinds, about=about)

    def finish(self) -> None:
        """The last word on progress, the last figures, and goodbye."""
        self._pass_on()
        self._tell_figures(now=True)
        self._queue.leave(self._worker)

    def failed(self, error: Exception) -> None:
        """The database is away."""
        if isinstance(error, StoreUnavailable):
            self._outage("renew", error)
        else:
            super().failed(error)

    def _keep(self) -> None:
        left = self._newest()
        for at in range(0, len(left), 1_000):
            part = [c for known in left[at : at + 1_000] if (c := known()) is not None and c in self._held]
            if not part:
                continue
            runs = [(c, self._runs.get(c.id)) for c in part]
            started = [c.id for c, run in runs if run is not None and run.begun and run.claim is c]
            answer = self._queue.renew(part, lease=self._lease, started=started)
            if answer.lost or answer.cancelling:
                self._renewed(answer, part)

    def _newest(self) -> list[ref[Claim]]:
        """What is held, by references that keep nothing in memory: most of it may be settled before it is its turn.

        A job that was lost may be held here again before it is settled: only its newest claim can be kept.
        """
        newest: dict[JobId, Claim] = {}
        for claim in list(self._held):
            if claim.id not in newest or newest[claim.id].epoch < claim.epoch:
                newest[claim.id] = claim
        return [ref(claim) for claim in newest.values()]

    def _note_gap(self) -> None:
        """The database was away, this process stood still or its clock leapt: so it may have been for others, who are on their way."""
        now = time.monotonic()
        if self._leap.note() or now - self._kept > (_TIMES - 2) * self._every:
            self._calm_until = now + min(_CALM, _TIMES * self._every)
        self._kept = now

    def _tell_figures(self, *, now: bool = False) -> None:
        try:
            self._figures.tell(self._queue, self._worker, now=now)
        except StoreError as error:
            log.warning("a few seconds of figures are lost: %s", error)

    def _pass_on(self, *, until: float = math.inf) -> None:
        """The last word of each that told something: once each, however often it tells more meanwhile, and none when leases are due."""
        for job_id in list(self._told):
            if time.monotonic() >= until:
                return
            context = self._told.pop(job_id)
            told = context._progress  # noqa: SLF001 - one worker, two modules
            # What a handler ended in its own transaction is held by that: there is nothing to tell, and it would be waited for.
            if told is not None and context.claim.settled_as is None:
                self._queue.progress(context.claim, told[0], told[1])
