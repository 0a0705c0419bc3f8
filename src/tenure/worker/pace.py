"""Pace: how fast jobs have lately been ending, and so how many to hold ready."""

from __future__ import annotations

import time

__all__ = ["Pace"]

_AHEAD = 0.1
_LEAST = 0.02


class Pace:
    """Looks at a count of ended jobs now and then."""

    def __init__(self) -> None:
        self.since = time.monotonic()
        self._counted, self._rate = 0, 0.0

    def ahead(self, ended: int) -> int:
        """How many jobs are likely to end in the next tenth of a second."""
        now = time.monotonic()
        span = now - self.since
        if span >= _LEAST:
            rate = (ended - self._counted) / span
            self._rate = rate if rate > self._rate else (self._rate + rate) / 2
            self._counted, self.since = ended, now
        return int(self._rate * _AHEAD)
