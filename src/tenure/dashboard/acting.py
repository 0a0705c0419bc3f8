"""Doing something to many jobs, batch by batch, no faster than asked, each batch a transaction of its own."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.desk import LOOK, Desk
from tenure.dashboard.keeping import Kept
from tenure.dashboard.series import now
from tenure.errors import FieldError
from tenure.filters import Filter
from tenure.job import FINISHED
from tenure.store.people import Changed

__all__ = ["UNDONE", "Answer", "Bulk", "Undoing", "many"]

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
UNDONE: Final = {"unreplay": "retry", "restore": "discard"}
"""What each action that undoes another undoes."""
_UNDOABLE: Final = 5
"""How many of these are remembered so that they can be undone."""
_MOST: Final = 10_000
"""What changed more jobs than these cannot be undone: their ids would have to be kept."""


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
        self.began = now()
        self.done = self.beside = 0
        """Jobs changed; jobs asked to cancel, or left as they are because their unique key is taken or a worker has them."""
        self.ids: list[str] = []
        """The jobs that were started anew or discarded, while they are not too many to remember."""
        self._halted, self._ended = asyncio.Event(), asyncio.Event()
        self.name = secrets.token_hex(8)
        self.over, self.why = False, ""
        """Whether it has ended, and why before its end."""
        self._reached: str | None = None
        """The job as far as it has come; None: none yet, or all of them."""
        self.undone = False
        """Whether somebody has undone it, or is about to."""

    async def run(self, kept: Kept) -> None:
        """All of it."""
        try:
            await self._through(kept)
        finally:
            self._ended.set()

    async def halt(self) -> None:
        """No further than the batch under way, and wait for its end."""
        self._halted.set()
        await self._ended.wait()

    async def _through(self, kept: Kept) -> None:
        size = _BATCH if self.rate is None else max(1, min(_BATCH, int(self.rate)))
        began = time.monotonic()
        while not self._halted.is_set():
            self._reached = await self._batch(size, self._reached)
            if self._reached is None:
                return
            await kept.far(self.done + self.beside, f"{self.said()}{self.place()}")
            if self.rate is not None:
                rest = began + (self.done + self.beside) / self.rate - time.monotonic()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._halted.wait(), max(rest, 0))
        self.why = ", then somebody undid it"

    async def _batch(self, size: int, after: str | None) -> str | None:
        if self.action == "retry":
            bulk = await self.queue.replay_many(self.which, limit=size, after=after, run_at=self.run_at)
            self.beside += bulk.conflicts
            return self._noted(bulk)
        if self.action == "cancel":
            cancels = await self.queue.cancel_many(
                self.which, "cancelled on the dashboard", limit=size, after=after
            )
            self.done, self.beside = self.done + cancels.cancelled, self.beside + cancels.asked
            return cancels.after
        if self.action == "discard":
            return self._noted(await self.queue.discard(self.which, limit=size, after=after))
        if self.action == "restore":
            back = await self.queue.restore(self.which, limit=size, after=after)
            self.done += back.changed
            return back.after
        page = await self.queue.list(self.which.only(FINISHED), limit=size, before=after, look=LOOK)
        if page:
            # What matches no more, because somebody did something to it since, is left alone.
            self.done += await self.queue.purge(replace(self.which, ids=[job.id for job in page]))
        return page.before

    def _noted(self, bulk: Changed) -> str | None:
        self.done += bulk.changed
        if len(self.ids) <= _MOST:
            self.ids += bulk.ids
        return bulk.after

    @property
    def too_many(self) -> bool:
        """Whether it is one that can be undone, but for how many it changed."""
        return self.action in UNDONE.values() and self.done > _MOST

    @property
    def goes_on(self) -> bool:
        """Whether there are jobs that it has yet to come to."""
        return not self._ended.is_set()

    @property
    def undo(self) -> str | None:
        """The name by which it can be undone, if it can and nobody has."""
        some = (bool(self.ids) or self.goes_on) and not self.undone
        return self.name if self.action in UNDONE.values() and some and not self.too_many else None

    def told(self) -> str:
        """What came of it, when it has ended."""
        return f"{self.said()}{self.why}{f'; more than {_MOST:,} cannot be undone' if self.too_many else ''}"

    def place(self) -> str:
        """Where it is, for who wants to go on there."""
        return "" if self._reached is None else f"; it came as far as job {self._reached}"

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
        elif self.beside and self.action == "restore":
            words += f", {self.beside:,} stayed: changed since, or not there any more"
        elif self.beside:
            words += f", {self.beside:,} left as they are: their unique key is taken"
        return words


class Undoing(Bulk):
    """Putting jobs back, by their ids alone: those that an earlier action changed, and no others like them."""

    def __init__(self, queue: AsyncQueue, ids: Sequence[str], action: str, of: Bulk | None = None) -> None:
        super().__init__(queue, Filter(ids=ids), action)
        self._of = of
        """The action that is undone, where it is one of those remembered."""

    async def _through(self, kept: Kept) -> None:
        if self._of is None:
            await self._back(kept)
            return
        self._of.undone = True
        try:
            await self._back(kept)
        except BaseException:
            self._of.undone = False  # it can be asked for again
            raise

    async def _back(self, kept: Kept) -> None:
        ids = list(self.which.ids or ())
        put_back = self.queue.unreplay if self.action == "unreplay" else self.queue.restore
        for start in range(0, len(ids), _BATCH):
            these = Filter(ids=ids[start : start + _BATCH])
            after: str | None = None
            while True:  # they may be far between, and one call looks only so far
                back = await put_back(these, limit=_BATCH, after=after)
                self.done += back.changed
                if (after := back.after) is None:
                    break
            if start + _BATCH < len(ids):
                await kept.far(self.done, self.said())
        self.beside = len(ids) - self.done


async def many(desk: Desk, bulk: Bulk, kept: Kept) -> Answer:
    """Begin, and wait for the end as long as anybody likes to; what is left goes on, and its end is kept when it comes."""
    if bulk.action in UNDONE.values():
        desk.undos[bulk.name] = bulk
        while len(desk.undos) > _UNDOABLE:
            desk.undos.popitem(last=False)
    work = asyncio.create_task(bulk.run(kept))
    ended, _ = await asyncio.wait({work}, timeout=_PATIENCE)
    if ended:
        if (error := work.exception()) is not None:
            if not bulk.done + bulk.beside:
                raise error
            _failed(bulk, error)
        return Answer(bulk.done + bulk.beside, bulk.told(), None, bulk.undo)
    so_far = bulk.done + bulk.beside
    desk.bulks[bulk.name] = bulk
    while len(desk.bulks) > _REMEMBERED:
        desk.bulks.popitem(last=False)
    rest = asyncio.create_task(_follow(desk, work, bulk, kept))
    desk.tasks.update((work, rest))
    work.add_done_callback(desk.tasks.discard)
    rest.add_done_callback(desk.tasks.discard)
    return Answer(so_far, f"{bulk.said()} so far; it goes on", bulk.name, bulk.undo)


async def _follow(desk: Desk, work: asyncio.Task[None], bulk: Bulk, kept: Kept) -> None:
    """Keep what came of it after it was answered."""
    try:
        await work
    except asyncio.CancelledError:
        bulk.why = f", then the dashboard stopped{bulk.place()}"
    except Exception as error:
        _failed(bulk, error)
    try:
        await kept.end(bulk.done + bulk.beside, bulk.told())
    finally:
        bulk.over = True
        desk.forget()


def _failed(bulk: Bulk, error: BaseException) -> None:
    """It has ended before its end; what it did until then is done."""
    bulk.why = f", then it failed: {error}{bulk.place()}"
    log.warning("%s did not get to its end: %s", bulk.action, error)
