"""What people did: /api/audit?before=…

A filter is kept as it was said, also with values that viewers could not have asked for: these are shown to them as stars, and of
what cannot be read nothing is. A refusal tells what was refused, and is shown to them without it. What began and has no end
that is known has none as `ended`: it goes on, or its process was killed.
"""

from __future__ import annotations

from typing import Any, Final

from tenure.dashboard.desk import Asked
from tenure.dashboard.masking import STARS, Mask
from tenure.dashboard.rows import when
from tenure.query.fields import PAYLOAD
from tenure.store.audit import AuditSeen

__all__ = ["audit"]

_PAGE: Final = 100
_REFUSED: Final = "refused"
_OF_FILTERS: Final = frozenset(("retry", "cancel", "purge", "discard", "restore", "unreplay"))
"""Actions whose `what` is a filter, well written or not; that of others is a name, or what tools of your own say."""


async def audit(asked: Asked) -> dict[str, Any]:
    """Newest first, a hundred at a time."""
    queue, mask = await asked.desk.queue(), asked.mask
    found = await queue.audits(limit=_PAGE, before=asked.said("before") or None)
    rows = [_row(one, mask) for one in found]
    return {"entries": rows, "before": found[-1].id if len(found) == _PAGE else None}


def _row(one: AuditSeen, mask: Mask) -> dict[str, Any]:
    said = _REFUSED if mask and one.said.startswith(f"{_REFUSED}: ") else one.said
    return {"id": one.id, "at": when(one.at), "ended": when(one.ended_at), "who": one.who, "action": one.action, "what": _what(one, mask), "count": one.count, "said": said}  # fmt: skip


def _what(one: AuditSeen, mask: Mask) -> str:
    shown = mask.asked(one.what)
    if shown is not None:
        return shown
    return STARS if one.action in _OF_FILTERS or PAYLOAD in one.what else one.what
