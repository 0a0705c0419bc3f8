"""Group commit without a thread, where the event loop itself can hear from the store.

What has gathered is sent, and the loop goes on; when the store has answered, the answers are handed out and the next are sent.
As soon as enough jobs with requests have gathered they go, though the loop has not yet heard all that has come: so the database
works while it listens, and by two commits at a time. Whatever takes patience, a lost connection or somebody's lock, is left to
a thread, which tries again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tenure.client.commit import Answer, GroupCommit, Keys, Told, Waiting
from tenure.job import Enqueued
from tenure.newjob import Row
from tenure.store.base import Broken, LockBusy

__all__ = ["Heard", "LoopCommit"]

_ENOUGH = 32
"""How many have to gather for another commit beside the one that is on its way."""
Heard = Callable[[Sequence[Enqueued] | BaseException], None]


class LoopCommit(GroupCommit):
    """The rows of one event loop. `begin(rows, tell)` has them committed on it, and tells what came of it; False: a thread has to."""

    def __init__(
        self,
        begin: Callable[[Sequence[Row], Heard], bool],
        store: Callable[[Sequence[Row], bool], Sequence[Enqueued]],
        hop: Callable[[Callable[[], Any]], Any],
        lanes: int = 1,
    ) -> None:
        super().__init__(store, hop, lanes)
        self._begin = begin
        self._waiters: set[asyncio.Future[None]] = set()
        self._hops: set[asyncio.Task[Told]] = set()

    def put(self, row: Row, answer: Answer) -> None:
        """Have one row stored, with whoever else is here; `answer` is told."""
        keyed = int(row.may_wait)
        line, flying = self._lines[keyed], len(self._flying[keyed])
        line.append((row, answer))
        if flying < self._lanes[keyed] > 1 and len(line) % _ENOUGH == 0:
            self._start(keyed)
        elif not (flying or self._called[keyed]):
            self._called[keyed] = True
            asyncio.get_running_loop().call_soon(self._start, keyed)

    async def finish(self) -> None:
        """Wait until what was asked for has been answered; nothing is asked for any more."""
        loop = asyncio.get_running_loop()
        while self._tasks or any(self._lines) or any(self._flying):
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)

    def _start(self, keyed: int) -> None:
        """Have what is in line committed."""
        self._called[keyed] = False
        if len(self._flying[keyed]) >= self._lanes[keyed]:
            return
        batch, keys = self._apart(keyed)
        if not batch:
            return
        self._flying[keyed].append(keys)
        landed = partial(self._landed, keyed, keys)
        try:
            begun = self._begin([row for row, _ in batch], partial(self._heard, batch, landed))
        except Exception as error:
            landed([(one, error) for one in batch])
            return
        if not begun:
            self._by_thread(batch, landed)

    def _heard(
        self,
        batch: list[Waiting],
        landed: Callable[[Told], None],
        outcome: Sequence[Enqueued] | BaseException,
    ) -> None:
        """What has come of a batch."""
        if isinstance(outcome, Broken):
            self._by_thread(batch, landed, asked=outcome.asked)
        elif isinstance(outcome, LockBusy) and len(batch) > 1:
            self._by_thread(batch, landed)
        elif isinstance(outcome, asyncio.CancelledError):
            # This event loop ends; nobody is to begin anything any more.
            left = [one for line in self._lines for one in line]
            for line in self._lines:
                line.clear()
            landed([(one, outcome) for one in (*batch, *left)])
        elif isinstance(outcome, BaseException):
            landed([(one, outcome) for one in batch])
        else:
            landed(list(zip(batch, outcome, strict=True)))

    def _by_thread(
        self, batch: list[Waiting], landed: Callable[[Told], None], *, asked: bool = False
    ) -> None:
        async def work() -> Told:
            return await self._hop(partial(self._commit, batch, asked))  # type: ignore[no-any-return]

        hop = asyncio.get_running_loop().create_task(work())
        self._hops.add(hop)

        def back(hop: asyncio.Task[Told]) -> None:
            self._hops.discard(hop)
            if hop.cancelled():
                self._heard(batch, landed, asyncio.CancelledError())
            elif (error := hop.exception()) is not None:
                self._heard(batch, landed, error)
            else:
                landed(hop.result())

        hop.add_done_callback(back)

    def _landed(self, keyed: int, mine: Keys, told: Told) -> None:
        """A batch is through: hand out its answers, and send the next."""
        self._flying[keyed][:] = [keys for keys in self._flying[keyed] if keys is not mine]
        try:
            self._tell(told)
        finally:
            if len(self._lines[keyed]) >= _ENOUGH or not self._flying[keyed]:
                self._start(keyed)
            self._ended()

    def _ended(self) -> None:
        """Something has ended; who waits for all of it may look again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
