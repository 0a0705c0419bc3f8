"""The queues: /api/queues."""

from __future__ import annotations

import asyncio
from typing import Any

from tenure.dashboard.desk import Asked
from tenure.dashboard.present import picture
from tenure.dashboard.rows import when

__all__ = ["queues"]


async def queues(asked: Asked) -> dict[str, Any]:
    """Each with its depth, rate and age, and since when it is paused."""
    queue = await asked.desk.queue()
    seen, paused = await asyncio.gather(picture(asked.desk), queue.paused())
    rows = [{**row, "paused": row["name"] in paused, "paused_at": when(paused.get(row["name"]))} for row in seen["queues"]]  # fmt: skip
    return {"queues": rows, "more": seen["now"]["more"]}
