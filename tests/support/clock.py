"""A clock that a test owns, and the machine's, moved."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from tenure.duration import Duration, parse

__all__ = ["MovedClock", "move_machine_clock"]


class MovedClock:
    """Stands still until the test moves it."""

    def __init__(self, start: datetime = datetime(2030, 1, 1, 12, tzinfo=UTC)) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: Duration) -> datetime:
        """Move on (or back, with a negative timedelta)."""
        self.now += parse(by, "by", negative=True)
        return self.now

    def at(self, offset: Duration) -> datetime:
        """The moment `offset` from now."""
        return self.now + (
            offset if isinstance(offset, timedelta) else parse(offset, "offset", negative=True)
        )


def move_machine_clock(patch: pytest.MonkeyPatch, by: Duration) -> None:
    """Set the clock of this process, and of nobody else, this much ahead, as `tenure.clock` asks for it."""
    ahead = parse(by, "by")
    time_ns, seconds = time.time_ns, time.time
    patch.setattr(time, "time_ns", lambda: time_ns() + ahead // timedelta(microseconds=1) * 1_000)
    patch.setattr(time, "time", lambda: seconds() + ahead.total_seconds())
