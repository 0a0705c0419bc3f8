"""What users pass, checked: each helper returns the argument as plans take it, or raises an error that names it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from tenure.duration import Duration, micros, parse
from tenure.errors import FieldError, FieldTypeError
from tenure.filters import Filter
from tenure.job import Claim, JobId
from tenure.newjob import NewJob, check_id, check_name, check_whole, when_of
from tenure.outcome import Outcome
from tenure.payload import clean_error
from tenure.store.people import Due
from tenure.store.settle import check_outcome

__all__ = [
    "MAX_LIMIT",
    "MAX_TEXT",
    "claim_of",
    "due_of",
    "filter_of",
    "is_plain",
    "limit_of",
    "many",
    "names_of",
    "outcome_of",
    "pairs_of",
    "positive",
    "reason_of",
    "started_of",
    "text_of",
    "worker_of",
]

T = TypeVar("T")
MAX_LIMIT = 10_000
MAX_TEXT = 65_536
"""How long a note, or what a worker says of itself, may be, in bytes of UTF-8."""
_LONGEST_REASON = 200
_MOST = 2**63 - 1


def is_plain(job: NewJob) -> bool:
    """Whether storing it asks nothing of other rows."""
    return job.unique is None and job.group is None and job.request is None and job.id is None


def limit_of(value: object) -> int:
    """How many at a time."""
    return check_whole(value, "limit", 1, MAX_LIMIT)


def due_of(run_at: datetime | None, delay: Duration | None) -> Due:
    """When a job is due that is started anew."""
    return Due(*when_of(run_at, delay, "run_at", "delay"))


def positive(value: Duration, name: str) -> int:
    """A length of time above zero, in microseconds."""
    span = micros(parse(value, name))
    if span == 0:
        raise FieldError(name, "must be longer than zero", value)
    return span


def names_of(values: Iterable[str] | None, name: str) -> tuple[str, ...] | None:
    """Names of queues or kinds, or None for any."""
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise FieldTypeError(name, "must be a list of names", values, 'write ["one", "two"]')
    return tuple(check_name(v, name) for v in values)


def many(values: Iterable[T], name: str) -> Iterable[T]:
    """A list of things; one thing alone is refused."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise FieldTypeError(name, "must be a list", values)
    return values


def reason_of(value: object) -> str:
    """Why a person wants it, as it is kept."""
    if not isinstance(value, str):
        raise FieldTypeError("reason", "must be text", value, "leave it out if there is none")
    return clean_error(value, _LONGEST_REASON)


def worker_of(value: object) -> str:
    """A worker's name."""
    return check_name(value, "worker")


def claim_of(value: object) -> Claim:
    """A claim."""
    if not isinstance(value, Claim):
        raise FieldTypeError("claim", "must be a Claim, as claim() returned it", value)
    return value


def started_of(values: Iterable[str | Claim], claims: Iterable[Claim]) -> frozenset[JobId]:
    """The ids of jobs that have started, each of them among these claims."""
    held = {c.id for c in claims}
    begun = {v.id if isinstance(v, Claim) else check_id(v, "started") for v in many(values, "started")}
    for job_id in begun - held:
        raise FieldError("started", "must be among the claims that are renewed", job_id)
    return frozenset(begun)


def pairs_of(values: Iterable[tuple[str | int, int]], name: str) -> frozenset[tuple[JobId | int, int]]:
    """Jobs that have started, each as (id, epoch) or (seq, epoch)."""
    found: set[tuple[JobId | int, int]] = set()
    pair: Any
    for pair in many(values, name):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise FieldTypeError(
                name, "must be pairs of a job's id and an epoch", pair, "(claim.id, claim.epoch)"
            )
        job, epoch = pair
        which = check_whole(job, name, 1, _MOST) if isinstance(job, int) else check_id(job, name)
        found.add((which, check_whole(epoch, name, 0, _MOST)))
    return frozenset(found)


def outcome_of(value: Outcome) -> Outcome:
    """An outcome that can be stored."""
    if not isinstance(value, Outcome):
        raise FieldTypeError(
            "outcome", "must be Done, Fail, Snooze, Release, Bury, Cancelled or Crashed", value
        )
    return check_outcome(value)


def filter_of(value: object) -> Filter:
    """A filter that can be asked."""
    if not isinstance(value, Filter):
        raise FieldTypeError("which", "must be a Filter", value, 'tenure.Filter(states=["dead"])')
    value.parameters()
    return value


def text_of(value: object, name: str) -> str:
    """A text that every store can keep, and not a long one."""
    if not isinstance(value, str):
        raise FieldTypeError(name, "must be text", value)
    try:
        size = len(value.encode())
    except UnicodeError:
        size = -1
    if size < 0 or "\x00" in value:
        raise FieldError(name, "must be text without NUL or lone surrogates", value)
    if size > MAX_TEXT:
        raise FieldError(
            name, f"must be at most {MAX_TEXT} bytes", size, "keep the bulk elsewhere and note where"
        )
    return value
