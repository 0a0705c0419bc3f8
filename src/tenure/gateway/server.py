"""Serving a gateway with uvicorn, with the limits that only a server can keep.

An ASGI app is called once a request's headers have arrived, so their deadline is kept here: a connection that has not sent
a whole head in time is closed. So is the number of connections. Needs the extra `gateway`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tenure.gateway.asgi import Gateway

__all__ = ["uvicorn_config"]

MAX_CONNECTIONS = 2_000


def uvicorn_config(
    gateway: Gateway, *, host: str = "127.0.0.1", port: int = 8000, **options: Any
) -> uvicorn.Config:
    """The server's settings: `uvicorn.Server(uvicorn_config(gateway, port=8080)).run()`. Options go to uvicorn as they are."""
    seconds = gateway.registry.header_deadline
    chosen: dict[str, Any] = {
        "http": _protocol(seconds),
        "loop": "asyncio",
        "ws": "none",
        "lifespan": "on",
        "server_header": False,
        "access_log": False,
        "limit_concurrency": MAX_CONNECTIONS,
        "timeout_keep_alive": 20,
        "timeout_graceful_shutdown": 30,
        "h11_max_incomplete_event_size": 32_768,
    }
    return uvicorn.Config(gateway, host=host, port=port, **{**chosen, **options})


def _protocol(seconds: float) -> type[HttpToolsProtocol]:
    class Deadline(HttpToolsProtocol):
        """Closes a connection whose request's head takes longer than `seconds`."""

        head: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait_for_head()

        def on_message_begin(self) -> None:
            self._wait_for_head()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head_is_here()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_here()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self._head_is_here()
            self.head = self.loop.call_later(seconds, self.transport.close)

        def _head_is_here(self) -> None:
            if self.head is not None:
                self.head.cancel()
                self.head = None

    return Deadline
