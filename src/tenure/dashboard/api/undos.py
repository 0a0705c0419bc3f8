"""The last retries and discards that can still be undone: /api/undos, for operators, who alone can undo them."""

from __future__ import annotations

from typing import Any, Final

from tenure.dashboard.access import Refused
from tenure.dashboard.acting import UNDONE, Bulk
from tenure.dashboard.desk import Asked
from tenure.dashboard.rows import when
from tenure.filters import Filter
from tenure.query import format as written

__all__ = ["undos"]

_NAMED: Final = 3
"""Of jobs that were named one by one so many are told."""
_BY: Final = {action: undo for undo, action in UNDONE.items()}


async def undos(asked: Asked) -> dict[str, Any]:
    """Newest first, each with the action and the name that undo it; what was undone is left out."""
    if asked.session.role != "operator":
        raise Refused(403, "viewers can look, and undo nothing")
    rows = [
        {
            "name": bulk.name,
            "action": bulk.action,
            "undo": _BY[bulk.action],
            "what": _what(bulk),
            "count": bulk.done,
            "said": bulk.said(),
            "more": bulk.goes_on,
            "at": when(bulk.began),
        }
        for bulk in reversed(asked.desk.undos.values())
        if bulk.undo is not None
    ]
    return {"undos": rows}


def _what(bulk: Bulk) -> str:
    """The filter it was about, or the first of the jobs."""
    ids = list(bulk.which.ids or ())
    if len(ids) <= _NAMED:
        return written(bulk.which)
    return f"{written(Filter(ids=ids[:_NAMED]))}, …"
