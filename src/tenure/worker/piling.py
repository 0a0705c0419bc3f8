"""Who is woken again and again by jobs that are not for it lets them pile up a little before it looks.

A store wakes all who sleep, whoever a job is for: beside a busy queue, the worker of a quiet one would look for every job of the other.
"""

from __future__ import annotations

import time

__all__ = ["Piling"]

_OFTEN, _SOON = 8, 0.05
"""How often in turn it must have been woken for nothing, each time so soon after the last."""
_FIRST, _LONGEST = 0.001, 0.01


class Piling:
    """How long to rest between being woken and looking: not at all, as long as most of it is for us."""

    def __init__(self) -> None:
        self._rest = 0.0
        self._vain, self._at = 0, 0.0

    def rest(self) -> float:
        """In seconds, for who has been woken just now."""
        return self._rest if time.monotonic() - self._at < _SOON else 0.0

    def looked(self, *, woken: bool, found: bool) -> None:
        """There was a look, because somebody woke us or for another reason."""
        if found:
            self._vain, self._rest = 0, 0.0
        elif woken:
            now = time.monotonic()
            self._vain = self._vain + 1 if now - self._at < _SOON else 0
            self._at = now
            self._rest = min(max(self._rest * 2, _FIRST), _LONGEST) if self._vain >= _OFTEN else 0.0
