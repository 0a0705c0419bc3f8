"""One job and all that belongs to it: /api/jobs/ID."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.access import Refused
from tenure.dashboard.desk import LOOK, Asked
from tenure.dashboard.rows import attempt_of, commands_of, job_of, request_of, row_of
from tenure.filters import Filter
from tenure.store.search import Page

__all__ = ["job"]

_CHILDREN: Final = 100
_FRESH: Final = 1.0


async def job(asked: Asked) -> dict[str, Any]:
    """The job, its attempts, its request, its children, and why it is not running."""
    queue, given = await asked.desk.queue(), asked.request.path_params["id"]
    seen = await queue.get(given)
    if seen is None:
        raise Refused(404, "no job has this id: it was never stored, or it was deleted since")
    history, explained, request, children = await asyncio.gather(
        queue.history(seen.id),
        queue.explain(seen.id),
        queue.request(seen.id),
        asked.desk.kept(("children", seen.id), _FRESH, lambda: _children(queue, seen.id)),
    )
    mask = asked.mask
    return {
        **job_of(seen, mask),
        "cli": commands_of(seen, asked.desk.app.url),
        "history": [attempt_of(one) for one in history],
        "explain": str(explained),
        "explain_code": explained.code,
        "request": request_of(request, mask),
        "children": [row_of(child) for child in children],
        "more_children": children.before is not None,
    }


async def _children(queue: AsyncQueue, job_id: str) -> Page:
    """The newest of them."""
    return await queue.list(Filter(parent=job_id), limit=_CHILDREN, look=LOOK * 5)
