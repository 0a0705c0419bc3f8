"""The verbs of the audit: what people did to jobs, queues and schedules."""

from __future__ import annotations

from tenure.client.arguments import limit_of
from tenure.client.call import Call
from tenure.errors import FieldError
from tenure.job import JobId
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
        self,
        who: str,
        action: str,
        what: str = "",
        *,
        count: int = 0,
        said: str = "",
        ends: str | None = None,
    ) -> Call[None]:
        """Keep that somebody did something: to what, to how many, and what came of it in a sentence. Kept for ever.

        `ends` is what `begin_audit` answered, of what has come to its end with this; who ends it twice ends it once.
        """
        name, verb, now = check_name(who, "who"), check_name(action, "action"), self._now()
        many = check_whole(count, "count", 0, _MOST)
        about, told, entry = clean_error(what, _TEXT), clean_error(said, _TEXT), new_id()
        begun = None if ends is None else _begun(ends, "ends")
        return Call(lambda _: audit.add_audit(entry, name, verb, about, many, told, ends=begun, now=now))

    def begin_audit(self, who: str, action: str, what: str = "") -> Call[str]:
        """Keep that somebody begins something, before it changes anything, so that it is known whatever becomes of them.

        The answer is for `progress_audit`, and for `add_audit(…, ends=…)` when it is over.
        """
        name, verb, now = check_name(who, "who"), check_name(action, "action"), self._now()
        about, entry = clean_error(what, _TEXT), audit.begun_as(new_id())
        return Call(lambda _: audit.begin_audit(entry, name, verb, about, now=now))

    def progress_audit(self, begun: str, *, count: int, said: str) -> Call[None]:
        """Say how far something is that `begin_audit` began: that much is known if it comes to no end."""
        entry, now = _begun(begun, "begun"), self._now()
        many, told = check_whole(count, "count", 0, _MOST), clean_error(said, _TEXT)
        return Call(lambda _: audit.progress_audit(entry, many, told, now=now))

    def audits(self, *, limit: int = 100, before: str | None = None) -> Call[list[AuditSeen]]:
        """What people did, newest first; go on with the `id` of the last one as `before`."""
        most, start = limit_of(limit), None if before is None else check_id(before, "before")
        return Call(lambda _: audit.audits(most, start), reads=True)


def _begun(value: str, name: str) -> JobId:
    entry = check_id(value, name)
    if not audit.begins(entry):
        raise FieldError(name, "must be what begin_audit answered", value)
    return entry
