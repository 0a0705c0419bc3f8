"""The settler: ends claims in batches, with a small bounded delay, and never gives up on one.

Outcomes gather while a batch is under way, at most for the settle delay or until a batch is full; a kind with
settle="now" waits for nobody. A settle is tried until it is answered, also past the lease: the fence decides whether it
still counts. What failed is logged once it is settled.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta

from tenure.client.queue import Queue
from tenure.errors import StoreUnavailable
from tenure.job import CLAIM_COLUMNS, Claim
from tenure.outcome import Bury, Fail, Outcome
from tenure.payload import clean_error
from tenure.service import Service

__all__ = ["Settler"]

log = logging.getLogger("tenure")
_FULL = 500
_MOST = 2_000
_IDLE = 60.0
_LONGEST = 500
"""How much of an error a log line tells; the job's history has all of it."""
_ATTEMPTS = CLAIM_COLUMNS.index("max_attempts")

Pair = tuple[Claim, Outcome]


class Settler(Service):
    """Settles what the slots hand over."""

    longest_rest = 1.0

    def __init__(
        self,
        queue: Queue,
        *,
        delay: timedelta,
        settled: Callable[[Sequence[Pair], Sequence[bool]], None],
        outage: Callable[[str, Exception], None],
    ) -> None:
        super().__init__("settle")
        self._queue, self._delay = queue, delay.total_seconds()
        self._settled, self._outage = settled, outage
        self._line: deque[Pair] = deque()
        self._now = False
        self._left: list[Pair] = []

    def add(self, claim: Claim, outcome: Outcome, *, now: bool = False) -> None:
        """Hand over an outcome; may be called from any thread."""
        self._line.append((claim, outcome))
        if now:
            self._now = True
        if len(self._line) in (1, _FULL) or now:
            self.ring()

    def has(self, claim: Claim) -> bool:
        """Whether an outcome of this claim waits here, or is being settled."""
        return any(given is claim for given, _ in [*self._line, *self._left])

    def tick(self) -> float:
        """Settle one batch."""
        if not self._left:
            if not self._line:
                return _IDLE
            if not self._now and len(self._line) < _FULL and not self.stopping:
                self.rest(self._delay)
            self._now = False
            self._left = [self._line.popleft() for _ in range(min(len(self._line), _MOST))]
        self._settle(self._left)
        self._left = []
        return 0 if self._line else _IDLE

    def finish(self) -> None:
        """Settle what is left; whoever waits for it decides for how long."""
        while self._line or self._left:
            self._once()

    def failed(self, error: Exception) -> None:
        """The database is away: the same batch is tried again."""
        if isinstance(error, StoreUnavailable):
            self._outage("settle", error)
        else:
            super().failed(error)

    def _settle(self, batch: list[Pair]) -> None:
        try:
            stands = self._queue.settle_many(batch)
            self._settled(batch, stands)
        except StoreUnavailable:
            raise
        except Exception:
            if len(batch) > 1:
                for pair in batch:
                    self._settle([pair])
            else:
                # It stays with its lease: whoever takes it back finds it as it was.
                log.exception("job %s could not be settled", batch[0][0].id)
                self._settled(batch, [False])
        else:
            for (claim, outcome), stood in zip(batch, stands, strict=True):
                if stood and isinstance(outcome, (Fail, Bury)):
                    _tell(claim, outcome)


def _tell(claim: Claim, outcome: Fail | Bury) -> None:
    """A line in the log of a failure, and a louder one of a death."""
    error = " ".join(clean_error(outcome.error or outcome.kind, _LONGEST).split())
    about = {"job_id": claim.id, "job_kind": claim.kind, "attempt": claim.attempt}
    if isinstance(outcome, Bury):
        log.error("job %s (%s) is dead at attempt %d: %s: %s", claim.id, claim.kind, claim.attempt, clean_error(outcome.reason, _LONGEST), error, extra=about)  # fmt: skip
    elif claim.attempt >= claim.row[_ATTEMPTS]:
        log.error("job %s (%s) is dead, it failed at attempt %d, its last: %s", claim.id, claim.kind, claim.attempt, error, extra=about)  # fmt: skip
    else:
        log.warning("job %s (%s) failed at attempt %d: %s", claim.id, claim.kind, claim.attempt, error, extra=about)  # fmt: skip
