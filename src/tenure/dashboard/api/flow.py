"""The jobs of one flow: /api/flow/FLOW."""

from __future__ import annotations

from typing import Any, Final

from tenure.dashboard.desk import LOOK, Asked
from tenure.dashboard.rows import row_of
from tenure.filters import Filter

__all__ = ["flow"]

_MOST: Final = 500


async def flow(asked: Asked) -> dict[str, Any]:
    """Up to 500 of them, oldest first, each with its parent."""
    queue = await asked.desk.queue()
    page = await queue.list(Filter(flow=asked.request.path_params["flow"]), limit=_MOST, look=5 * LOOK)
    rows = [{**row_of(job), "parent": job.parent} for job in reversed(page)]
    return {"jobs": rows, "more": page.before is not None}
