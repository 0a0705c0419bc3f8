"""Outcomes that the store refused: when they are tried again, in which parts, and what is told of them.

A part that is refused is halved, so that the one which is to blame is soon alone and its neighbours are settled. That one is
tried on and on, ever more rarely; as a last resort it is settled without its result or its error's words, which is what a
store may have against it.
"""

from __future__ import annotations

import logging
import time
from typing import assert_never

from msgspec import Struct, field

from tenure.errors import StoreUnavailable
from tenure.job import CLAIM_COLUMNS, Claim
from tenure.logs import job_fields
from tenure.outcome import Bury, Cancelled, Crashed, Done, Fail, Outcome, Release, Snooze, name_of
from tenure.payload import clean_error

__all__ = ["LAST_RESORT", "Pair", "PutOff", "tell_bare", "tell_dropped", "tell_failed", "without_words"]

log = logging.getLogger("tenure")
Pair = tuple[Claim, Outcome]

LAST_RESORT = 5.0
"""How long an outcome is tried as it is before it is settled without its words, in seconds."""
_FIRST, _LONGEST = 0.1, 2.0
_SHARE = 3
"""How many times as long as a try took it is put off at least: one that waits for a lock is not to hold up the others."""
_LONGEST_TEXT = 500
"""How much of an error a log line tells; the job's history has all of it."""
_ATTEMPTS = CLAIM_COLUMNS.index("max_attempts")
_LEFT_OUT = "what this attempt failed with could not be stored; the worker's log has it"


class PutOff(Struct, eq=False):
    """Some outcomes that were refused together."""

    pairs: list[Pair]
    tries: int = 0
    due: float = 0.0
    since: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 - asked when made, not when read

    def again(self, error: Exception, took: float) -> list[PutOff]:
        """They were refused once more: when the halves of them are to be tried."""
        tries = self.tries + 1
        if tries == 1 and not isinstance(error, StoreUnavailable):
            log.error("settle: %s; %d outcomes are tried again", error, len(self.pairs), exc_info=error)
        rest = max(min(_FIRST * 2.0 ** (tries - 1), _LONGEST), _SHARE * took)
        half = (len(self.pairs) + 1) // 2
        due = time.monotonic() + rest
        return [
            PutOff(part, tries, due, self.since) for part in (self.pairs[:half], self.pairs[half:]) if part
        ]


def without_words(outcome: Outcome) -> Outcome:
    """The same end, without anything that a handler said."""
    match outcome:
        case Done():
            return Done()
        case Fail(retry_in=retry_in):
            return Fail(_LEFT_OUT, retry_in)
        case Bury():
            return Bury(error=_LEFT_OUT)
        case Cancelled():
            return Cancelled()
        case Crashed():
            return Crashed()
        case Snooze() | Release():
            return outcome
        case _:
            assert_never(outcome)


def tell_failed(claim: Claim, outcome: Fail | Bury) -> None:
    """A line in the log of a failure, and a louder one of a death."""
    error = _line(outcome.error or outcome.kind)
    about = job_fields(claim)
    if isinstance(outcome, Bury):
        log.error("job %s (%s) is dead at attempt %d: %s: %s", claim.id, claim.kind, claim.attempt, clean_error(outcome.reason, _LONGEST_TEXT), error, extra=about)  # fmt: skip
    elif claim.attempt >= claim.row[_ATTEMPTS]:
        log.error("job %s (%s) is dead, it failed at attempt %d, its last: %s", claim.id, claim.kind, claim.attempt, error, extra=about)  # fmt: skip
    else:
        log.warning("job %s (%s) failed at attempt %d: %s", claim.id, claim.kind, claim.attempt, error, extra=about)  # fmt: skip


def tell_bare(claim: Claim, outcome: Outcome, error: Exception) -> None:
    """An outcome was settled without its words: the log has them, but no result, which is nobody's business here."""
    words = "its result is lost" if isinstance(outcome, Done) else _line(getattr(outcome, "error", "") or getattr(outcome, "reason", "") or "")  # fmt: skip
    log.error("job %s (%s) was settled as %s without what it said, which the store refused (%s): %s", claim.id, claim.kind, name_of(outcome), _line(str(error)), words, extra=job_fields(claim))  # fmt: skip


def tell_dropped(claim: Claim, outcome: Outcome) -> None:
    """The worker had to go before this was settled."""
    log.error("job %s (%s) could not be settled as %s before the worker had to stop; it is taken back when its lease is over", claim.id, claim.kind, name_of(outcome), extra=job_fields(claim))  # fmt: skip


def _line(text: str) -> str:
    return " ".join(clean_error(text, _LONGEST_TEXT).split())
