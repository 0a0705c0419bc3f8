"""How a worker works: checked once, at the start.

`queues` say what to take and how much of it at a time: "mail:10" is ten slots for the queue mail, "*:4" four for every
queue that is not named. Without any, one line of `concurrency` slots takes from every queue.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypedDict

from msgspec import Struct

from tenure.duration import Duration, parse
from tenure.errors import FieldError, FieldTypeError
from tenure.newjob import check_name, check_whole

__all__ = ["LineTerms", "RunTerms", "WorkerSettings", "WorkerTerms", "check_terms", "lines_of"]

MAX_CONCURRENCY = 10_000
DEFAULT_CONCURRENCY = 50
DEFAULT_PREFETCH = 3_000
_NUMBER = re.compile(r"[0-9]{1,9}")
_LIKE_A_NUMBER = re.compile(r"[+-]?\d*[.,]?\d*")


class WorkerTerms(TypedDict, total=False):
    """What a worker may be told, as people write it: see `WorkerSettings`."""

    concurrency: int | None
    queues: Sequence[str] | None
    lease: Duration | None
    poll: Duration
    prefetch: int
    settle_delay: Duration
    grace: Duration
    children: int
    child_jobs: int | None
    janitor: bool
    max_jobs: int | None
    max_memory: int | None


class RunTerms(WorkerTerms, total=False):
    """The same, and how many processes work so."""

    processes: int


def check_terms(given: Mapping[str, object]) -> None:
    """Raise for a name that is none of `RunTerms`, and say which was meant."""
    from difflib import get_close_matches

    known = RunTerms.__annotations__
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            fix = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
            raise FieldTypeError(name, "is nothing that a worker can be told", given[name], fix)


class LineTerms(Struct, frozen=True):
    """One line of slots: the queues it takes from (None: every queue but those `except_queues`), and how many at a time."""

    queues: tuple[str, ...] | None
    except_queues: tuple[str, ...] | None
    concurrency: int

    @property
    def name(self) -> str:
        """As it was asked for."""
        return f"{'*' if self.queues is None else ','.join(self.queues)}:{self.concurrency}"


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """Everything a worker may be told."""

    lines: tuple[LineTerms, ...] = (LineTerms(None, None, DEFAULT_CONCURRENCY),)
    lease: timedelta = timedelta(seconds=30)
    poll: timedelta = timedelta(seconds=5)
    prefetch: int = DEFAULT_PREFETCH
    """The most jobs a line holds beyond its slots; it holds as many as it starts within a tenth of a second."""
    settle_delay: timedelta = timedelta(milliseconds=10)
    grace: timedelta = timedelta(seconds=25)
    """How long stopping may take, all in all."""
    children: int = 0
    """How many child processes `isolate=True` jobs may use at a time; 0: as many as this machine has cores."""
    child_jobs: int | None = None
    """How many jobs a child process runs before a fresh one takes its place; None: any number."""
    janitor: bool = True
    max_jobs: int | None = None
    max_memory: int | None = None
    """Stop in good order after this many jobs, or above this many bytes of memory: a pool starts a fresh process."""

    @property
    def concurrency(self) -> int:
        """All slots together."""
        return sum(line.concurrency for line in self.lines)


def lines_of(queues: Sequence[str] | None, concurrency: int | None) -> tuple[LineTerms, ...]:
    """The lines that `queues` ask for."""
    given = DEFAULT_CONCURRENCY if concurrency is None else concurrency
    share = check_whole(given, "concurrency", 1, MAX_CONCURRENCY)
    if not queues:
        return (LineTerms(None, None, share),)
    if isinstance(queues, str):
        raise FieldTypeError("queues", "must be a list", queues, f'write ["{queues}"]')
    named: dict[str, int] = {}
    for text in queues:
        name, count = _counted(check_name(text, "queues"), share)
        if name in named:
            raise FieldError("queues", "must name each queue once", text)
        named[name] = count
    others = tuple(name for name in named if name != "*")
    return tuple(
        LineTerms(None, others or None, count) if name == "*" else LineTerms((name,), None, count)
        for name, count in named.items()
    )


def _counted(text: str, share: int) -> tuple[str, int]:
    """A queue and how many of its jobs at a time; a name may have colons of its own, but not before a number."""
    name, colon, count = text.rpartition(":")
    if not colon or (name != "*" and not _LIKE_A_NUMBER.fullmatch(count)):
        return text, share
    if not name or not _NUMBER.fullmatch(count):
        raise FieldError("queues", "must be NAME or NAME:N", text, 'write "mail:10", or "*:4" for all others')
    return check_name(name, "queues"), check_whole(int(count), "queues", 1, MAX_CONCURRENCY)


def positive_span(value: Duration, name: str) -> timedelta:
    """A length of time above zero."""
    span = parse(value, name)
    if span <= timedelta(0):
        raise FieldError(name, "must be longer than zero", value)
    return span
