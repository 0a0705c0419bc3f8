"""What handles deliveries: one interface, whether in the request (sync sources) or in a job (async ones).

A handler is named in a source's settings as "name" or "name:argument" and made once for that source. What `handle`
returns is, for a sync source, the JSON that is answered (an object; anything else is answered as done), and for an async
one the job's result. What it raises is, for a sync source, 503 (`GaveUp` and `Bury`: 200, for it would never work); in a job, what
it is for any job: `Snooze`, `RetryIn`, `Bury` and errors all mean what they mean there.
"""

from __future__ import annotations

from typing import Any, Protocol

from tenure.app import App
from tenure.context import Context
from tenure.gateway.delivery import Delivery
from tenure.gateway.settings import SourceSettings

__all__ = ["GaveUp", "Handler", "Misfit"]


class GaveUp(Exception):
    """A sync source's delivery cannot be handled, now or ever: there is nothing more to do, and the sender need not try again."""


class Misfit(Exception):
    """The delivery is not what the handler takes; trying again would not help."""


class Handler(Protocol):
    """Handles the deliveries of one source."""

    def __init__(
        self, app: App, settings: SourceSettings, argument: str, *, inline: bool = False, store: bool = True
    ) -> None:
        """`inline`: secrets may stand in the settings themselves; `store`: the app has one that may be used."""
        ...

    def problems(self) -> list[str]:
        """What keeps it from working, one sentence each, without a full stop."""
        ...

    def secrets(self) -> list[tuple[str | None, str | None]]:
        """What it needs to send on, looked up now: each secret, or why it cannot be used."""
        ...

    def asks_store(self) -> bool:
        """Whether it asks the store while it handles: then a gateway whose store is away is not ready."""
        ...

    async def handle(self, delivery: Delivery, context: Context) -> Any:
        """Handle one; `context.claimed` tells whether a worker runs it."""
        ...
