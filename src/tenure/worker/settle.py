"""The settler: ends claims in batches, with a small bounded delay, and never gives up on one.

Outcomes gather while a batch is under way, at most for the settle delay, until a batch is full or until no claim that is
held has none; a kind with settle="now" waits for nobody, nor does a job in a group, whose successor waits for it. A settle is
tried until it is answered, also past the lease: the fence decides whether it still counts. While the database is away,
everything waits for it. What it refuses is put off and tried again in smaller and smaller parts, beside what comes next, and
is dropped only when its claim is lost or the worker must go.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta

from tenure.client.queue import Queue
from tenure.errors import StoreError, StoreUnavailable
from tenure.job import Claim
from tenure.outcome import Bury, Fail, Outcome
from tenure.service import Service
from tenure.worker.putoff import (
    LAST_RESORT,
    Pair,
    PutOff,
    tell_bare,
    tell_dropped,
    tell_failed,
    without_words,
)

__all__ = ["Settler"]

log = logging.getLogger("tenure")
_FULL = 500
_MOST = 2_000
_IDLE = 60.0
_MISSES, _REST = 10, 0.2
"""How many tries of what was put off may fail before the settler rests, and for how long: a store that refuses everything
is not to be asked without end."""


class Settler(Service):
    """Settles what the slots hand over."""

    longest_rest = 1.0

    def __init__(
        self,
        queue: Queue,
        *,
        delay: timedelta,
        held: Collection[Claim],
        steady: Callable[[], bool],
        settled: Callable[[Sequence[Pair], Sequence[bool]], None],
        outage: Callable[[str, Exception], None],
    ) -> None:
        super().__init__("settle")
        self._queue, self._delay = queue, delay.total_seconds()
        self._held, self._steady = held, steady
        self._settled, self._outage = settled, outage
        self._line: deque[Pair] = deque()
        self._now = False
        self._batch: list[Pair] = []
        self._tried = 0
        """How often the batch under way met a database that was away."""
        self._later: list[PutOff] = []
        self._giving_up = False

    def add(self, claim: Claim, outcome: Outcome, *, now: bool = False) -> None:
        """Hand over an outcome; may be called from any thread."""
        self._line.append((claim, outcome))
        hurry = (now or claim.group is not None) and not self._now
        if hurry:
            self._now = True
        if hurry or len(self._line) in (1, _FULL):
            self.ring()

    def has(self, claim: Claim, *, refused: bool = True) -> bool:
        """Whether an outcome of this claim waits here, or is being settled; those that were refused only if asked for."""
        later = [pair for one in list(self._later) for pair in one.pairs] if refused else []
        return any(given is claim for given, _ in [*self._line, *self._batch, *later])

    def give_up(self) -> None:
        """The worker must go: nothing is tried any more, and what is left is dropped."""
        self._giving_up = True
        self.ring()

    def tick(self) -> float:
        """Settle one batch, and what was put off until now."""
        if not self._batch and self._line:
            # Where every claim that is held has its outcome here, none is left to wait for.
            if not self._now and len(self._line) < min(_FULL, len(self._held)) and not self.stopping:
                self.rest(self._delay)
            self._now = False
            self._batch = [self._line.popleft() for _ in range(min(len(self._line), _MOST))]
        if self._batch:
            self._settle_batch()
        rest = self._settle_later()
        return 0 if self._line else rest

    def finish(self) -> None:
        """Settle what is left; whoever waits for it decides for how long."""
        for one in self._later:
            one.due = 0.0
        while (self._line or self._batch or self._later) and not self._giving_up:
            self._once()
            if not (self._line or self._batch) and self._later:
                self.rest(max(self._until_due(), _REST))
        later = [pair for one in self._later for pair in one.pairs]
        for claim, outcome in [*self._batch, *self._line, *later]:
            tell_dropped(claim, outcome)

    def failed(self, error: Exception) -> None:
        """The database is away: the same batch is tried again."""
        if isinstance(error, StoreUnavailable):
            self._outage("settle", error)
        elif not self._giving_up:
            super().failed(error)

    def _settle_batch(self) -> None:
        batch = self._batch
        try:
            self._settle(batch)
        except Exception as error:
            if self._giving_up:
                raise
            if isinstance(error, StoreUnavailable):
                self._tried += 1
                # If leases are kept meanwhile, it may be one of these that the database cannot get at.
                if self._tried < 2 or not self._steady():
                    raise
            self._later += PutOff(batch).again(error, 0.0)
        self._batch, self._tried = [], 0

    def _settle_later(self) -> float:
        """Try again what was put off and is due; how long to rest."""
        misses = 0
        for one in sorted((p for p in self._later if p.due <= time.monotonic()), key=lambda p: p.due):
            if misses == _MISSES or self._giving_up:
                break
            self._drop_lost(one)
            began = time.monotonic()
            try:
                if one.pairs:
                    self._settle_one(one)
            except Exception as error:
                if self._giving_up:
                    raise
                if isinstance(error, StoreUnavailable):
                    if not self._steady():
                        raise
                    self._outage("settle", error)
                misses += 1
                self._later.remove(one)
                self._later += one.again(error, time.monotonic() - began)
            else:
                self._later.remove(one)
                for other in self._later:
                    other.due = min(other.due, began)  # what one was refused for may be over
        return max(self._until_due(), _REST if misses else 0.0)

    def _settle_one(self, one: PutOff) -> None:
        """As it is; an outcome that is refused again and again by itself goes without its words."""
        try:
            self._settle(one.pairs)
        except StoreUnavailable:
            raise
        except Exception as error:
            patience = LAST_RESORT if isinstance(error, StoreError) else 0.0
            if len(one.pairs) > 1 or time.monotonic() - one.since < patience:
                raise
            [(claim, outcome)] = one.pairs
            bare = without_words(outcome)
            if bare == outcome:
                raise
            try:
                self._settle([(claim, bare)])
            except StoreUnavailable:
                raise
            except Exception:
                raise error from None
            tell_bare(claim, outcome, error)

    def _settle(self, batch: list[Pair]) -> None:
        stands = self._queue.settle_many(batch, counted=True)
        try:
            self._settled(batch, stands)
        except Exception as error:
            self.failed(error)  # they are settled all the same
        for (claim, outcome), stood in zip(batch, stands, strict=True):
            if stood and isinstance(outcome, (Fail, Bury)):
                tell_failed(claim, outcome)

    def _drop_lost(self, one: PutOff) -> None:
        lost = [pair for pair in one.pairs if pair[0] not in self._held]
        if lost:
            one.pairs = [pair for pair in one.pairs if pair[0] in self._held]
            self._settled(lost, [False] * len(lost))

    def _until_due(self) -> float:
        if not self._later:
            return _IDLE
        return max(min(one.due for one in self._later) - time.monotonic(), 0.0)
