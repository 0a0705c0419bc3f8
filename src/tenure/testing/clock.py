"""Clock: stands still until the test moves it. Leases, retries, delays and schedules follow it."""

from __future__ import annotations

from datetime import UTC, datetime

from tenure.clock import from_micros, machine_micros, to_micros
from tenure.duration import Duration, parse

__all__ = ["Clock"]


class Clock:
    """What time it is in a test. Without a `start` it begins at the machine's time, and stands still all the same."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = from_micros(machine_micros()) if start is None else _checked(start, "start")

    @property
    def now(self) -> datetime:
        """The moment it stands at."""
        return self._now

    def __call__(self) -> datetime:
        """The same, as a queue asks for it."""
        return self._now

    def advance(self, by: Duration) -> datetime:
        """Move on: "90s", "1d", a timedelta or seconds; the moment it stands at now."""
        self._now = _checked(self._now + parse(by, "by"), "by")
        return self._now

    def set(self, to: datetime) -> datetime:
        """Move to a moment, with its time zone."""
        self._now = _checked(to, "to")
        return self._now

    def __repr__(self) -> str:
        return f"Clock({self._now.isoformat()})"


def _checked(moment: datetime, field: str) -> datetime:
    to_micros(moment, field)
    return moment.astimezone(UTC)
