"""Actions that go on after they were answered, and how far they are: /api/acts/NAME."""

from __future__ import annotations

from typing import Any

from tenure.dashboard.access import Refused
from tenure.dashboard.desk import Asked

__all__ = ["acts"]


async def acts(asked: Asked) -> dict[str, Any]:
    """One of the last."""
    bulk = asked.desk.bulks.get(asked.request.path_params["name"])
    if bulk is None:
        raise Refused(404, "no action of this name goes on here")
    said = bulk.told() if bulk.over else bulk.said()
    return {"done": bulk.done + bulk.beside, "more": not bulk.over, "said": said}
