"""What people did: /api/audit?before=…"""

from __future__ import annotations

from typing import Any, Final

from tenure.dashboard.desk import Asked
from tenure.dashboard.rows import when

__all__ = ["audit"]

_PAGE: Final = 100


async def audit(asked: Asked) -> dict[str, Any]:
    """Newest first, a hundred at a time."""
    queue = await asked.desk.queue()
    found = await queue.audits(limit=_PAGE, before=asked.said("before") or None)
    rows = [
        {"id": one.id, "at": when(one.at), "who": one.who, "action": one.action, "what": one.what, "count": one.count, "said": one.said}
        for one in found
    ]  # fmt: skip
    return {"entries": rows, "before": found[-1].id if len(found) == _PAGE else None}
