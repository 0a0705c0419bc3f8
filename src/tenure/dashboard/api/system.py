"""What doctor finds: /api/system. Telegram is asked about the bots of a gateway in this process; of others the store knows what they
were sent. It looks at more than other pages do, so its answer is kept for a while."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import tenure
from tenure.dashboard.api.me import store_of
from tenure.dashboard.desk import Asked, Desk

__all__ = ["system"]

_FRESH: Final = 10.0


async def system(asked: Asked) -> dict[str, Any]:
    """The findings, the worst first, each with its fix."""
    desk = asked.desk
    findings = await desk.kept("doctor", _FRESH, lambda: _findings(desk))
    return {"version": tenure.__version__, "store": store_of(desk), "findings": findings}


async def _findings(desk: Desk) -> list[dict[str, str]]:
    from tenure.doctor import examine

    config = None if desk.gateway is None else desk.gateway.registry.settings
    found = await asyncio.to_thread(examine, desk.app.url, config=config)
    return [{"level": one.level, "check": one.check, "found": one.found, "fix": one.fix} for one in reversed(found)]  # fmt: skip
