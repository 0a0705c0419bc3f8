"""One job and all that belongs to it: /api/jobs/ID."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, Final

from tenure.dashboard.access import Refused
from tenure.dashboard.desk import LOOK, Asked
from tenure.dashboard.rows import attempt_of, ended_before, job_of, request_of, row_of
from tenure.dashboard.series import now
from tenure.filters import Filter
from tenure.job import JobSeen

__all__ = ["job"]

_CHILDREN: Final = 100
_AFTER: Final = timedelta(minutes=1)


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
        queue.list(Filter(parent=seen.id), limit=_CHILDREN, before=_just_after(seen), look=LOOK),
    )
    mask = asked.mask
    return {
        **job_of(seen, mask),
        "history": [attempt_of(one) for one in history],
        "explain": str(explained),
        "explain_code": explained.code,
        "request": request_of(request, mask),
        "children": [row_of(child) for child in children],
    }


def _just_after(seen: JobSeen) -> str:
    """Where in the order of ids its children end: they are made while it runs, and ids tell the time."""
    return ended_before((seen.finished_at or now()) + _AFTER)
