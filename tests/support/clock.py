"""A clock that a test owns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tenure.duration import Duration, parse

__all__ = ["MovedClock"]


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
