"""A schedule before it is stored, as it stands in the store, and as people see it.

A schedule is a name, a time (cron, zone, what becomes of missed fires) and a job to make: kind, payload and options. It is
checked at the door like the job itself; what was stored is checked again when it is read, since zones and rules change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from tenure.clock import from_micros
from tenure.cron import Cron, Missed, check_missed, due, upcoming
from tenure.duration import micros, parse
from tenure.errors import FieldError
from tenure.job import JobId, decode_text
from tenure.newjob import NewJob, Row, check, check_name
from tenure.payload import encode

__all__ = ["Fired", "ScheduleSeen", "Source", "StoredSchedule", "spec_of"]

Source = Literal["code", "runtime"]
_SPANS = ("expires_in", "timeout")
_MADE = 5
_DEFAULTS = NewJob(kind="any")
_cron = lru_cache(maxsize=1_024)(Cron)


class Fired(NamedTuple):
    """One fire of a schedule, and the job that it made."""

    name: str
    fire_at: datetime
    id: JobId


class ScheduleSeen(Struct, frozen=True, kw_only=True):
    """One schedule as it stood when it was read.

    `next_at` is None while it is paused. `problem` says why it cannot fire: its stored text is not understood here.
    """

    name: str
    cron: str
    tz: str
    missed: str | int
    kind: str
    payload_text: str
    options: Mapping[str, Any]
    source: str
    created_at: datetime
    updated_at: datetime
    since: datetime
    """Nothing that fell due before this is fired."""
    fired_at: datetime | None
    paused_at: datetime | None
    next_at: datetime | None
    problem: str | None
    made: Sequence[JobId] = ()
    """The last jobs that it made, by fires and by hand, newest first, five at most; they may be gone by now."""

    @property
    def payload(self) -> Any:
        """What its jobs carry, decoded anew at every look."""
        return decode_text(self.payload_text)

    @property
    def queue(self) -> str:
        """Where its jobs go."""
        return str(self.options.get("queue", _DEFAULTS.queue))

    @property
    def due_at(self) -> datetime | None:
        """When the first fire that nobody did was to be, or the next: of many that were missed only the last may be made up for."""
        if self.next_at is None or self.missed == "skip":
            return self.next_at
        last = self.since if self.fired_at is None else max(self.since, self.fired_at)
        return min(self.next_at, _cron(self.cron, self.tz).next(last))


class StoredSchedule(NamedTuple):
    """A schedule's row, in the order of its columns, and the store's time."""

    name: str
    cron: str
    tz: str
    missed: str
    kind: str
    payload: str
    options: str
    source: str
    created_at: int
    updated_at: int
    since: int
    fired_at: int | None
    paused_at: int | None
    made: str
    now: int

    def due(self) -> list[datetime]:
        """What is to be fired now."""
        return due(_cron(self.cron, self.tz), self._last, from_micros(self.now), self._missed)

    def next_at(self) -> datetime | None:
        """When it fires next; None while it is paused."""
        if self.paused_at is not None:
            return None
        return upcoming(_cron(self.cron, self.tz), self._last, from_micros(self.now), self._missed)

    def row(self, fire_at: datetime, limit: int, given: JobId | None = None) -> Row:
        """The job that a fire at this time makes."""
        options = json.loads(self.options)
        return check(_job(self.name, fire_at, self.kind, json.loads(self.payload), options), limit, given)

    def seen(self, limit: int) -> ScheduleSeen:
        """As people see it, whatever its texts say."""
        next_at, problem = None, None
        options: Any = {}
        missed: str | int = self.missed
        try:
            options = json.loads(self.options)
            missed = self._missed
            next_at = self.next_at()
            self.row(from_micros(self.now), limit)
        except Exception as error:
            next_at, problem = None, str(error)
        return ScheduleSeen(
            name=self.name,
            cron=self.cron,
            tz=self.tz,
            missed=missed,
            kind=self.kind,
            payload_text=self.payload,
            options=options if isinstance(options, dict) else {},
            source=self.source,
            created_at=from_micros(self.created_at),
            updated_at=from_micros(self.updated_at),
            since=from_micros(self.since),
            fired_at=None if self.fired_at is None else from_micros(self.fired_at),
            paused_at=None if self.paused_at is None else from_micros(self.paused_at),
            next_at=next_at,
            problem=problem,
            made=tuple(map(JobId, self.made.split()[:_MADE])),
        )

    @property
    def _last(self) -> datetime:
        return from_micros(self.since if self.fired_at is None else max(self.since, self.fired_at))

    @property
    def _missed(self) -> Missed:
        return check_missed(int(self.missed) if self.missed.isdecimal() else self.missed)


def spec_of(
    name: object,
    cron: str,
    kind: str,
    payload: Any,
    options: Mapping[str, Any],
    *,
    tz: str,
    missed: object,
    source: object,
    limit: int,
) -> dict[str, Any]:
    """A schedule's spec as the statement `schedule` takes it; raises for the first rule it breaks."""
    known = check_name(name, "name")
    when = Cron(cron, tz)
    if source not in ("code", "runtime"):
        raise FieldError("source", 'must be "code" or "runtime"', source)
    # Any moment will do to see whether the job can be stored.
    check(_job(known, from_micros(0), kind, payload, options), limit)
    kept = {k: _kept(k, v) for k, v in options.items()}
    said = {k: v for k, v in kept.items() if v != _kept(k, getattr(_DEFAULTS, k))}
    return {
        "name": known,
        "cron": when.expression,
        "tz": when.tz,
        "missed": str(check_missed(missed)),
        "kind": kind,
        "payload": encode(payload, "payload", limit),
        "options": json.dumps(said, sort_keys=True),
        "source": source,
    }


def _job(name: str, fire_at: datetime, kind: str, payload: Any, options: Mapping[str, Any]) -> NewJob:
    meta = options.get("meta", {})
    mark = {"schedule": name, "fire_at": fire_at.isoformat()}
    if isinstance(meta, Mapping):
        if taken := mark.keys() & meta.keys():
            raise FieldError(
                "meta", "must not name what every fire sets itself", min(taken), "choose another key"
            )
        meta = {**meta, **mark}
    return NewJob(kind=kind, payload=payload, **{**options, "meta": meta})


def _kept(name: str, value: Any) -> Any:
    """An option as JSON keeps it; lengths of time are seconds."""
    if value is None:
        return None
    if name in _SPANS:
        whole, rest = divmod(micros(parse(value, name)), 1_000_000)
        return whole + rest / 1_000_000 if rest else whole
    if name == "tags":
        return list(value)
    return dict(value) if name == "meta" else value
