"""What every page of the dashboard stands on: the app's queue, the settings, who asks, and answers kept for a moment."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request

from tenure.app import App
from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.access import Access, Session
from tenure.dashboard.masking import Mask
from tenure.dashboard.series import Figures
from tenure.dashboard.settings import DashboardSettings

if TYPE_CHECKING:
    from tenure.dashboard.acting import Bulk
    from tenure.gateway.asgi import Gateway

__all__ = ["CAP", "LOOK", "Asked", "Desk"]

CAP: Final = 10_000
"""The most that is counted."""
LOOK: Final = 10_000
"""About how many jobs a filter is held against, before the page says that there may be more."""
_KEPT: Final = 200
_CALM: Final = 40
"""How many times as long as it took an answer is kept at least: so that no page costs the store more than a fortieth of its time."""
_LONGEST: Final = 5.0
"""And for how many seconds at most, for that reason."""


class Desk:
    """One dashboard. Whoever asks for the same within a moment is given the same answer, and the store is asked once."""

    def __init__(self, app: App, settings: DashboardSettings, gateway: Gateway | None) -> None:
        self.app, self.settings, self.gateway = app, settings, gateway
        self.access = Access(settings)
        self.leaving = False
        """Told to stop: live streams end."""
        self.streams = 0
        self.figures = Figures()
        self.failed: dict[str, bool | None] = {}
        """Whether each schedule failed when last run, as far as it is known; those looked at longest ago first."""
        self.checking = asyncio.Semaphore(2)
        """Passwords at a time: a check takes 32 MiB and a while of processor time."""
        self.tasks: set[asyncio.Task[Any]] = set()
        """Actions on many jobs that go on after they were answered."""
        self.bulks: OrderedDict[str, Bulk] = OrderedDict()
        """The last of these, by name, and how far they are."""
        self.undos: OrderedDict[str, Bulk] = OrderedDict()
        """The last retries and discards, by name, for who wants to undo one."""
        self._answers: OrderedDict[object, tuple[float, asyncio.Future[Any]]] = OrderedDict()

    async def queue(self) -> AsyncQueue:
        """The queue, opened when first asked for."""
        return await self.app.aqueue()

    async def kept(self, key: object, seconds: float, make: Callable[[], Awaitable[Any]]) -> Any:
        """What `make` answers, asked again when the last answer is older than that, or than its cost allows; failures are not kept."""
        known = self._answers.get(key)
        if known is not None and (not known[1].done() or known[0] > time.monotonic()):
            return await asyncio.shield(known[1])
        began = time.monotonic()
        asking = asyncio.ensure_future(make())
        self._answers[key] = (0.0, asking)
        self._answers.move_to_end(key)
        if len(self._answers) > _KEPT:
            self._answers.popitem(last=False)
        try:
            answer = await asyncio.shield(asking)
        except BaseException:
            if key in self._answers and self._answers[key][1] is asking:
                del self._answers[key]
            raise
        if key in self._answers and self._answers[key][1] is asking:
            ended = time.monotonic()
            calm = min((ended - began) * _CALM, _LONGEST)
            self._answers[key] = (ended + max(seconds, calm), asking)
        return answer

    def forget(self) -> None:
        """Something was changed here: whoever asks now is to see it."""
        self._answers.clear()


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of somebody who may ask."""

    desk: Desk
    request: Request
    session: Session

    @property
    def mask(self) -> Mask:
        """What is hidden from them."""
        settings = self.desk.settings
        hidden = self.session.role == "viewer" or settings.mask_operators
        return Mask(settings.mask if hidden else ())

    def said(self, name: str, default: str = "") -> str:
        """What the address says."""
        return self.request.query_params.get(name, default)
