"""How things stand and how they went: /api/overview?span=1h."""

from __future__ import annotations

import asyncio
from typing import Any

from tenure.dashboard.desk import Asked
from tenure.dashboard.present import picture
from tenure.dashboard.series import series, span_of
from tenure.dashboard.wrong import wrong

__all__ = ["overview"]

_FRESH = 2.0


async def overview(asked: Asked) -> dict[str, Any]:
    """Figures over time, figures of now, and what is wrong in words."""
    desk, name = asked.desk, asked.said("span", "1h")
    span, queue = span_of(name), await desk.queue()
    drawn, seen = await asyncio.gather(
        desk.kept(("series", name), _FRESH, lambda: series(queue, span)), picture(desk)
    )
    return {**drawn, "now": seen["now"], "wrong": wrong(seen), "queues": seen["queues"]}
