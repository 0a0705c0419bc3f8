"""How a claim ends: a closed set of outcomes, matched exhaustively wherever they are read.

Done(result)          the work is finished
Fail(error, …)        the attempt failed; the job waits and is tried again, or is dead at max_attempts
Snooze(delay)         not now: the job waits, and the attempt is given back
Release()             not me: the job is ready for somebody else at once, and the attempt is given back
Bury(reason)          never again: the job is dead now, whatever attempts were left
Cancelled(reason)     the job was cancelled and its worker agrees
"""

from __future__ import annotations

import traceback as tb
from dataclasses import dataclass
from typing import Any

from tenure.duration import Duration

__all__ = ["Bury", "Cancelled", "Done", "Fail", "Outcome", "Release", "Snooze", "name_of"]


@dataclass(frozen=True, slots=True)
class Done:
    """The work is finished; `result` (JSON, up to 64 KiB) is kept with the job."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Fail:
    """The attempt failed. `retry_in` is the wait before the next one (default: 60 s, doubling, up to an hour)."""

    error: str = ""
    retry_in: Duration | None = None
    kind: str = "Error"
    traceback: str | None = None

    @classmethod
    def of(cls, error: BaseException, retry_in: Duration | None = None) -> Fail:
        """The failure that an exception tells of, with its traceback."""
        return cls(_told(error), retry_in, kind=type(error).__qualname__, traceback=_story(error))


def _told(error: BaseException) -> str:
    """The error's own words; an error whose words cannot be read is told by its name."""
    try:
        return str(error) or repr(error)
    except Exception:
        return f"<{type(error).__qualname__} whose text could not be read>"


def _story(error: BaseException) -> str | None:
    try:
        return "".join(tb.format_exception(error))
    except Exception:
        return None


@dataclass(frozen=True, slots=True)
class Snooze:
    """Try again after `delay`; burns no attempt."""

    delay: Duration


@dataclass(frozen=True, slots=True)
class Release:
    """Give the job back at once; burns no attempt."""


@dataclass(frozen=True, slots=True)
class Bury:
    """Dead now, with a reason."""

    reason: str = "buried"
    error: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Cancelled; without a reason of its own, for the reason it was asked to."""

    reason: str | None = None


Outcome = Done | Fail | Snooze | Release | Bury | Cancelled

_NAMES: dict[type[Any], str] = {
    Done: "done",
    Fail: "fail",
    Snooze: "snooze",
    Release: "release",
    Bury: "bury",
    Cancelled: "cancelled",
}


def name_of(outcome: Outcome) -> str:
    """The outcome's one-word name, as the store keeps it."""
    return _NAMES[type(outcome)]
