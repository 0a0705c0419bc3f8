"""How things stand and how they went: /api/overview?span=1h."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from tenure.dashboard.desk import Asked, Desk
from tenure.dashboard.present import picture
from tenure.dashboard.series import SPANS, span_of
from tenure.dashboard.watched import watched
from tenure.dashboard.wrong import wrong
from tenure.errors import TenureError

__all__ = ["overview", "warm"]

log = logging.getLogger("tenure.dashboard")
_FRESH: Final = 2.0
_USUAL: Final = "1h"


async def overview(asked: Asked) -> dict[str, Any]:
    """Figures over time, figures of now, and what is wrong in words."""
    drawn, seen, lately = await asyncio.gather(
        _drawn(asked.desk, asked.said("span", _USUAL)), picture(asked.desk), watched(asked.desk)
    )
    return {**drawn, "now": seen["now"], "wrong": wrong(seen, lately), "queues": seen["queues"]}


async def warm(desk: Desk) -> None:
    """Read what is drawn before anybody asks, for that takes longest: afterwards only what is new is read."""
    try:
        await desk.figures.series(await desk.queue(), span_of(_USUAL))
        await watched(desk)
        for span in SPANS.values():
            await desk.figures.series(await desk.queue(), span)
    except TenureError as error:
        log.debug("no figures yet: %s", error)


async def _drawn(desk: Desk, name: str) -> dict[str, Any]:
    span, queue = span_of(name), await desk.queue()
    drawn: dict[str, Any] = await desk.kept(
        ("series", name), _FRESH, lambda: desk.figures.series(queue, span)
    )
    return drawn
