"""Lines that strangers can have the server log as often as they like: each kind is told once a minute, and how often it was not."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

__all__ = ["CROWDED", "INVALID", "spare"]

CROWDED: Final = "Too many connections; those above the limit are answered 503."
INVALID: Final = "Invalid HTTP request received."
_SPARED: Final = (CROWDED, INVALID)
_EVERY: Final = 60.0


class _Sparing(logging.Filter):
    """Lets one line of a kind through, and counts the others."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._told: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is logged."""
        said = str(record.msg)
        if said not in _SPARED:
            return True
        now = self._clock()
        last, untold = self._told.get(said, (float("-inf"), 0))
        if now - last < _EVERY:
            self._told[said] = (last, untold + 1)
            return False
        self._told[said] = (now, 0)
        if untold:
            record.msg = f"{said} (and {untold} times more since the last time)"
        return True


def spare(log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
    """Have this log spared, once."""
    if not any(isinstance(one, _Sparing) for one in log.filters):
        log.addFilter(_Sparing(clock))
