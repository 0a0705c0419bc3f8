"""Within how long the calls of a thread must all have been answered: who has only so much time says so around them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["time_left", "within"]

_LEAST = 0.1
"""What a call is given that comes when time is up: to find that out, it must be asked."""
_until: ContextVar[float | None] = ContextVar("tenure_until", default=None)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """What is asked of a store here and now is given up when so many seconds are over; None: by the store's own limits."""
    token = _until.set(None if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


def time_left() -> float | None:
    """How many seconds the next call may take; None: as many as it wants."""
    until = _until.get()
    return None if until is None else max(until - time.monotonic(), _LEAST)
