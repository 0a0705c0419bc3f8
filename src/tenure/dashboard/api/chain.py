"""The jobs that belong together by their parents, with or without a flow: /api/chain/ID, for any of them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.access import Refused
from tenure.dashboard.api.flow import MOST, with_runs
from tenure.dashboard.desk import LOOK, Asked
from tenure.filters import Filter
from tenure.job import JobSeen
from tenure.store.search import Page

__all__ = ["chain"]

_FRESH: Final = 2.0
_UP: Final = 50
"""How many parents are climbed at most."""
_LOOKS, _AT_ONCE = 300, 8
"""Of how many jobs the children are looked for, and of how many at a time."""


async def chain(asked: Asked) -> dict[str, Any]:
    """The first of them that is still there, and what came of it: up to 500 jobs, oldest first; `more`: there may be others."""
    queue, given = await asked.desk.queue(), asked.request.path_params["id"]
    told: dict[str, Any] = await asked.desk.kept(("chain", given), _FRESH, lambda: _chain(queue, given))
    return told


async def _chain(queue: AsyncQueue, given: str) -> dict[str, Any]:
    seen = await queue.get(given)
    if seen is None:
        raise Refused(404, "no job has this id: it was never stored, or it was deleted since")
    root, more = await _first(queue, seen)
    found, late = await _under(queue, root)
    jobs = sorted(found.values(), key=lambda job: job.id)
    return {"jobs": await with_runs(queue, jobs), "root": root.id, "more": more or late}


async def _first(queue: AsyncQueue, job: JobSeen) -> tuple[JobSeen, bool]:
    """Whose parent is nobody that is still there; whether that is still to be seen."""
    climbed = {job.id}
    for _ in range(_UP):
        parent = None if job.parent is None or job.parent in climbed else await queue.get(job.parent)
        if parent is None:
            return job, False
        climbed.add(parent.id)
        job = parent
    return job, job.parent is not None


async def _under(queue: AsyncQueue, root: JobSeen) -> tuple[dict[str, JobSeen], bool]:
    """A job and all that came of it, generation by generation; whether there may be more."""
    found: dict[str, JobSeen] = {root.id: root}
    parents, looks, more = [root.id], 0, False
    while parents and looks < _LOOKS and len(found) < MOST:
        some, parents = parents[:_AT_ONCE], parents[_AT_ONCE:]
        looks += len(some)
        left = MOST - len(found)
        for page in await asyncio.gather(*(_children(queue, one, left) for one in some)):
            fresh = [job for job in page if job.id not in found]
            taken = fresh[: MOST - len(found)]
            more = more or page.before is not None or len(taken) < len(fresh)
            found |= {job.id: job for job in taken}
            parents += [job.id for job in taken]
    return found, more or bool(parents)


async def _children(queue: AsyncQueue, parent: str, most: int) -> Page:
    return await queue.list(Filter(parent=parent), limit=most, look=LOOK * 5)
