"""A job before it is stored: its options, checked at the door.

Whatever breaks a rule raises an error that names the field, the rule, the value and the fix, and nothing is stored.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypedDict
from uuid import UUID

from msgspec import Struct, field
from msgspec.json import Encoder
from uuid_utils import uuid7

from tenure.clock import to_micros
from tenure.duration import Duration, micros, parse
from tenure.errors import FieldError, FieldTypeError
from tenure.job import JobId, Order, Request
from tenure.payload import MAX_PAYLOAD, encode

__all__ = [
    "MAX_NAME",
    "SEPARATOR",
    "BareParams",
    "NewJob",
    "Row",
    "bare_params",
    "bare_row",
    "check",
    "check_id",
    "check_name",
    "check_place_name",
    "check_whole",
    "copied_bare",
    "is_bare",
    "lane_of",
    "new_id",
    "when_of",
]

MAX_NAME = 200
SEPARATOR = "\x1f"
"""Stands between the parts of a lane: smaller than anything a name may hold."""
MAX_KEY = 8_192
MAX_GROUP = 600
"""A group key is indexed as it is, and an index entry has little room."""
MAX_TAGS = 32
_REMEMBERED = 4_096
_LONG = 36_500
"""Days: what is shorter is no span too long."""
_LONGEST_NUMBER = 18
"""Digits: what 64 bits hold for sure."""
_Place = tuple[str, str, str, int, int]
_places: dict[tuple[str, str, int, int], _Place] = {}
_INT16 = range(-32_768, 32_768)
_INT32_MAX = 2_147_483_647
_ONE, _STRICT = 1, "strict"
_quick = Encoder().encode


class NewJob(Struct, frozen=True, kw_only=True, gc=False):
    """A job to enqueue.

    `unique` with no `unique_for` means: at most one such job of this kind pending or running. With `unique_for` it
    means: at most one in that period from the first enqueue, even after the job is gone. `group` lets `group_limit`
    jobs of the same key run at a time; with order "strict" a failed head holds its successors until it ends, with
    "start" it steps aside while it waits. It is in no cycle, so nobody looks for one (`gc=False`): a bulk has many.
    """

    kind: str
    payload: Any = None
    queue: str = "default"
    priority: int = 0
    run_at: datetime | None = None
    delay: Duration | None = None
    max_attempts: int = 5
    unique: str | None = None
    unique_for: Duration | None = None
    group: str | None = None
    group_limit: int = 1
    order: Order = "strict"
    expires_at: datetime | None = None
    expires_in: Duration | None = None
    timeout: Duration | None = None
    tags: Sequence[str] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    parent: str | None = None
    flow: str | None = None
    tenant: str | None = None
    request: Request | None = None
    id: str | None = None


class BareParams(TypedDict):
    """What `enqueue_one` takes, in this order."""

    id: JobId
    lane: str
    queue: str
    kind: str
    rank: int
    payload: str
    max_attempts: int
    now: int | None


class Row(Struct, gc=False):
    """A checked job, as the store takes it: text, whole numbers, microseconds. It is in no cycle, so nobody looks for one."""

    id: JobId
    lane: str
    queue: str
    kind: str
    rank: int
    payload: str
    max_attempts: int
    run_at: int | None
    delay: int | None
    expires_at: int | None
    expires_in: int | None
    unique_hash: str | None
    unique_for: int | None
    group_key: str | None
    group_limit: int | None
    parent: str | None
    flow: str | None
    tenant: str | None
    extra: str | None
    request: Request | None
    bare: bool = False
    """Whether it has no options at all."""
    named: bool = False
    """Whether the caller chose its id, so that it may have been stored before."""

    def bare_params(self, now: int | None) -> BareParams:
        """The row as `enqueue_one` takes it."""
        return {
            "id": self.id, "lane": self.lane, "queue": self.queue, "kind": self.kind, "rank": self.rank,
            "payload": self.payload, "max_attempts": self.max_attempts, "now": now,
        }  # fmt: skip

    def copied(self, now: int) -> tuple[object, ...]:
        """The row as a bulk copy takes it, due and in its state by the store's clock."""
        due = self.run_at
        if due is None:
            due = now if self.delay is None else now + self.delay
        expires = self.expires_at if self.expires_in is None else now + self.expires_in
        return (
            self.id, self.lane, self.queue, self.kind, self.rank, self.payload, self.max_attempts, due, now, expires,
            self.parent, self.flow, self.tenant, self.extra, "scheduled" if due > now else "ready",
        )  # fmt: skip

    @property
    def may_wait(self) -> bool:
        """Whether storing it may have to wait for somebody else's transaction."""
        return self.unique_hash is not None or self.named

    @property
    def alone(self) -> bool:
        """Whether one statement stores it."""
        return self.unique_for is None and self.group_key is None and self.request is None


def new_id() -> JobId:
    """A fresh UUIDv7: known before the commit, ordered by time."""
    return JobId(str(uuid7()))


@lru_cache(maxsize=4_096)
def lane_of(queue: str, kind: str, rank: int) -> str:
    """The line a job stands in once it is ready: lanes sort by queue, then kind, then priority, highest first."""
    return f"{queue}{SEPARATOR}{kind}{SEPARATOR}{rank + 32_768:05d}"


def check_id(value: object, name: str = "id") -> JobId:
    """A job id in its one spelling, from text or a UUID."""
    if not isinstance(value, (str, UUID)):
        raise FieldTypeError(name, "must be a UUID or its text", value)
    try:
        return JobId(str(UUID(str(value))))
    except ValueError:
        raise FieldError(name, "must be a UUID", value) from None


def check_name(value: object, name: str) -> str:
    """A queue's or kind's name: 1 to 200 printable characters."""
    if not isinstance(value, str):
        raise FieldTypeError(name, "must be text", value)
    if not 1 <= len(value) <= MAX_NAME:
        raise FieldError(name, f"must be 1 to {MAX_NAME} characters", value)
    if not value.isprintable() or value != value.strip():
        raise FieldError(name, "must be printable, without space around it", value)
    return value


def check_place_name(value: object, name: str) -> str:
    """The name of one queue or kind: a star stands for all of them."""
    if value == "*":
        raise FieldError(name, 'must not be "*", which stands for every one', value, "name one")
    return check_name(value, name)


def check(job: NewJob, limit: int = MAX_PAYLOAD, given: JobId | None = None) -> Row:
    """The job as a row; raises for the first rule it breaks."""
    lane, queue, kind, rank, most = _place_of(job)
    text = encode(job.payload, "payload", limit)
    name = given or (new_id() if job.id is None else check_id(job.id))
    if is_bare(job):
        return Row(name, lane, queue, kind, rank, text, most, *_NO_OPTIONS, True)
    run_at, delay = when_of(job.run_at, job.delay, "run_at", "delay")
    expires_at, expires_in = when_of(job.expires_at, job.expires_in, "expires_at", "expires_in")
    unique_for = None if job.unique_for is None else _span(job.unique_for, "unique_for")
    if unique_for is not None and job.unique is None:
        raise FieldError("unique_for", "needs a unique key", job.unique_for, "pass unique=…")
    if unique_for == 0:
        raise FieldError(
            "unique_for", "must be longer than zero", job.unique_for, "leave it out for 'in flight'"
        )
    group_limit = None
    if job.group is not None:
        _key(job.group, "group", MAX_GROUP)
        group_limit = _room(job)
    elif job.group_limit is not _ONE or job.order is not _STRICT:
        _room(job)  # kept by nobody, and yet no nonsense
    unique_hash = None if job.unique is None else _fingerprint(kind, _key(job.unique, "unique"))
    parent = None if job.parent is None else check_id(job.parent, "parent")
    flow = None if job.flow is None else _key(job.flow, "flow", MAX_NAME)
    tenant = None if job.tenant is None else _key(job.tenant, "tenant", MAX_NAME)
    return Row(
        name, lane, queue, kind, rank, text, most, run_at, delay, expires_at, expires_in, unique_hash, unique_for,
        job.group, group_limit, parent, flow, tenant, _extra(job, unique_for), _request(job.request), False,
        job.id is not None,
    )  # fmt: skip


def bare_params(
    kind: object, payload: Any, queue: object, priority: object, most: object, limit: int, now: int | None
) -> BareParams:
    """A job without options, checked, under a fresh id."""
    lane, q, k, rank, attempts = _place(queue, kind, priority, most)
    return {
        "id": new_id(), "lane": lane, "queue": q, "kind": k, "rank": rank,
        "payload": encode(payload, "payload", limit), "max_attempts": attempts, "now": now,
    }  # fmt: skip


def bare_row(params: BareParams) -> Row:
    """The same as a row."""
    p = params
    return Row(
        p["id"], p["lane"], p["queue"], p["kind"], p["rank"], p["payload"], p["max_attempts"], *_NO_OPTIONS, True
    )  # fmt: skip


def copied_bare(
    jobs: Iterable[NewJob], ids: Iterable[JobId], limit: int, now: int
) -> Iterator[tuple[object, ...]]:
    """Jobs without options as a bulk copy takes them; a bulk is mostly of one place, so the last one is kept at hand."""
    queue, kind, priority, most = None, None, None, None
    lane = rank = None
    for job, given in zip(jobs, ids, strict=True):
        if (
            job.queue is not queue
            or job.kind is not kind
            or job.priority is not priority
            or job.max_attempts is not most
        ):
            lane, queue, kind, rank, most = _place_of(job)
            priority = job.priority
        yield (given, lane, queue, kind, rank, encode(job.payload, "payload", limit), most, now, now)


def _place_of(job: NewJob) -> _Place:
    return _place(job.queue, job.kind, job.priority, job.max_attempts)


def _place(queue: object, kind: object, priority: object, most: object) -> _Place:
    if type(queue) is type(kind) is str and type(priority) is type(most) is int:
        known = _places.get((queue, kind, priority, most))
        if known is not None:
            return known
    return _check_place(queue, kind, priority, most)


def _check_place(queue: object, kind: object, priority: object, max_attempts: object) -> _Place:
    """Where a job stands in the line; the same few places come again and again, so they are remembered."""
    q, k = check_place_name(queue, "queue"), check_place_name(kind, "kind")
    rank = -check_whole(priority, "priority", _INT16.start, _INT16.stop - 1)
    most = check_whole(max_attempts, "max_attempts", 1, _INT32_MAX)
    if len(_places) >= _REMEMBERED:
        _places.clear()
    place = _places[q, k, -rank, most] = (lane_of(q, k, rank), q, k, rank, most)
    return place


_NO_OPTIONS = (None,) * 13


def is_bare(job: NewJob) -> bool:
    """Whether the job has nothing beyond its place in the line: what most jobs are."""
    return (
        job.run_at is None and job.delay is None and job.unique is None and job.unique_for is None and job.group is None
        and job.expires_at is None and job.expires_in is None and job.timeout is None and not job.tags and not job.meta
        and job.parent is None and job.flow is None and job.tenant is None and job.request is None and job.id is None
        and job.group_limit is _ONE and job.order is _STRICT
    )  # fmt: skip


def _room(job: NewJob) -> int:
    """How many of its group may run at a time; its order is a known one."""
    if job.order not in ("strict", "start"):
        raise FieldError("order", 'must be "strict" or "start"', job.order)
    return check_whole(job.group_limit, "group_limit", 1, _INT32_MAX)


def when_of(
    at: datetime | None, span: Duration | None, at_name: str, span_name: str
) -> tuple[int | None, int | None]:
    """A time, or how long from now, in microseconds; both are too much."""
    if at is not None and span is not None:
        raise FieldError(span_name, f"must not be given beside {at_name}", span, "pass one of the two")
    return (
        None if at is None else to_micros(at, at_name),
        None if span is None else _span(span, span_name),
    )


def _span(span: Duration, name: str) -> int:
    """In microseconds."""
    if type(span) is timedelta and 0 <= span.days < _LONG:
        return micros(span)
    return _known_span(span, name) if type(span) is str else micros(parse(span, name))


@lru_cache(maxsize=1_024)
def _known_span(text: str, name: str) -> int:
    """The same few texts come again and again."""
    return micros(parse(text, name))


def check_whole(value: object, name: str, low: int, high: int) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldTypeError(name, "must be a whole number", value)
    if not low <= value <= high:
        raise FieldError(name, f"must be from {low} to {high}", value)
    return value


def _key(value: object, name: str, longest: int = MAX_KEY) -> str:
    if not isinstance(value, str):
        raise FieldTypeError(name, "must be text", value)
    if not 1 <= len(value) <= longest:
        raise FieldError(name, f"must be 1 to {longest} characters", value)
    if "\x00" in value or not value.isascii():
        try:
            clean = "\x00" not in value.encode().decode()
        except UnicodeError:
            clean = False
        if not clean:
            raise FieldError(name, "must be text without NUL or lone surrogates", value)
    return value


def _fingerprint(kind: str, key: str) -> str:
    """128 bits that stand for (kind, key): an index entry of one size whatever the key's length.

    A number stands for itself behind what stands for the kind: numbers mostly come in a row, and then their entries are
    neighbours, while hashes would each have a page of their own to be written.
    """
    if len(key) <= _LONGEST_NUMBER and key.isdecimal() and key.isascii() and (key[0] != "0" or key == "0"):
        return f"{_half(kind)}{int(key):016x}"
    return blake2b(f"{len(kind)}:{kind}{key}".encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=_REMEMBERED)
def _half(kind: str) -> str:
    return blake2b(f"numbers of {kind}".encode(), digest_size=8).hexdigest()


def _extra(job: NewJob, unique_for: int | None) -> str | None:
    """What the store keeps but never decides by, as one text; None for most jobs."""
    extra: dict[str, Any] = {}
    if job.unique is not None:
        extra["unique"] = job.unique
    if unique_for is not None:
        extra["unique_for"] = unique_for
    if job.group is not None and job.order != "strict":
        extra["order"] = job.order
    if job.timeout is not None:
        timeout = _span(job.timeout, "timeout")
        if timeout == 0:
            raise FieldError(
                "timeout", "must be longer than zero", job.timeout, "leave it out for no timeout"
            )
        extra["timeout"] = timeout
    if job.tags:
        extra["tags"] = _tags(job.tags)
    if job.meta:
        extra["meta"] = _texts(job.meta, "meta")
    return _spelled(extra) if extra else None


def _spelled(extra: dict[str, Any]) -> str:
    """As ASCII text; msgspec spells it many times faster, but leaves other letters as they are."""
    text = _quick(extra)
    return text.decode() if text.isascii() else json.dumps(extra, separators=(",", ":"))


def _tags(tags: Sequence[str]) -> list[str]:
    if isinstance(tags, str) or not isinstance(tags, Collection):
        raise FieldTypeError("tags", "must be a list of text", tags, 'write ["one", "two"]')
    if len(tags) > MAX_TAGS:
        raise FieldError("tags", f"must be at most {MAX_TAGS}", len(tags))
    return [_key(tag, "tags", MAX_NAME) for tag in tags]


def _texts(values: Mapping[str, str], name: str) -> dict[str, str]:
    if type(values) is not dict and not isinstance(values, Mapping):
        raise FieldTypeError(name, "must map text to text", values)
    return {_key(k, name, MAX_NAME): _text(v, name, k) for k, v in values.items()}


def _text(value: object, name: str, key: str) -> str:
    if type(value) is str and len(value) <= MAX_KEY and value.isascii() and "\x00" not in value:
        return value
    return _key(value, f"{name}.{key}")


def _request(request: Request | None) -> Request | None:
    if request is None:
        return None
    if not isinstance(request, Request):
        raise FieldTypeError("request", "must be a Request", request, "tenure.Request(body, headers)")
    if not isinstance(request.body, (bytes, bytearray, memoryview)):
        raise FieldTypeError("request.body", "must be bytes", request.body)
    return Request(bytes(request.body), _texts(request.headers, "request.headers"))
