"""Group commit: concurrent enqueues of one process share commits.

While one commit is on its way, the enqueues that arrive meanwhile gather. The thread that commits takes them along itself as
soon as it is back (`commit_on_loop.py`: a store that needs no thread), and wakes the event loop once for each commit, to hand out its answers. Where there is nothing to take it
rests for a moment: under load the next call is near, and a thread that is there costs less than one that is asked for. A lone
call goes as soon as the event loop has heard what else has come. Each is
answered only after its commit. Jobs with a unique key, or an id of the caller's, may have to wait for somebody else's
transaction; they travel apart from the others, and one that waits is taken out of its batch, so it holds up nobody.

Where transactions run side by side, jobs that carry a request may have several commits on their way, if enough have gathered:
while one waits for the disk, the next is made. No two of these hold jobs of one group or with one key, so that their order stays
what it was; jobs without a request are all stored in the order in which they were asked for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Protocol

from tenure.errors import StoreUnavailable
from tenure.job import Enqueued
from tenure.newjob import Row
from tenure.store.base import HELD, LockBusy

__all__ = ["Answer", "GroupCommit", "Keys", "Told", "Waiting"]

_MOST = 500
_WORTH = 8
"""How many have to gather for another commit beside the one that is on its way."""
_ENOUGH = 32
"""How many that have gathered do not wait for the event loop to hear of more: it goes on listening while they are stored."""
_PATIENCE = 10.0
"""How many seconds one waits for somebody's transaction: as long as a call that is not shared."""
_REST = 0.05
"""How many seconds a thread waits for more before it goes."""


class Answer(Protocol):
    """Who waits for a row: a future, or what behaves like one. Told on the event loop; what it is told must not raise."""

    def done(self) -> bool:
        """Whether nobody waits any more."""
        ...

    def set_result(self, result: Enqueued, /) -> None:
        """The row is stored, or another was before it."""
        ...

    def set_exception(self, exception: BaseException, /) -> None:
        """It could not be stored, or nobody knows."""
        ...


Waiting = tuple[Row, Answer]
Told = list[tuple[Waiting, Enqueued | BaseException]]
Keys = set[str]


class GroupCommit:
    """The rows of one event loop. `store(rows, asked)` commits them, and raises LockBusy rather than wait; `hop` runs in a thread.

    `asked`: they may have been stored before. `lanes`: how many commits of rows with requests are made at a time.
    """

    def __init__(
        self,
        store: Callable[[Sequence[Row], bool], Sequence[Enqueued]],
        hop: Callable[[Callable[[], Any]], Any],
        lanes: int = 1,
    ) -> None:
        self._store, self._hop, self._lanes = store, hop, (1, lanes)
        self._lock = Lock()
        self._lines: tuple[list[Waiting], list[Waiting]] = ([], [])
        self._called = [False, False]
        """Whether what is in line will be taken: by who comes, or is called when the event loop has heard all."""
        self._coming = [False, False]
        """Whether a thread is on its way to take it; each that comes takes."""
        self._flying: tuple[list[Keys], list[Keys]] = ([], [])
        """What is being committed, by its keys."""
        self._rests = [0, 0]
        """How many threads rest until their line's bell is rung."""
        self._bells: tuple[SimpleQueue[None], SimpleQueue[None]] = (SimpleQueue(), SimpleQueue())
        self._ending = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def enqueue(self, row: Row) -> Enqueued:
        """Store one row, with whoever else is here."""
        answer: asyncio.Future[Enqueued] = asyncio.get_running_loop().create_future()
        self.put(row, answer)
        return await answer

    def put(self, row: Row, answer: Answer) -> None:
        """Have one row stored, with whoever else is here; `answer` is told."""
        keyed = int(row.may_wait)
        with self._lock:
            line, flying = self._lines[keyed], len(self._flying[keyed])
            line.append((row, answer))
            called = self._called[keyed]
            rings = called and len(line) == _ENOUGH and not flying and self._rests[keyed] > 0
            if rings:
                self._coming[keyed] = True
                self._rests[keyed] -= 1
            elif called or (flying and (flying >= self._lanes[keyed] or len(line) < _WORTH)):
                return
            self._called[keyed] = True
        if rings:
            self._bells[keyed].put(None)
        else:
            asyncio.get_running_loop().call_soon(self._start, keyed)

    async def finish(self) -> None:
        """Wait until what was asked for has been answered; nothing is asked for any more."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)  # what was asked for a moment ago has begun then
        self.end()
        while mine := [task for task in self._tasks if task.get_loop() is loop]:
            await asyncio.wait(mine)

    def end(self) -> None:
        """Let no thread rest any more; from any thread."""
        self._ending = True
        for keyed in (0, 1):
            while self._ring(keyed):
                pass

    def _start(self, keyed: int) -> None:
        """Have what is in line committed: by the thread that rests, or by a new one; unless it was taken, or somebody comes."""
        if self._called[keyed] and not self._coming[keyed] and not self._ring(keyed):
            self._coming[keyed] = True
            self._spawn(self._flush(keyed), partial(self._give_up, keyed))

    def _ring(self, keyed: int) -> bool:
        """Wake a thread that rests; False: none does."""
        with self._lock:
            rested = self._rests[keyed] > 0
            self._rests[keyed] -= rested
            self._coming[keyed] |= rested
        if rested:
            self._bells[keyed].put(None)
        return rested

    async def _flush(self, keyed: int) -> None:
        loop = asyncio.get_running_loop()
        await self._hop(lambda: self._work(keyed, loop))

    def _give_up(self, keyed: int, error: BaseException) -> None:
        """There is no thread for what is in line: the queue is closed, or this event loop ends."""
        line = self._lines[keyed]
        with self._lock:
            left, line[:], self._called[keyed], self._coming[keyed] = line[:], [], False, False
        self._fail(left, error)

    def _fail(self, left: Sequence[Waiting], error: BaseException) -> None:
        self._tell([(one, error) for one in left])

    def _work(self, keyed: int, loop: asyncio.AbstractEventLoop) -> None:
        """Commit what has gathered, until nothing has for a while. In a thread."""
        keys: Keys | None = None
        while True:
            batch, keys, rests = self._take(keyed, keys)
            if batch:
                told = self._commit(batch)
                with suppress(RuntimeError):  # the event loop has ended, and nobody waits any more
                    loop.call_soon_threadsafe(self._tell, told)
            elif not (rests and self._was_called(keyed)):
                return

    def _was_called(self, keyed: int) -> bool:
        """Rest, and tell whether somebody rang. In a thread."""
        try:
            self._bells[keyed].get(timeout=_REST)
        except Empty:
            with self._lock:
                rung = not self._rests[keyed]
                self._rests[keyed] -= not rung
            if rung:  # at the last moment
                self._bells[keyed].get()
            return rung
        return True

    def _take(self, keyed: int, done: Keys | None) -> tuple[list[Waiting], Keys | None, bool]:
        """What is in line, and its keys; if nothing is, whether the caller may rest, as one thread for each lane may. `done`: the
        keys of what the caller has committed."""
        flying = self._flying[keyed]
        with self._lock:
            self._called[keyed] = self._coming[keyed] = False
            if done is not None:
                flying[:] = [keys for keys in flying if keys is not done]
            if len(flying) >= self._lanes[keyed]:
                return [], None, False  # somebody was back first; who is on the way takes what is left
            batch, keys = self._apart(keyed)
            if batch:
                flying.append(keys)
                return batch, keys, False
            rests = not self._ending and self._rests[keyed] < self._lanes[keyed]
            self._rests[keyed] += rests
            return batch, None, rests

    def _apart(self, keyed: int) -> tuple[list[Waiting], Keys]:
        """The first in line, but for those who share a key with what is being committed, or with somebody who waits for that."""
        line, taken, mine = self._lines[keyed], Keys().union(*self._flying[keyed]), Keys()
        if self._lanes[keyed] == 1:
            batch, line[:_MOST] = line[:_MOST], []
            return batch, mine
        batch, left = [], list[Waiting]()
        for one in line[:_MOST]:
            keys = _keys(one[0])
            if taken.isdisjoint(keys):
                batch.append(one)
                mine.update(keys)
            else:
                left.append(one)
                taken.update(keys)
        line[:_MOST] = left
        return batch, mine

    def _commit(self, batch: list[Waiting], asked: bool = False) -> Told:
        """In a thread."""
        try:
            return list(zip(batch, self._store([row for row, _ in batch], asked), strict=True))
        except LockBusy as busy:
            if len(batch) == 1:
                return [(batch[0], busy)]
            half = len(batch) // 2
            return self._commit(batch[:half]) + self._commit(batch[half:])
        except BaseException as error:
            return [(one, error) for one in batch]

    def _tell(self, told: Told) -> None:
        """Hand out the answers. On the event loop."""
        for (row, answer), outcome in told:
            if answer.done():
                continue
            if isinstance(outcome, Enqueued):
                answer.set_result(outcome)
            elif isinstance(outcome, LockBusy):
                self._spawn(self._insist(row, answer), partial(self._fail, [(row, answer)]))
            else:
                answer.set_exception(outcome)

    async def _insist(self, row: Row, answer: Answer) -> None:
        """A row that waits for somebody's transaction: asked again and again, apart from the others."""
        rest, until = 0.02, time.monotonic() + _PATIENCE
        while not answer.done():
            try:
                told: Told = await self._hop(lambda: self._commit([(row, answer)]))
            except Exception as error:
                told = [((row, answer), error)]
            if not isinstance(told[0][1], LockBusy):
                self._tell(told)
                return
            if time.monotonic() > until:
                self._fail([(row, answer)], StoreUnavailable(HELD))
                return
            await asyncio.sleep(rest)
            rest = min(rest * 2, 0.5)

    def _spawn(self, work: Coroutine[Any, Any, None], give_up: Callable[[BaseException], None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            # Not in the work itself: one that is cancelled before its first step never gets to say anything.
            self._tasks.discard(task)
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is not None:
                give_up(error)
            self._ended()

        task.add_done_callback(ended)

    def _ended(self) -> None:
        """Some work has ended."""


def _keys(row: Row) -> tuple[str, str, str, str]:
    """What a row shares with those that must not overtake it."""
    return row.group_key or row.id, row.unique_hash or row.id, row.id, "" if row.request is None else row.id
