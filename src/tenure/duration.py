"""Lengths of time: timedelta, seconds, or text like "90s", "1h30m", "168h", "7d", "250ms".

`parse` turns any of them into a timedelta and refuses what has no clear meaning. Inside Tenure a length of time is a
timedelta, and in the database a whole number of microseconds.
"""

from __future__ import annotations

import re
from datetime import timedelta
from math import isfinite

from tenure.errors import FieldError, FieldTypeError

__all__ = ["Duration", "micros", "parse", "spell"]


Duration = timedelta | str | int | float

_MICROS = {
    "us": 1,
    "µs": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_PART = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(us|µs|ms|s|m|h|d)")
_LONGEST = timedelta(days=36_500)
_FIX = 'write it like "90s", "1h30m", "7d", or pass a timedelta'


def parse(value: Duration, field: str = "duration", *, negative: bool = False) -> timedelta:
    """The length of time `value` says; negative ones only where `negative` allows them."""
    if isinstance(value, timedelta):
        span = value
    elif isinstance(value, str):
        span = _parse_text(value, field)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldTypeError(field, "must be a timedelta, a number of seconds or text", value, _FIX)
    else:
        if abs(value) > _LONGEST.total_seconds() or not isfinite(value):
            raise FieldError(field, "must be at most 100 years", value, _FIX)
        span = timedelta(seconds=value)
    if span < timedelta(0) and not negative:
        raise FieldError(field, "must not be negative", value, "use zero or more")
    if abs(span) > _LONGEST:
        raise FieldError(field, "must be at most 100 years", value, _FIX)
    return span


def _parse_text(text: str, field: str) -> timedelta:
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body[1:] if body[:1] in ("+", "-") else body
    if body == "0":
        return timedelta(0)
    total, at = 0.0, 0
    while at < len(body):
        part = _PART.match(body, at)
        if part is None:
            raise FieldError(field, "must be a duration", text, _FIX)
        total += float(part[1]) * _MICROS[part[2]]
        at = part.end()
    if at == 0:
        raise FieldError(field, "must be a duration", text, _FIX)
    if total > _LONGEST.total_seconds() * 1e6:
        raise FieldError(field, "must be at most 100 years", text, _FIX)
    return sign * timedelta(microseconds=round(total))


def micros(span: timedelta) -> int:
    """The whole microseconds in `span`, exactly."""
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


def spell(span: timedelta) -> str:
    """`span` as people read it: "1h30m", "45s", "3d"; the smallest unit is the millisecond."""
    left = micros(span)
    if left < 0:
        return f"-{spell(-span)}"
    words = []
    for unit in ("d", "h", "m", "s", "ms"):
        count, left = divmod(left, _MICROS[unit])
        if count:
            words.append(f"{count}{unit}")
    return "".join(words[:2]) or "0s"
