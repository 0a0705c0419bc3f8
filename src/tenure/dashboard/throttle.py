"""Slows down who guesses: after a few failures from an address it must wait, twice as long after each further one."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

__all__ = ["Throttle"]

_FREE: Final = 5
_LONGEST: Final = 900.0
_FORGOTTEN: Final = 3_600.0
_MOST: Final = 10_000


class Throttle:
    """Failures by address, bounded; `clock` tells seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """How many seconds it must wait before it may try again."""
        times, last = self._failures.get(address, (0, 0.0))
        if times < _FREE:
            return 0.0
        rest: float = min(2.0 ** (times - _FREE), _LONGEST)
        return max(last + rest - self._clock(), 0.0)

    def failed(self, address: str) -> None:
        """It has failed."""
        now = self._clock()
        times, last = self._failures.pop(address, (0, now))
        self._failures[address] = (1 if now - last > _FORGOTTEN else times + 1, now)
        if len(self._failures) > _MOST:
            self._failures.popitem(last=False)

    def passed(self, address: str) -> None:
        """It has logged in."""
        self._failures.pop(address, None)
