"""A plan on an event loop: no thread waits for the server; the loop looks at the connection when there is something on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from tenure.store.postgres.connection import Link, TooLong
from tenure.store.postgres.limits import ORDINARY
from tenure.store.postgres.trip import Waits

__all__ = ["Errand"]

T = TypeVar("T")
_READ, _WRITE = 1, 2
"""As psycopg's waits ask for them, and are told that they have come."""


class Errand(Generic[T]):
    """One plan on its way over one connection; `tell` hears its answer or its error, on the event loop.

    It is given as long as one statement may take, for all that it asks. A task stands by it: if that is cancelled, as when the event
    loop ends, so is the errand, and its connection is given up.
    """

    def __init__(self, link: Link, waits: Waits[T], tell: Callable[[T | BaseException], None]) -> None:
        self._link, self._waits, self._tell = link, waits, tell
        self._loop = asyncio.get_running_loop()
        self._number, self._watched = link.fileno(), 0
        self._wanted: Generator[Any, Any, Any] | None = None
        limit = ORDINARY if link.limit is None else link.limit
        self._timer = self._loop.call_later(limit, self._give_up, limit)
        self._done = self._loop.create_future()
        self._guard = self._loop.create_task(self._stand_by())
        self._guard.add_done_callback(self._left)

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
                except StopIteration as end:
                    wanted = self._waits.send(end.value)
                except Exception as failed:
                    wanted = self._waits.throw(failed)
                else:
                    self._wanted = wanted
                    self._watch(need)
                    return
                ready, error = 0, None
        except StopIteration as end:
            self._end(end.value)
        except BaseException as failed:
            self._end(failed)

    def _watch(self, need: int) -> None:
        """Have the event loop go on when the connection is ready for this; a connection that is closed is watched no more."""
        for what, watch, let_be in (
            (_READ, self._loop.add_reader, self._loop.remove_reader),
            (_WRITE, self._loop.add_writer, self._loop.remove_writer),
        ):
            if need & what and not self._watched & what:
                watch(self._number, self._go, what, None)
            elif self._watched & what and not need & what:
                let_be(self._number)
        self._watched = need

    def _give_up(self, limit: float) -> None:
        """It has taken too long. The server is told so by a thread, as far as it hears."""
        self._watch(0)
        told = self._loop.run_in_executor(None, self._link.give_up)
        told.add_done_callback(lambda _: self._go(0, TooLong(limit)))

    def _end(self, outcome: T | BaseException) -> None:
        if self._done.done():
            return
        self._done.set_result(None)
        self._watch(0)
        self._timer.cancel()
        self._tell(outcome)

    async def _stand_by(self) -> None:
        await asyncio.shield(self._done)

    def _left(self, guard: asyncio.Task[None]) -> None:
        # Not in the task itself: one that is cancelled before its first step never gets to do anything.
        if guard.cancelled():
            self._watch(0)
            self._waits.close()
            self._end(asyncio.CancelledError())


def _next(wanted: Generator[int, Any, Any], ready: int, error: Exception | None) -> int:
    if error is not None:
        return wanted.throw(error)
    return wanted.send(ready) if ready else next(wanted)
