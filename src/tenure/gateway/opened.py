"""The store, opened when first needed and tried again, now and then, while it cannot be."""

from __future__ import annotations

import asyncio
import time

from tenure.app import App
from tenure.client.async_queue import AsyncQueue
from tenure.errors import StoreError, StoreUnavailable

__all__ = ["Opened"]

_AGAIN = 1.0


class Opened:
    """An app's queue. While it cannot be opened or read, asking costs nothing but once a second."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._queue: AsyncQueue | None = None
        self._opening: asyncio.Task[AsyncQueue] | None = None
        self._failed = self._looked = float("-inf")
        self._ready = False
        self.why: Exception | None = None
        """Why the store did not answer when it was last asked whether it does."""

    @property
    def now(self) -> AsyncQueue | None:
        """The queue, if it is open."""
        return self._queue

    def forget(self) -> None:
        """The app has closed it; who needs it next opens it anew."""
        self._queue, self._opening, self._ready = None, None, False
        self._failed = self._looked = float("-inf")

    async def queue(self) -> AsyncQueue:
        """The queue; StoreUnavailable while it cannot be opened."""
        if self._queue is not None:
            return self._queue
        if self._opening is None:
            if time.monotonic() - self._failed < _AGAIN:
                raise StoreUnavailable("the store could not be opened a moment ago")
            self._opening = asyncio.create_task(self._app.aqueue())
            self._opening.add_done_callback(self._ended)
        return await asyncio.shield(self._opening)  # who gives up waiting does not stop the others

    def _ended(self, opening: asyncio.Task[AsyncQueue]) -> None:
        if self._opening is not opening:
            return  # forgotten meanwhile
        self._opening = None
        if opening.cancelled() or opening.exception() is not None:
            self._failed = time.monotonic()
        else:
            self._queue = opening.result()

    async def ready(self, seconds: float) -> bool:
        """Whether the store answers; asked at most once a second, whoever asks."""
        if time.monotonic() - self._looked >= _AGAIN:
            self._looked = time.monotonic()
            self._ready = await self._answers(seconds)
        return self._ready

    async def _answers(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await (await self.queue()).paused()
        except TimeoutError:
            self.why = TimeoutError(f"no answer within {seconds:g} s")
        except (StoreError, OSError) as error:
            self.why = error
        else:
            self.why = None
        return self.why is None
