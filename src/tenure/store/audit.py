"""add_audit, begin_audit, progress_audit, audits: what people did, who they were, and how much it came to. No row is ever changed.

What takes more than one transaction has a row when it begins and another when it ends, so that a process that is killed on
its way leaves the first. The two have one id but for what says which they are, its last eight digits: they are drawn by lot in a
UUIDv7, behind the time and a counter, so that what begins stands in its place among the others, also within a millisecond. How far
it is meanwhile is a note.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import UNSET, Struct
from msgspec.json import decode, encode

from tenure.clock import from_micros
from tenure.job import JobId
from tenure.store.notes import set_note
from tenure.store.plan import Plan, Statement

__all__ = ["AuditSeen", "add_audit", "audits", "begin_audit", "begins", "begun_as", "progress_audit"]

_PLACE: Final = 28
_BEGINS, _ENDS = "bbbbbbbb", "eeeeeeee"


class AuditSeen(Struct, frozen=True, kw_only=True):
    """One thing that somebody did: the action, on what, to how many jobs, and what they were told.

    `ended_at` is None of what has begun and has no end that is known: it goes on, or its process was killed. `count` and
    `said` then tell how far it had come when it last said so.
    """

    id: str
    at: datetime
    who: str
    action: str
    what: str
    count: int
    said: str
    ended_at: datetime | None


class _Far(Struct, frozen=True):
    """How far something is that goes on."""

    count: int
    said: str


def begun_as(entry: JobId) -> JobId:
    """The id of what begins, from one that is fresh."""
    return _marked(entry, _BEGINS)


def begins(entry: str) -> bool:
    """Whether it is the id of something that began, and has an end of its own."""
    return entry[_PLACE:] == _BEGINS


def add_audit(
    entry: JobId,
    who: str,
    action: str,
    what: str,
    count: int,
    said: str,
    *,
    ends: JobId | None,
    now: int | None,
) -> Plan[None]:
    """Keep it, as the end of what began or by itself; an entry that is there already, because the answer was lost, stays as it is."""
    at = entry if ends is None else _marked(ends, _ENDS)
    params = {"id": at, "who": who, "action": action, "what": what, "count": count, "said": said, "now": now}
    yield Statement("add_audit", params, alone=ends is None)
    if ends is not None:
        yield from set_note(_note(ends), None, expect=UNSET, keep=None, now=now)


def begin_audit(entry: JobId, who: str, action: str, what: str, *, now: int | None) -> Plan[str]:
    """Keep that it begins, under an id that `begun_as` made."""
    yield from add_audit(entry, who, action, what, 0, "", ends=None, now=now)
    return entry


def progress_audit(begun: JobId, count: int, said: str, *, now: int | None) -> Plan[None]:
    """Put down how far it is, in the place of what was said before."""
    text = encode(_Far(count, said)).decode()
    yield from set_note(_note(begun), text, expect=UNSET, keep=None, now=now)


def audits(limit: int, before: JobId | None) -> Plan[list[AuditSeen]]:
    """The last of them, newest first."""
    answer = yield Statement("audits", {"before": before, "limit": limit}, alone=True, reads=True)
    return [_seen(*row) for row in answer.rows]


def _seen(
    entry: str,
    at: int,
    who: str,
    action: str,
    what: str,
    count: int,
    said: str,
    ended: int | None,
    far: str | None,
) -> AuditSeen:
    if not begins(entry):
        ended = at
    elif ended is None and far is not None:
        told = decode(far, type=_Far)
        count, said = told.count, told.said
    return AuditSeen(
        id=entry, at=from_micros(at), who=who, action=action, what=what, count=count, said=said,
        ended_at=None if ended is None else from_micros(ended),
    )  # fmt: skip


def _marked(entry: JobId, mark: str) -> JobId:
    return JobId(entry[:_PLACE] + mark)


def _note(begun: JobId) -> str:
    return f"audit.{begun}"
