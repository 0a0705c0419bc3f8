"""How long PostgreSQL may take to answer, by what it was asked.

A server that stands still, or a network that swallows packets, is not told by the system from one that is slow; these limits
are generous to the slow. What keeps a worker's claims alive is given up early enough for another try within the lease.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from tenure.config import PostgresPlace
from tenure.store.plan import Statement
from tenure.store.within import time_left

__all__ = ["ORDINARY", "WORK", "Limits", "limits_at"]

ORDINARY: Final = 60.0
WORK: Final = 30.0
"""A claim that comes later than this is hardly worth its lease."""
_WORKING: Final = frozenset(
    {"claim", "gaps", "lanes", "look", "tend", "next_due", "settle_done", "settled", "hold"}
)
_KEEPING: Final = frozenset({"beat", "leave", "renew", "held_claims", "progress"})
_LEASING: Final = frozenset({"claim", "renew"})
_SHORTEST, _LONGEST, _TRIES = 2.0, 10.0, 3


class Limits:
    """The limits of one place, in seconds."""

    def __init__(self, ordinary: float = ORDINARY, work: float = WORK) -> None:
        self.ordinary, self._work, self._keeping = ordinary, min(work, ordinary), min(_LONGEST, ordinary)

    def of(self, statement: Statement) -> float:
        """How long this one may take; what keeps a claim, by the lease that was last asked for here.

        Never longer than is left to whoever asks.
        """
        limit, left = self._of(statement), time_left()
        return limit if left is None else min(limit, left)

    def _of(self, statement: Statement) -> float:
        name = statement.name
        if name in _LEASING:
            share = statement.params["lease"] / 1e6 / _TRIES
            self._keeping = min(max(share, _SHORTEST), _LONGEST, self.ordinary)
        if name in _KEEPING:
            return self._keeping
        return self._work if name in _WORKING else self.ordinary


@lru_cache(maxsize=16)
def limits_at(place: PostgresPlace) -> Limits:  # noqa: ARG001 - the cache is by it
    """The limits that all stores of a process at this place share: one claims, another keeps what is claimed."""
    return Limits()
