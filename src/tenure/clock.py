"""Who says what time it is: the store does.

Inside Tenure a moment is a whole number of microseconds since 1970 (UTC), the same on every database. This module is the
only one that asks the machine for the time; on SQLite, whose clock is the machine's, the store asks it here.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from tenure.errors import FieldError, FieldTypeError

__all__ = ["Leap", "Moment", "from_micros", "machine_micros", "to_micros"]

Moment = int
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LEAP = 2.0
"""By how many seconds the machine's clock must have moved on its own to have leapt: corrections are slower, or smaller."""
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def machine_micros() -> Moment:
    """The machine's clock."""
    return time.time_ns() // 1_000


class Leap:
    """Notices that the machine's clock leapt: it was set, or the machine slept, and all leases look older than they are."""

    def __init__(self) -> None:
        self._offset = _offset()

    @property
    def happened(self) -> bool:
        """Whether it leapt since it was last noted."""
        return abs(_offset() - self._offset) > _LEAP

    def note(self) -> bool:
        """Whether it leapt since the last time this was asked."""
        before, self._offset = self._offset, _offset()
        return abs(self._offset - before) > _LEAP


def _offset() -> float:
    return time.time() - time.monotonic()


def to_micros(moment: datetime, field: str) -> Moment:
    """An aware datetime as microseconds; a naive one is refused, since nobody can know what it means."""
    if not isinstance(moment, datetime):
        raise FieldTypeError(field, "must be a datetime", moment, "pass datetime.now(UTC) + …")
    if moment.utcoffset() is None:
        raise FieldTypeError(
            field, "must be timezone-aware", moment, "add a tzinfo, for example datetime.now(UTC)"
        )
    micros = (moment - _EPOCH) // _MICROSECOND
    if not _FIRST <= micros <= _LAST:
        raise FieldError(field, "must be in the years 1 to 9999 in UTC", moment)
    return micros


def from_micros(moment: Moment) -> datetime:
    """Microseconds as an aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=moment)
