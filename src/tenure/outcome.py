"""How a claim ends: a closed set of outcomes, matched exhaustively wherever they are read.

Done(result)          the work is finished
Fail(error, …)        the attempt failed; the job waits and is tried again, or is dead at max_attempts
Snooze(delay)         not now: the job waits, and the attempt is given back
Release()             not me: the job is ready for somebody else at once, and the attempt is given back
Bury(reason)          never again: the job is dead now, whatever attempts were left
Cancelled(reason)     the job was cancelled and its worker agrees
Crashed(error)        the process that ran it vanished: the attempt is given back, and a crash is counted

A handler says Snooze, Release and Bury by raising them, so these three are exceptions as well; `RetryIn` and `Cancel` are
what it raises for a failure with a wait of its own and for a cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tenure.duration import Duration
from tenure.errors import FieldTypeError
from tenure.story import story

__all__ = [
    "Bury",
    "Cancel",
    "Cancelled",
    "Crashed",
    "Done",
    "Fail",
    "Outcome",
    "Release",
    "RetryIn",
    "Snooze",
    "name_of",
    "plain",
]


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
        return cls(_told(error), retry_in, kind=type(error).__qualname__, traceback=story(error))


def _told(error: BaseException) -> str:
    """The error's own words; an error whose words cannot be read is told by its name."""
    try:
        return str(error) or repr(error)
    except Exception:
        return f"<{type(error).__qualname__} whose text could not be read>"


@dataclass(unsafe_hash=True)
class Snooze(Exception):
    """Try again after `delay`; burns no attempt. A handler may raise it."""

    delay: Duration


@dataclass(unsafe_hash=True)
class Release(Exception):
    """Give the job back at once; burns no attempt. A handler may raise it."""


@dataclass(unsafe_hash=True)
class Bury(Exception):
    """Dead now, with a reason. A handler may raise it."""

    reason: str = "buried"
    error: str = ""
    kind: str = "Bury"
    traceback: str | None = None

    def __post_init__(self) -> None:
        if self.reason is None:  # it would be kept as the word "None"
            raise FieldTypeError("reason", "must be text", None, "leave it out if there is none")


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Cancelled; without a reason of its own, for the reason it was asked to."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process that ran it vanished while its worker lived: a crash. Said by whoever saw it go, not by a handler."""

    error: str = ""


@dataclass(unsafe_hash=True)
class RetryIn(Exception):
    """Raised by a handler: this attempt failed, try again after `delay` whatever the retry policy says."""

    delay: Duration
    error: str = ""


@dataclass(unsafe_hash=True)
class Cancel(Exception):
    """Raised by a handler: the job is to be cancelled, for this reason."""

    reason: str | None = None


Outcome = Done | Fail | Snooze | Release | Bury | Cancelled | Crashed

_NAMES: dict[type[Any], str] = {
    Done: "done",
    Fail: "fail",
    Snooze: "snooze",
    Release: "release",
    Bury: "bury",
    Cancelled: "cancelled",
    Crashed: "crashed",
}


def plain(outcome: Outcome) -> Outcome:
    """The same outcome where somebody made a class of his own of it: a store knows seven."""
    for base in _NAMES:
        if isinstance(outcome, base) and type(outcome) is not base:
            made: Outcome = base(*(getattr(outcome, field.name) for field in fields(base)))
            return made
    return outcome


def name_of(outcome: Outcome) -> str:
    """The outcome's one-word name, as the store keeps it."""
    return _NAMES[type(outcome)]
