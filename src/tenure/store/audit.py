"""add_audit, audits: what people did, who they were, and how much it came to. Nothing here is ever changed."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenure.clock import from_micros
from tenure.job import JobId
from tenure.store.plan import Plan, Statement

__all__ = ["AuditSeen", "add_audit", "audits"]


class AuditSeen(Struct, frozen=True, kw_only=True):
    """One thing that somebody did: the action, on what, to how many jobs, and what they were told."""

    id: str
    at: datetime
    who: str
    action: str
    what: str
    count: int
    said: str


def add_audit(
    entry: JobId, who: str, action: str, what: str, count: int, said: str, *, now: int | None
) -> Plan[None]:
    """Keep it; an entry that is there already, because the answer was lost, stays as it is."""
    params = {"id": entry, "who": who, "action": action, "what": what, "count": count, "said": said}
    yield Statement("add_audit", {**params, "now": now}, alone=True)


def audits(limit: int, before: JobId | None) -> Plan[list[AuditSeen]]:
    """The last of them, newest first."""
    answer = yield Statement("audits", {"before": before, "limit": limit}, alone=True, reads=True)
    return [
        AuditSeen(id=i, at=from_micros(at), who=who, action=action, what=what, count=count, said=said)
        for i, at, who, action, what, count, said in answer.rows
    ]
