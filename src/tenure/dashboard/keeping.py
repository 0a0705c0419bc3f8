"""One action in the audit: there before it changes anything, how far it is as it goes, and how it ended.

Where the store cannot keep it, it is done all the same: whoever did it is told.
"""

from __future__ import annotations

import logging

from tenure.client.async_queue import AsyncQueue
from tenure.errors import StoreError

__all__ = ["Kept"]

log = logging.getLogger("tenure.dashboard")


class Kept:
    """One of these: who does what, to which."""

    def __init__(self, queue: AsyncQueue, who: str, action: str, what: str) -> None:
        self._queue, self._about = queue, (who, action, what)
        self._begun: str | None = None

    async def begin(self) -> None:
        """It is about to change something."""
        try:
            self._begun = await self._queue.begin_audit(*self._about)
        except StoreError as error:
            log.warning("what begins could not be kept: %s", error)

    async def far(self, count: int, said: str) -> None:
        """So far it is."""
        if self._begun is None:
            return
        try:
            await self._queue.progress_audit(self._begun, count=count, said=said)
        except StoreError as error:
            log.warning("how far it is could not be kept: %s", error)

    async def end(self, count: int, said: str) -> bool:
        """It has ended, in this way; whether that could be kept."""
        try:
            await self._queue.add_audit(*self._about, count=count, said=said, ends=self._begun)
        except StoreError as error:
            log.warning("what was done could not be kept: %s", error)
            return False
        return True
