"""Group commit: concurrent enqueues of one process share commits.

While one commit is on its way, the enqueues that arrive meanwhile gather and go together with the next. A lone call goes
at once. Each is answered only after its commit. Jobs with a unique key, or an id of the caller's, may have to wait for somebody else's transaction;
they travel apart from the others, and one that waits is taken out of its batch, so it holds up nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tenure.job import Enqueued
from tenure.newjob import Row
from tenure.store.base import LockBusy

__all__ = ["GroupCommit"]

_MOST = 500
Waiting = tuple[Row, "asyncio.Future[Enqueued]"]


class GroupCommit:
    """Gathers rows on one event loop; `store(rows)` commits them, and raises LockBusy rather than wait."""

    def __init__(self, store: Callable[[Sequence[Row]], Any]) -> None:
        self._store = store
        self._lines: tuple[list[Waiting], list[Waiting]] = ([], [])
        self._busy = [False, False]
        self._tasks: set[asyncio.Task[None]] = set()

    async def enqueue(self, row: Row) -> Enqueued:
        """Store one row, with whoever else is here."""
        keyed = int(row.may_wait)
        answer: asyncio.Future[Enqueued] = asyncio.get_running_loop().create_future()
        self._lines[keyed].append((row, answer))
        if not self._busy[keyed]:
            self._busy[keyed] = True
            self._spawn(self._flush(keyed))
        return await answer

    async def finish(self) -> None:
        """Wait until what was asked for has been answered."""
        loop = asyncio.get_running_loop()
        while mine := [task for task in self._tasks if task.get_loop() is loop]:
            await asyncio.wait(mine)

    async def _flush(self, keyed: int) -> None:
        line = self._lines[keyed]
        try:
            while line:
                batch, line[:_MOST] = line[:_MOST], []
                await self._commit(batch)
        finally:
            self._busy[keyed] = False

    async def _commit(self, batch: list[Waiting]) -> None:
        try:
            answers = await self._store([row for row, _ in batch])
        except LockBusy:
            if len(batch) == 1:
                self._spawn(self._insist(batch[0]))
            else:
                half = len(batch) // 2
                await self._commit(batch[:half])
                await self._commit(batch[half:])
        except BaseException as error:
            for _, waiting in batch:
                if not waiting.done():
                    waiting.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            for (_, waiting), answer in zip(batch, answers, strict=True):
                if not waiting.done():
                    waiting.set_result(answer)

    async def _insist(self, one: Waiting) -> None:
        """A row that waits for somebody's transaction: asked again and again, apart from the others."""
        row, waiting = one
        rest = 0.02
        while not waiting.done():
            try:
                [answer] = await self._store([row])
            except LockBusy:
                await asyncio.sleep(rest)
                rest = min(rest * 2, 0.5)
            except Exception as error:
                if not waiting.done():
                    waiting.set_exception(error)
            else:
                if not waiting.done():
                    waiting.set_result(answer)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
