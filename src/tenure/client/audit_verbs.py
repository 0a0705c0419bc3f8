"""The verbs of the audit: what people did to jobs, queues and schedules."""

from __future__ import annotations

from tenure.client.arguments import limit_of
from tenure.client.call import Call
from tenure.newjob import check_id, check_name, check_whole, new_id
from tenure.payload import clean_error
from tenure.store import audit
from tenure.store.audit import AuditSeen

__all__ = ["AuditVerbs"]

_MOST = 2**53
_TEXT = 2_000


class AuditVerbs:
    """What can be done with the audit: add to it, and read it."""

    def _now(self) -> int | None:
        raise NotImplementedError

    def add_audit(
        self, who: str, action: str, what: str = "", *, count: int = 0, said: str = ""
    ) -> Call[None]:
        """Keep that somebody did something: to what, to how many, and what came of it in a sentence. Kept for ever."""
        name, verb, now = check_name(who, "who"), check_name(action, "action"), self._now()
        many = check_whole(count, "count", 0, _MOST)
        about, told, entry = clean_error(what, _TEXT), clean_error(said, _TEXT), new_id()
        return Call(lambda _: audit.add_audit(entry, name, verb, about, many, told, now=now))

    def audits(self, *, limit: int = 100, before: str | None = None) -> Call[list[AuditSeen]]:
        """What people did, newest first; go on with the `id` of the last one as `before`."""
        most, start = limit_of(limit), None if before is None else check_id(before, "before")
        return Call(lambda _: audit.audits(most, start), reads=True)
