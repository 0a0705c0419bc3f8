"""A connection of our own server: uvicorn's, with limits (`wire.py`) and a short cut.

The short cut is for what nearly every request is: a POST to an async source that has arrived whole, is in order and can be
stored. It goes straight into the line for the next commit and is answered in one write once that is done: no task, no ASGI.
Whatever else comes goes to the ASGI app, which knows what to say; and the two say the same, byte for byte.
"""

from __future__ import annotations

from typing import Any

from tenure.client.async_queue import group_commit
from tenure.gateway.answers import Answer, encode
from tenure.gateway.asgi import Gateway
from tenure.gateway.exchange import Exchange, Heads
from tenure.gateway.intake import Intake, decoded
from tenure.gateway.registry import Route
from tenure.gateway.wire import Wire
from tenure.newjob import check

__all__ = ["Connection"]


class Connection(Wire):
    """One connection; a subclass has the gateway's own values."""

    gateway: Gateway
    intake: Intake
    routes: dict[bytes, Route]
    """The async sources, by their paths as they are sent."""
    heads: Heads

    direct = True
    """Whether ordinary requests take the short cut."""
    _held: list[bytes] | None = None
    """The body so far of a request that may take the short cut, if it is whole when all that arrived is read."""

    def connection_made(self, transport: Any) -> None:
        """There it is."""
        super().connection_made(transport)
        self.direct = self.config.app is self.gateway and not self.access_log

    # What the parser tells.

    def begin(self) -> None:
        """A request whose head is whole."""
        if self.direct and self.url in self.routes and self._is_plain():
            self._held = []
        else:
            super().begin()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        if self._held is None:
            super().on_body(body)
        else:
            self._beside = 0
            self._held.append(body)

    def on_message_complete(self) -> None:
        """A whole request."""
        if self._held is None:
            super().on_message_complete()
        elif not self._take(self.routes[self.url], b"".join(self._held)):
            self._ask_app(whole=True)

    def arrived(self) -> None:
        """What is not whole by now takes the long way."""
        if self._held is not None:
            self._ask_app(whole=False)

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read."""
        self._held = None
        super().send_400_response(msg)

    def ended(self, status: int, reason: str) -> None:
        """Count it; whose it would have been nobody knows."""
        self.gateway.counters.answered("", status, 0.0, reason)

    # The short cut.

    def _is_plain(self) -> bool:
        """Whether a request is like nearly all: nothing to be said before its body comes, and nobody before it in line."""
        return (
            self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and not self.expect_100_continue
            and not self.flow.write_paused
            and not self.owed
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
        self.owed += 1
        self.tasks.add(exchange)  # type: ignore[arg-type]  # as good as a task, to who waits for it
        intake.underway += 1
        intake.commit.watch(exchange, self.loop)
        # The loop is known here; to ask which one runs costs a call into the kernel (Python 3.11).
        group_commit(queue, self.loop).put(row, exchange)
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
        super().begin()
        for piece in held:
            super().on_body(piece)
        if whole:
            super().on_message_complete()
