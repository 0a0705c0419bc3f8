"""A request on the short cut (`connection.py`) while it waits for its commit, and how it is answered: in one write."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from tenure.gateway.answers import STOPPING, Answer, headers_of
from tenure.gateway.registry import Route
from tenure.job import Enqueued

if TYPE_CHECKING:
    from tenure.gateway.connection import Connection

__all__ = ["Exchange", "Heads"]


class Heads:
    """The heads of answers as uvicorn writes them, made once for all that are alike: until the date in them changes."""

    def __init__(self) -> None:
        self._every: Sequence[tuple[bytes, bytes]] | None = None
        self._made: dict[Any, bytes] = {}

    def of(
        self, answer: Answer, length: int, every: Sequence[tuple[bytes, bytes]], *, keep_alive: bool
    ) -> bytes:
        """The head of an answer with a body of this length; `every` answer has these headers."""
        if every is not self._every:
            self._every, self._made = every, {}
        alike = (answer.status, answer.headers, length, keep_alive)
        made = self._made.get(alike)
        if made is None:
            headers = [*every, *headers_of(answer.headers, length)]
            if not keep_alive:
                headers.append((b"connection", b"close"))
            lines = [b"%s: %s\r\n" % pair for pair in headers]
            made = self._made[alike] = b"".join([STATUS_LINE[answer.status], *lines, b"\r\n"])
        return made


class Exchange:
    """A request that waits for its commit. It stands where uvicorn has a cycle and a task, is told of the commit as a future
    is, and of its deadline as a wait."""

    __slots__ = ("_connection", "_route", "began", "disconnected", "ends", "keep_alive", "response_complete")
    message_event = asyncio.Event()
    """Set when the sender hangs up; nobody waits for it."""

    def __init__(self, connection: Connection, route: Route, began: float, *, keep_alive: bool) -> None:
        self._connection, self._route, self.keep_alive = connection, route, keep_alive
        self.began, self.ends = began, 0.0
        self.disconnected = self.response_complete = False

    def done(self) -> bool:
        """Whether it is answered."""
        return self.response_complete

    def set_result(self, stored: Enqueued) -> None:
        """It is committed."""
        self._answer(self._connection.intake.stored(self._route, stored))

    def set_exception(self, error: BaseException) -> None:
        """It is not, or nobody knows."""
        self._answer(self._connection.intake.failed(self._route.settings.slug, error))

    def expire(self) -> None:
        """The commit takes too long."""
        self.set_exception(TimeoutError(f"no answer within {self._connection.intake.commit.seconds:g} s"))

    def cancel(self, msg: object = None) -> None:  # noqa: ARG002 - a task's shape
        """The server has waited for long enough; it is going through those that it waits for right now."""
        self._connection.loop.call_soon(self._stop)

    def _stop(self) -> None:
        if not self.response_complete:
            self._answer(STOPPING)

    def _answer(self, answer: Answer) -> None:
        self.response_complete = True
        connection = self._connection
        took = connection.loop.time() - self.began
        connection.intake.underway -= 1
        connection.intake.counters.answered(self._route.settings.slug, answer.status, took, answer.reason)
        connection.end(self, answer)
