"""A plan on an event loop: no thread waits for the server; the loop looks at the connection when there is something on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import WeakMethod

from tenure.store.postgres.connection import Link, TooLong
from tenure.store.postgres.limits import ORDINARY
from tenure.store.postgres.trip import Waits

__all__ = ["Errand"]

T = TypeVar("T")
_READ, _WRITE = 1, 2
"""As psycopg's waits ask for them, and are told that they have come."""
_TELLING = 2.0
"""How many seconds it may take to tell a server that is silent."""


class Errand(Generic[T]):
    """One plan on its way over one connection; `tell` hears its answer or its error, on the event loop.

    It is given as long as one statement may take, for all that it asks. A task stands by it: if that is cancelled, as when the event
    loop ends, so is the errand, and its connection is given up. Nobody but the loop that watches its connection holds it: where a
    loop is closed with no word to anybody, the errand goes with it, and its connection too.
    """

    def __init__(self, link: Link, waits: Waits[T], tell: Callable[[T | BaseException], None]) -> None:
        self._link, self._waits, self._tell = link, waits, tell
        self._loop = asyncio.get_running_loop()
        self._number, self._watched = link.fileno(), 0
        self._wanted: Generator[Any, Any, Any] | None = None
        self._done: asyncio.Future[None] = self._loop.create_future()
        limit = ORDINARY if link.limit is None else link.limit
        self._timer = self._loop.call_later(limit, partial(_call, WeakMethod(self._give_up), limit))
        guard = self._loop.create_task(_stand_by(self._done))
        guard.add_done_callback(partial(_call, WeakMethod(self._left)))

    def go(self) -> None:
        """As far as it gets before it has to wait, at once."""
        self._go(0, None)

    def _go(self, ready: int, error: Exception | None) -> None:
        wanted = self._wanted
        try:
            if wanted is None:
                wanted = next(self._waits)
            while True:
                try:
                    need = _next(wanted, ready, error)
                    self._wanted = wanted
                    self._watch(need)
                except StopIteration as end:
                    self._watch(0)  # whatever follows may close the connection
                    wanted = self._waits.send(end.value)
                except Exception as failed:
                    self._watch(0)
                    wanted = self._waits.throw(failed)
                else:
                    return
                ready, error = 0, None
        except StopIteration as end:
            self._end(end.value)
        except Exception as failed:
            self._end(failed)
        except BaseException:
            self._abandon()
            raise

    def _watch(self, need: int) -> None:
        """Have the event loop go on when the connection is ready for this; a connection that is closed is watched no more."""
        for what, watch, let_be in (
            (_READ, self._loop.add_reader, self._loop.remove_reader),
            (_WRITE, self._loop.add_writer, self._loop.remove_writer),
        ):
            if need & what and not self._watched & what:
                self._watched |= what
                watch(self._number, self._go, what, None)
            elif self._watched & what and not need & what:
                self._watched &= ~what
                let_be(self._number)

    def _give_up(self, limit: float) -> None:
        """It has taken too long. The server is told so by a thread, as far as it hears; who waits does not wait for that as well."""
        self._watch(0)

        def broken(_: object = None) -> None:
            self._link.pgconn.finish()
            self._go(0, TooLong(limit))

        try:
            self._loop.run_in_executor(None, self._link.give_up).add_done_callback(broken)
            self._timer = self._loop.call_later(_TELLING, broken)
        except RuntimeError:  # there is no thread for it
            broken()

    def _end(self, outcome: T | BaseException) -> None:
        if self._done.done():
            return
        self._done.set_result(None)
        self._watch(0)
        self._timer.cancel()
        self._tell(outcome)

    def _abandon(self) -> None:
        self._watch(0)
        self._waits.close()
        self._end(asyncio.CancelledError())

    def _left(self, guard: asyncio.Task[None]) -> None:
        # Not in the task itself: one that is cancelled before its first step never gets to do anything.
        if guard.cancelled():
            self._abandon()


async def _stand_by(done: asyncio.Future[None]) -> None:
    await asyncio.shield(done)


def _call(method: WeakMethod[Callable[[T], None]], given: T) -> None:
    """Call it, if it is still there."""
    if (found := method()) is not None:
        found(given)


def _next(wanted: Generator[int, Any, Any], ready: int, error: Exception | None) -> int:
    if error is not None:
        return wanted.throw(error)
    return wanted.send(ready) if ready else next(wanted)
