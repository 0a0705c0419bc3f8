"""When a cron expression fires around the moments at which a zone's clock changes, found the slow way.

Nothing of the package or of its cron library is used: every minute of the window is looked at by itself and its fields are
compared. An expression that names every hour fires wherever the clock on the wall matches. Any other fires the first time the
wall shows a time, and once at the end of a gap that holds a time it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

__all__ = ["Expression", "Window", "windows"]

_MINUTE = timedelta(minutes=1)
_DAYS = {name: n for n, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))}
_MONTHS = {
    name: n + 1
    for n, name in enumerate(
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
    )
}
_NAMES = _DAYS | _MONTHS
_AROUND = timedelta(hours=4)


def _number(text: str) -> int:
    return _NAMES.get(text, -1) if text.isalpha() else int(text)


def _field(text: str, low: int, high: int) -> frozenset[int]:
    """The numbers that a field of lists, ranges and steps names."""
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        else:
            start, dash, end = span.partition("-")
            first = _number(start)
            last = _number(end) if dash else (high if step else first)
        found.update(range(first, last + 1, int(step or 1)))
    return frozenset(found)


class Expression:
    """Five fields, or six with the seconds in front."""

    def __init__(self, text: str) -> None:
        words = text.split()
        seconds, minute, hour, self._day, month, self._weekday = words if len(words) == 6 else ["0", *words]
        self.seconds, self._minutes = sorted(_field(seconds, 0, 59)), _field(minute, 0, 59)
        self._hours, self._months = _field(hour, 0, 23), _field(month, 1, 12)
        self.real = len(self._hours) == 24
        """Whether it follows real time."""

    def matches(self, wall: datetime) -> bool:
        """Whether it names this minute on the wall."""
        return (
            wall.minute in self._minutes
            and wall.hour in self._hours
            and wall.month in self._months
            and self._matches_day(wall)
        )

    def _matches_day(self, wall: datetime) -> bool:
        by_day, by_weekday = self._on_day(wall), self._on_weekday(wall)
        if self._day.startswith("*") or self._weekday.startswith("*"):
            return by_day and by_weekday
        return by_day or by_weekday

    def _on_day(self, wall: datetime) -> bool:
        if self._day == "L":
            return (wall + timedelta(days=1)).day == 1
        return wall.day in _field(self._day, 1, 31)

    def _on_weekday(self, wall: datetime) -> bool:
        name, nth, which = self._weekday.partition("#")
        if nth:
            return wall.isoweekday() % 7 == _number(name) and (wall.day + 6) // 7 == int(which)
        named = _field(self._weekday, 0, 7)
        return wall.isoweekday() % 7 in named or (wall.isoweekday() == 7 and 7 in named)


@dataclass(frozen=True)
class Window:
    """The hours around one change of one zone's clock."""

    zone: ZoneInfo
    at: datetime

    @property
    def start(self) -> datetime:
        return self.at - _AROUND

    @property
    def end(self) -> datetime:
        return self.at + _AROUND

    @cached_property
    def _minutes(self) -> list[tuple[datetime, datetime]]:
        """Every minute, and what the wall shows then."""
        count = (self.end - self.start) // _MINUTE
        moments = [self.start + n * _MINUTE for n in range(count + 1)]
        return [(moment, moment.astimezone(self.zone)) for moment in moments]

    @cached_property
    def _skipped(self) -> list[datetime]:
        """The times that the wall never shows, if the clock goes forward."""
        before = (self.at - _MINUTE).astimezone(self.zone).replace(tzinfo=None) + _MINUTE
        after = self.at.astimezone(self.zone).replace(tzinfo=None)
        return [before + n * _MINUTE for n in range(max((after - before) // _MINUTE, 0))]

    def fires(self, expression: Expression) -> list[datetime]:
        """When it fires: later than the start, up to the end."""
        found = {
            moment + timedelta(seconds=second)
            for moment, wall in self._minutes
            if (expression.real or not wall.fold) and expression.matches(wall)
            for second in expression.seconds
        }
        if not expression.real and any(map(expression.matches, self._skipped)):
            found.add(self.at)
        return sorted(fire for fire in found if self.start < fire <= self.end)


def windows(name: str, first: int, last: int) -> list[Window]:
    """Around every change of a zone's clock from the first to the last of these years."""
    zone = ZoneInfo(name)
    found, day = [], timedelta(days=1)
    at, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC)
    offset = at.astimezone(zone).utcoffset()
    while at < end:
        after = (at + day).astimezone(zone).utcoffset()
        if after != offset:
            found.append(Window(zone, _change(zone, at, at + day)))
            offset = after
        at += day
    return found


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first second at which the clock is another."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
