"""Serving a gateway with uvicorn, with the limits that only a server can keep.

An ASGI app is called once a request's headers have arrived, so their deadline is kept here: a connection that has not sent
a whole head in time is closed, and one whose head does not end is answered 400, as is one that sends too much between or
behind the pieces of a body. So is the number of connections: who comes when there are too many is answered 503, and who was
there before is served. Needs the extra `gateway`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tenure.gateway.asgi import Gateway, Send
from tenure.gateway.noise import CROWDED, spare

__all__ = ["uvicorn_config"]

MAX_CONNECTIONS = 2_000
MAX_HEAD = 65_536
"""How many bytes may come that are no part of a body: a head, or what is between and behind chunks."""


def uvicorn_config(
    gateway: Gateway, *, host: str = "127.0.0.1", port: int = 8000, **options: Any
) -> uvicorn.Config:
    """The server's settings: `uvicorn.Server(uvicorn_config(gateway, port=8080)).run()`. Options go to uvicorn as they are."""
    most = options.pop("limit_concurrency", MAX_CONNECTIONS)
    chosen: dict[str, Any] = {
        "http": _protocol(gateway, most),
        "loop": "asyncio",
        "ws": "none",
        "lifespan": "on",
        "server_header": False,
        "access_log": False,
        "timeout_keep_alive": 20,
        "timeout_graceful_shutdown": 30,
        "h11_max_incomplete_event_size": 32_768,
    }
    config = uvicorn.Config(gateway, host=host, port=port, **{**chosen, **options})
    spare(logging.getLogger("uvicorn.error"))
    return config


def _send_at_once(transport: Any) -> None:
    """An answer is two small writes; the second must not wait for word of the first, which may take 40 ms to come.

    The event loop sees to this by itself, but not on connections of a socket that was bound by somebody else.
    """
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):  # gone already
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _crowded(gateway: Gateway) -> Any:
    """What serves the connections above the limit."""
    body = b'{"ok":false,"error":"too many connections"}'
    given = {"content-type": "application/json", "content-length": str(len(body)), "retry-after": "5", "connection": "close"}  # fmt: skip
    headers = [(name.encode(), value.encode()) for name, value in given.items()]

    async def answer(_scope: Any, _receive: Any, send: Send) -> None:
        gateway.counters.answered("", 503, 0.0, "too many connections")
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def _protocol(gateway: Gateway, most: int | None) -> type[HttpToolsProtocol]:
    seconds, crowded = gateway.registry.header_deadline, _crowded(gateway)

    class Careful(HttpToolsProtocol):
        """Closes a connection whose request's head takes longer than `seconds`, or that sends too much beside bodies."""

        head: asyncio.TimerHandle | None = None
        beside = 0
        """Bytes since a head or a piece of a body was last complete."""

        def connection_made(self, transport: Any) -> None:
            _send_at_once(transport)
            super().connection_made(transport)
            if most is not None and len(self.connections) > most:
                self.app = crowded
                self.logger.warning(CROWDED)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            cycle: Any = self.cycle
            if self.head is None and cycle is not None and cycle.response_complete:
                self._wait_for_head()  # blank lines before a request begin no request, and would never end
            self.beside += len(data)
            super().data_received(data)
            if self.beside > MAX_HEAD and not self.transport.is_closing():
                self.send_400_response("Invalid HTTP request received.")

        def on_message_begin(self) -> None:
            if self.head is None:
                self._wait_for_head()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD:
                raise ValueError("the head is too long")  # answered 400, as what is no HTTP
            self.beside = 0
            self._head_is_here()
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self.beside = 0
            super().on_body(body)

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_here()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self.head = self.loop.call_later(seconds, self.transport.close)

        def _head_is_here(self) -> None:
            if self.head is not None:
                self.head.cancel()
                self.head = None

    return Careful
