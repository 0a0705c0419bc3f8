"""The jobs of one flow: /api/flow/FLOW?before=…"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.desk import LOOK, Asked
from tenure.dashboard.rows import attempt_of, row_of
from tenure.filters import Filter
from tenure.job import JobSeen

__all__ = ["MOST", "flow", "with_runs"]

MOST: Final = 500
_FRESH: Final = 1.0
_AGAIN: Final = 100
"""Of how many jobs that ran more than once the earlier runs are told, the newest first: each costs a look."""
_TOLD: Final = ("epoch", "attempt", "started_at", "finished_at", "outcome")


async def flow(asked: Asked) -> dict[str, Any]:
    """Up to 500 of them, oldest first, each with its parent and the runs that failed; `before` leads to older ones."""
    queue, name = await asked.desk.queue(), asked.request.path_params["flow"]
    before = asked.said("before") or None
    told: dict[str, Any] = await asked.desk.kept(
        ("flow", name, before), _FRESH, lambda: _flow(queue, name, before)
    )
    return told


async def _flow(queue: AsyncQueue, name: str, before: str | None) -> dict[str, Any]:
    page = await queue.list(Filter(flow=name), limit=MOST, before=before, look=LOOK * 5)
    return {"jobs": await with_runs(queue, [*reversed(page)]), "before": page.before}


async def with_runs(queue: AsyncQueue, jobs: Sequence[JobSeen]) -> list[dict[str, Any]]:
    """Jobs in the order of their ids, each with its parent and the runs that failed."""
    # Each claim is an epoch: what was claimed once has no run but the one that its own row tells.
    again = [job for job in reversed(jobs) if job.epoch > 1][:_AGAIN]
    runs = dict(zip((job.id for job in again), await asyncio.gather(*(_runs(queue, job) for job in again)), strict=True))  # fmt: skip
    return [{**row_of(job), "parent": job.parent, "history": runs.get(job.id, [])} for job in jobs]


async def _runs(queue: AsyncQueue, job: JobSeen) -> list[dict[str, Any]]:
    told = map(attempt_of, await queue.history(job.id))
    return [{name: one[name] for name in _TOLD} for one in told]
