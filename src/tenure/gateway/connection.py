"""A connection of our own server: uvicorn's, with the limits that only a server can keep, and a short cut.

A connection that has not sent a whole head in time is closed, and one whose head does not end is answered 400, as is one that
sends too much between or behind the pieces of a body.

The short cut is for what nearly every request is: a POST to an async source that has arrived whole, is in order and can be
stored. It goes straight into the line for the next commit and is answered in one write once that is done: no task, no ASGI.
Whatever else comes goes to the ASGI app, which knows what to say; and the two say the same, byte for byte.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tenure.client.queue import group_commit
from tenure.gateway.answers import Answer, encode
from tenure.gateway.asgi import Gateway
from tenure.gateway.exchange import Exchange, Heads
from tenure.gateway.intake import Intake, decoded
from tenure.gateway.registry import Route
from tenure.newjob import check

__all__ = ["Connection"]

MAX_HEAD = 65_536
"""How many bytes may come that are no part of a body: a head, or what is between and behind chunks."""
_AT_ONCE = 65_536
"""How many bytes are read at a time."""
_buffers: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()
"""One for all connections of an event loop: what was read is done with before the next is."""


class Connection(HttpToolsProtocol, asyncio.BufferedProtocol):
    """One connection; a subclass has the gateway's own values.

    It reads into a buffer that is there already: memory for what might come at most, asked for and given back with every
    read, takes the kernel longer than all of its other work for a request.
    """

    gateway: Gateway
    intake: Intake
    routes: dict[bytes, Route]
    """The async sources, by their paths as they are sent."""
    heads: Heads
    patience: float
    """How many seconds a head may take to arrive."""

    direct = True
    """Whether ordinary requests take the short cut."""
    _timer: asyncio.TimerHandle | None = None
    _headless = _spread = False
    """Whether a request has begun whose head is not complete; whether a head may be longer than what came last."""
    _beside = 0
    """Bytes since a head or a piece of a body was last complete."""
    _held: list[bytes] | None = None
    """The body so far of a request that may take the short cut, if it is whole when all that arrived is read."""

    # What the transport tells.

    def connection_made(self, transport: Any) -> None:
        """There it is."""
        super().connection_made(transport)
        self._buffer = _buffers.setdefault(self.loop, memoryview(bytearray(_AT_ONCE)))
        self.direct = self.config.app is self.gateway and not self.access_log
        self._wait_for_head()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's shape
        """Where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """So many came."""
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """More of a request, or of several."""
        self._beside += len(data)
        self._spread = self._headless or len(data) > MAX_HEAD
        super().data_received(data)
        if self._held is not None:
            self._ask_app(whole=False)
        if self._beside > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")
        cycle: Any = self.cycle
        if self._timer is None and (self._headless or (cycle is not None and cycle.response_complete)):
            self._wait_for_head()  # blank lines before a request begin no request, and would never end

    def connection_lost(self, exc: Exception | None) -> None:
        """The sender, or we, hung up."""
        self._head_is_here()
        super().connection_lost(exc)

    # What the parser tells.

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._headless = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of a head. What comes behind a body in the shape of one is not listened to: proxies do not look at it."""
        if self._headless:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A whole head. What it raises is answered 400, as what is no HTTP."""
        if self._spread and len(self.url) + sum(map(_size, self.headers)) > MAX_HEAD:
            raise ValueError("the head is too long")
        self._beside, self._headless = 0, False
        self._head_is_here()
        if self.direct and self.url in self.routes and self._is_plain():
            self._held = []
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._beside = 0
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        """A whole request."""
        if self._held is None:
            super().on_message_complete()
        elif not self._take(self.routes[self.url], b"".join(self._held)):
            self._ask_app(whole=True)

    # The short cut.

    def _is_plain(self) -> bool:
        """Whether a request is like nearly all: nothing to be said before its body comes, and nobody before it in line."""
        cycle: Any = self.cycle
        return (
            self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
            and not self.flow.write_paused
            and (cycle is None or cycle.response_complete)
        )

    def _take(self, route: Route, body: bytes) -> bool:
        """Put it in line for the next commit; False, and nothing has happened, if there is anything to be said before."""
        intake, settings, began = self.intake, route.settings, self.loop.time()
        queue = intake.opened.now
        if (
            queue is None
            or len(body) > settings.max_body
            or intake.underway >= intake.registry.settings.max_requests
            or (settings.backlog and not intake.backlog.has_room(settings.queue, settings.backlog))
        ):
            return False
        headers = decoded(self.headers)
        try:
            event = intake.event(route, headers, body)
            if not intake.knows(headers) or route.source.at_once(event) is not None:
                return False
            row = check(intake.job(route, headers, body, event))
        except Exception:
            return False
        exchange = Exchange(self, route, began, keep_alive=self.parser.should_keep_alive())
        self._held, self.cycle = None, exchange  # type: ignore[assignment]
        self.tasks.add(exchange)  # type: ignore[arg-type]  # as good as a task, to who waits for it
        intake.underway += 1
        intake.commit.watch(exchange, self.loop)
        group_commit(queue).put(row, exchange)
        return True

    def end(self, exchange: Exchange, answer: Answer) -> None:
        """Answer it, and go on with what came after it."""
        self.tasks.discard(exchange)
        if exchange.disconnected or self.transport.is_closing():
            return
        body = encode(answer.content)
        every = self.server_state.default_headers
        self.transport.write(self.heads.of(answer, len(body), every, keep_alive=exchange.keep_alive) + body)
        if not exchange.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _ask_app(self, *, whole: bool) -> None:
        """The long way for what was held back so far."""
        held, self._held = self._held or [], None
        super().on_headers_complete()
        for piece in held:
            super().on_body(piece)
        if whole:
            super().on_message_complete()

    # How long a head may take.

    def _wait_for_head(self) -> None:
        self._timer = self.loop.call_later(self.patience, self.transport.close)

    def _head_is_here(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _size(header: tuple[bytes, bytes]) -> int:
    return len(header[0]) + len(header[1])
