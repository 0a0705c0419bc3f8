"""Doing something to many jobs, batch by batch, no faster than asked, each batch a transaction of its own."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.desk import LOOK, Desk
from tenure.errors import FieldError
from tenure.filters import Filter
from tenure.job import FINISHED

__all__ = ["Answer", "Bulk", "many"]

log = logging.getLogger("tenure.dashboard")
_BATCH: Final = 500
_PATIENCE: Final = 2.0
"""For so many seconds whoever asks waits for the end."""
_FASTEST: Final = 1_000_000
_PAST: Final = {
    "retry": "started anew", "cancel": "cancelled", "purge": "deleted", "discard": "discarded", "restore": "made dead again",
    "unreplay": "put back as they were",
}  # fmt: skip
_REMEMBERED: Final = 20
_UNDOABLE: Final = 5
"""How many retries are remembered so that they can be undone."""
_MOST: Final = 10_000
"""Of more jobs than these a retry cannot be undone: their ids would have to be kept."""


class Answer(NamedTuple):
    """How many, what is said, the name of what goes on after it, and the name by which it can be undone."""

    done: int
    said: str
    act: str | None = None
    undo: str | None = None


class Bulk:
    """One such action, and how far it is."""

    def __init__(
        self,
        queue: AsyncQueue,
        which: Filter,
        action: str,
        rate: float | None = None,
        run_at: datetime | None = None,
    ) -> None:
        if rate is not None and (not math.isfinite(rate) or not 0 < rate <= _FASTEST):
            raise FieldError("rate", "must be a number of jobs a second, above 0", rate)
        self.queue, self.which, self.action, self.rate, self.run_at = queue, which, action, rate, run_at
        self.done = self.beside = 0
        """Jobs changed; jobs asked to cancel, or left as they are because their unique key is taken or a worker has them."""
        self.replayed: list[str] = []
        """The jobs that were started anew, while they are not too many to remember."""
        self._halted, self._ended = asyncio.Event(), asyncio.Event()
        self.name = secrets.token_hex(8)
        self.over, self.why = False, ""
        """Whether it has ended, and why before its end."""

    async def run(self) -> None:
        """All of it."""
        try:
            if self.action == "unreplay":
                await self._put_back(list(self.which.ids or ()))
            else:
                await self._through()
        finally:
            self._ended.set()

    async def halt(self) -> None:
        """No further than the batch under way, and wait for its end."""
        self._halted.set()
        await self._ended.wait()

    async def _through(self) -> None:
        size = _BATCH if self.rate is None else max(1, min(_BATCH, int(self.rate)))
        after, began = None, time.monotonic()
        while not self._halted.is_set():
            after = await self._batch(size, after)
            if after is None:
                return
            if self.rate is not None:
                rest = began + (self.done + self.beside) / self.rate - time.monotonic()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._halted.wait(), max(rest, 0))
        self.why = ", then somebody undid it"

    async def _put_back(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _BATCH):
            these = Filter(ids=ids[start : start + _BATCH])
            self.done += (await self.queue.unreplay(these, limit=_BATCH)).changed
        self.beside = len(ids) - self.done

    async def _batch(self, size: int, after: str | None) -> str | None:
        if self.action == "retry":
            bulk = await self.queue.replay_many(self.which, limit=size, after=after, run_at=self.run_at)
            self.done, self.beside = self.done + bulk.changed, self.beside + bulk.conflicts
            if self.done <= _MOST:
                self.replayed += bulk.ids
            return bulk.after
        if self.action == "cancel":
            cancels = await self.queue.cancel_many(
                self.which, "cancelled on the dashboard", limit=size, after=after
            )
            self.done, self.beside = self.done + cancels.cancelled, self.beside + cancels.asked
            return cancels.after
        if self.action == "discard":
            gone = await self.queue.discard(self.which, limit=size, after=after)
            self.done += gone.changed
            return gone.after
        if self.action == "restore":
            back = await self.queue.restore(self.which, limit=size, after=after)
            self.done += back.changed
            return back.after
        page = await self.queue.list(self.which.only(FINISHED), limit=size, before=after, look=LOOK)
        if page:
            self.done += await self.queue.purge(Filter(ids=[job.id for job in page]))
        return page.before

    @property
    def undo(self) -> str | None:
        """The name by which it can be undone, if it can."""
        some = bool(self.replayed) or not self._ended.is_set()
        return self.name if self.action == "retry" and some and len(self.replayed) == self.done else None

    def said(self) -> str:
        """How far it is, in words."""
        past = _PAST[self.action]
        if self.action == "retry" and self.run_at is not None:
            past = f"started anew for {self.run_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        elif self.action == "unreplay" and self.done == 1:
            past = "put back as it was"
        words = f"{self.done:,} {'job was' if self.done == 1 else 'jobs were'} {past}"
        if self.beside and self.action == "cancel":
            words += f", {self.beside:,} that run were asked to stop"
        elif self.beside and self.action == "unreplay":
            words += f", {self.beside:,} stayed: claimed since, or not there any more"
        elif self.beside:
            words += f", {self.beside:,} left as they are: their unique key is taken"
        return words


async def many(desk: Desk, bulk: Bulk, keep: Callable[[int, str], Awaitable[None]]) -> Answer:
    """Begin, and wait for the end as long as anybody likes to; what is left goes on, and is kept when it ends."""
    if bulk.action == "retry":
        desk.undos[bulk.name] = bulk
        while len(desk.undos) > _UNDOABLE:
            desk.undos.popitem(last=False)
    work = asyncio.create_task(bulk.run())
    ended, _ = await asyncio.wait({work}, timeout=_PATIENCE)
    if ended:
        work.result()
        return Answer(bulk.done + bulk.beside, bulk.said(), None, bulk.undo)
    so_far = bulk.done + bulk.beside
    desk.bulks[bulk.name] = bulk
    while len(desk.bulks) > _REMEMBERED:
        desk.bulks.popitem(last=False)
    rest = asyncio.create_task(_follow(desk, work, bulk, keep))
    desk.tasks.update((work, rest))
    work.add_done_callback(desk.tasks.discard)
    rest.add_done_callback(desk.tasks.discard)
    return Answer(so_far, f"{bulk.said()} so far; it goes on", bulk.name, bulk.undo)


async def _follow(
    desk: Desk, work: asyncio.Task[None], bulk: Bulk, keep: Callable[[int, str], Awaitable[None]]
) -> None:
    """Keep what came of it after it was answered."""
    so_far = bulk.done + bulk.beside
    try:
        await work
    except asyncio.CancelledError:
        bulk.why = ", then the dashboard stopped"
    except Exception as error:
        bulk.why = f", then it failed: {error}"
        log.warning("%s did not get to its end: %s", bulk.action, error)
    try:
        await keep(bulk.done + bulk.beside - so_far, f"in all {bulk.said()}{bulk.why}")
    finally:
        bulk.over = True
        desk.forget()
