"""How far a run of `make torture` is: one line that is written anew on a terminal, and a line each minute elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from tests.proof.sums import Sums
from tests.proof.tally import in_all

__all__ = ["Progress"]

_RESTARTS = ("fast restarts", "immediate restarts", "postmaster kills", "failovers")
_ANEW = "\r\033[K"


class Progress:
    """Tells of `sums` while they grow; `whole` is how many seconds the run has."""

    def __init__(self, sums: Sums, whole: float, began: float, to: TextIO | None = None) -> None:
        self._sums, self._whole, self._began, self._to = sums, whole, began, to or sys.stderr
        self._terminal = self._to.isatty()
        self._next, self._open = 0.0, False

    def line(self, elapsed: float) -> str:
        """What there is so far."""
        counts = in_all(self._sums.counts)
        restarts = sum(counts[name] for name in _RESTARTS)
        round_ = f"round {self._sums.rounds} (seed {self._sums.seed + max(self._sums.rounds - 1, 0)})"
        return (
            f"{_clock(elapsed)} of {_clock(self._whole)}, {round_}: {counts['kills']:,} kills, {counts['cuts']:,} cuts, "
            f"{restarts:,} restarts, {counts['jobs']:,} jobs, {counts['losses']:,} losses"
        )

    def tell(self) -> None:
        """Write it, if it is time to."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + (1 if self._terminal else 60)
            made = self.line(now - self._began)
            self._to.write(f"{_ANEW}{made}" if self._terminal else f"{made}\n")
            self._to.flush()
            self._open = self._terminal

    def end(self) -> None:
        """What comes now has a line of its own."""
        if self._open:
            self._to.write("\n")
            self._open = False


def _clock(seconds: float) -> str:
    minutes, left = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{left:02}"
