"""When a schedule fires: cron expressions, intervals, time zones, and what becomes of fires that were missed.

An expression has five fields (minute, hour, day, month, weekday), or six with the seconds in front, or is one of @yearly,
@annually, @monthly, @weekly, @daily, @midnight, @hourly, or "@every 30s": every multiple of that length since 1970, UTC.

Fields speak of wall-clock time in the schedule's zone. On the night the clock goes forward, what stands in the hour that
is left out fires once, just after it; on the night it goes back, what stands in the hour that comes twice fires in the
first only. An expression that names every hour follows real time instead: it fires in every hour that passes.

Nothing here asks what time it is.
"""

from __future__ import annotations

import re
from collections import deque
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from typing import Final, Literal
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from tenure.clock import to_micros
from tenure.duration import parse, spell
from tenure.errors import FieldError, FieldTypeError

__all__ = ["GRACE", "MAX_MISSED", "Cron", "Missed", "check_missed", "due", "upcoming"]

Missed = Literal["skip", "one"] | int
GRACE: Final = timedelta(seconds=60)
"""How old a fire may be and still not count as missed."""
MAX_MISSED: Final = 1_000

_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = re.compile(r"@every (\S+)", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _DAY = timedelta(seconds=1), timedelta(days=1)
_LONGEST = 200
_FIX = (
    'write "minute hour day month weekday", with the seconds in front if there are six fields, '
    'or @daily and the like, or "@every 5m"'
)


@dataclass(frozen=True, slots=True)
class Cron:
    """A checked expression in a time zone."""

    expression: str
    tz: str = "UTC"
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)
    _step: timedelta | None = field(init=False, repr=False, compare=False)
    """The interval of an @every."""
    _sim: CronSim = field(init=False, repr=False, compare=False)
    """The parsed fields; copied for every search, since a search changes it."""
    _real: bool = field(init=False, repr=False, compare=False)
    """Whether it follows real time."""

    def __post_init__(self) -> None:
        text = _checked(self.expression)
        put = object.__setattr__
        put(self, "expression", text)
        put(self, "_zone", _zone(self.tz))
        every = _EVERY.fullmatch(text)
        put(self, "_step", None if every is None else _interval(every[1], text))
        fields = "* * * * *" if every else _ALIASES.get(text.lower(), text)
        put(self, "_sim", _parsed(fields, text))
        put(self, "_real", len(self._sim.hours) == 24)

    def next(self, after: datetime) -> datetime:
        """The first fire later than this, in UTC."""
        to_micros(after, "after")
        try:
            if self._step is not None:
                return _EPOCH + ((after - _EPOCH) // self._step + 1) * self._step
            return self._next_real(after) if self._real else self._next_wall(after)
        except (StopIteration, OverflowError):
            raise FieldError(
                "after", f"must be early enough for {self.expression!r} to fire", after
            ) from None

    def fires(self, after: datetime, until: datetime, most: int) -> list[datetime]:
        """The first `most` fires later than `after`, up to and including `until`."""
        found: list[datetime] = []
        while len(found) < most and (fire := self.next(found[-1] if found else after)) <= until:
            found.append(fire)
        return found

    def latest(self, after: datetime, until: datetime, most: int) -> list[datetime]:
        """The last `most` fires later than `after`, up to and including `until`, oldest first.

        Looks back from `until` twice as far each time, so a schedule that missed years costs no more than one that missed
        an hour.
        """
        span = timedelta(minutes=1)
        while True:
            start = after if until - after <= span else until - span
            found: deque[datetime] = deque(maxlen=most)
            fire = self.next(start)
            while fire <= until:
                found.append(fire)
                fire = self.next(fire)
            if len(found) == most or start == after:
                return list(found)
            span *= 2

    def text(self) -> str:
        """In English, with the zone."""
        if self._step is not None:
            return f"Every {spell(self._step)}"
        return f"{self._sim.explain()} ({self.tz})"

    def _next_real(self, after: datetime) -> datetime:
        """From one change of the clock to the next the wall shows a plain calendar, and all of it counts."""
        at = after.replace(microsecond=0).astimezone(UTC)
        wall = at.astimezone(self._zone).replace(tzinfo=None)
        while True:
            offset = at.astimezone(self._zone).utcoffset() or timedelta(0)
            sim = copy(self._sim)
            sim.dt = wall
            fire = (next(sim) - offset).replace(tzinfo=UTC)
            change = _change(self._zone, at, fire)
            if change is None:
                return fire
            # What the wall shows at the very change counts too.
            at, wall = change, change.astimezone(self._zone).replace(tzinfo=None) - _SECOND

    def _next_wall(self, after: datetime) -> datetime:
        sim = copy(self._sim)
        sim.dt = after.astimezone(self._zone).replace(tzinfo=None, microsecond=0)
        while True:
            fire = _moment(next(sim).replace(tzinfo=self._zone, fold=0))
            # In the second of two equal hours the wall clock leads back to times of the first.
            if fire > after:
                return fire


def check_missed(value: object) -> Missed:
    """The policy for fires that nobody was there for: none, the latest, or the latest n of them."""
    if value in ("skip", "one") and isinstance(value, str):
        return "skip" if value == "skip" else "one"
    fix = '"skip": none; "one": the latest; a number: that many of the latest'
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise FieldTypeError("missed", f'must be "skip", "one" or 1 to {MAX_MISSED}', value, fix)
    if isinstance(value, str) or not 1 <= value <= MAX_MISSED:
        raise FieldError("missed", f'must be "skip", "one" or 1 to {MAX_MISSED}', value, fix)
    return value


def due(
    cron: Cron, last: datetime | None, now: datetime, missed: Missed = "one", grace: timedelta = GRACE
) -> list[datetime]:
    """What is to be fired now, oldest first, of all that fell due after `last`.

    `last` is the last fire, or the moment the schedule began; None: it has not begun. A clock that stands before `last` has
    been set back, and nothing is due.
    """
    if last is None or last >= now:
        return []
    if missed == "skip":
        return cron.latest(max(last, now - grace), now, 1)
    return cron.latest(last, now, 1 if missed == "one" else missed)


def upcoming(
    cron: Cron, last: datetime, now: datetime, missed: Missed = "one", grace: timedelta = GRACE
) -> datetime:
    """When it fires next: what is due already, else the first fire to come."""
    waiting = due(cron, last, now, missed, grace)
    return waiting[0] if waiting else cron.next(max(last, now))


def _checked(expression: object) -> str:
    if not isinstance(expression, str):
        raise FieldTypeError("cron", "must be text", expression, _FIX)
    text = " ".join(expression.split())
    if not 1 <= len(text) <= _LONGEST:
        raise FieldError("cron", f"must be 1 to {_LONGEST} characters", expression, _FIX)
    return text


def _parsed(fields: str, given: str) -> CronSim:
    # Always six fields: five would switch on a treatment of DST nights that depends on how the hours are spelled.
    words = fields.split()
    if len(words) not in (5, 6):
        raise FieldError("cron", "must have five fields, or six with seconds", given, _FIX)
    try:
        sim = CronSim(fields if len(words) == 6 else f"0 {fields}", datetime(2000, 1, 1))  # noqa: DTZ001 - wall-clock time
        next(copy(sim))
    except CronSimError as cause:
        raise FieldError("cron", f"must be a cron expression ({str(cause).lower()})", given, _FIX) from None
    except StopIteration:
        raise FieldError(
            "cron", "must name a time that comes", given, "no such day is in any calendar"
        ) from None
    return sim


def _interval(text: str, given: str) -> timedelta:
    step = parse(text, "cron")
    if step < _SECOND or step % _SECOND:
        raise FieldError("cron", "must be every one or more whole seconds", given, 'write "@every 30s"')
    return step


def _zone(name: object) -> ZoneInfo:
    if not isinstance(name, str):
        raise FieldTypeError("tz", "must be the name of a time zone", name, 'write "Europe/Berlin"')
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = get_close_matches(name, available_timezones(), n=1)
        fix = f'did you mean "{near[0]}"?' if near else 'write "Europe/Berlin", or "UTC"'
        raise FieldError("tz", "must be a time zone this machine knows", name, fix) from None


def _moment(wall: datetime) -> datetime:
    """A wall-clock time in UTC: the first of two, or the end of the gap it stands in."""
    moment = wall.astimezone(UTC)
    if moment.astimezone(wall.tzinfo).replace(tzinfo=None) == wall.replace(tzinfo=None):
        return moment
    # In a gap `fold` tells which offset is meant, so these two stand on either side of its end.
    return _turn(wall.tzinfo, wall.replace(fold=1).astimezone(UTC), moment)


def _change(zone: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """When the clock is changed first, later than the one and up to the other; None: it is not."""
    offset, before = after.astimezone(zone).utcoffset(), after
    while before < until:
        later = min(before + _DAY, until)
        if later.astimezone(zone).utcoffset() != offset:
            return _turn(zone, before, later)
        before = later
    return None


def _turn(zone: tzinfo | None, before: datetime, after: datetime) -> datetime:
    """The second between these two at which the clock is changed."""
    offset = after.astimezone(zone).utcoffset()
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after
