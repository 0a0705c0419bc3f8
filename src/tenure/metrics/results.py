"""What an outcome is called where it is counted and traced."""

from __future__ import annotations

from typing import Final

from tenure.job import CLAIM_COLUMNS, Claim
from tenure.outcome import Bury, Fail, Outcome, name_of

__all__ = ["result_of"]

_MOST_ATTEMPTS: Final = CLAIM_COLUMNS.index("max_attempts")


def result_of(claim: Claim, outcome: Outcome) -> str:
    """What an outcome means for the job, in one word: the last attempt's failure is its death."""
    if isinstance(outcome, Fail):
        return "dead" if claim.attempt >= claim.row[_MOST_ATTEMPTS] else "retry"
    return "dead" if isinstance(outcome, Bury) else name_of(outcome)
