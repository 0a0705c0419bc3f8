"""The workers that live: /api/workers."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from tenure.dashboard.desk import Asked
from tenure.dashboard.present import about, picture
from tenure.dashboard.rows import row_of, when

__all__ = ["workers"]

_RUNNING: Final = 500
_EACH: Final = 7
"""Of each worker; one more than is shown."""
_FRESH: Final = 1.0


async def workers(asked: Asked) -> dict[str, Any]:
    """Each with what it says of itself, and those of the jobs that it runs which have run longest."""
    queue = await asked.desk.queue()
    seen, running = await asyncio.gather(
        picture(asked.desk),
        asked.desk.kept("running", _FRESH, lambda: queue.running(limit=_RUNNING, each=_EACH)),
    )
    rows = []
    for worker in seen["workers"]:
        said = about(worker)
        rows.append({
            "id": worker.id,
            "started_at": when(worker.started_at),
            "seen_at": when(worker.seen_at),
            "queues": worker.queues,
            "kinds": worker.kinds,
            "slots": said["slots"],
            "busy": said["running"],
            "lines": said["lines"],
            "about": said,
            "jobs": [row_of(job) for job in running if job.worker == worker.id],
        })  # fmt: skip
    return {"workers": rows}
