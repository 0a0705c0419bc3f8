"""Serving a gateway with uvicorn, with the limits that only a server can keep.

An ASGI app is called once a request's headers have arrived, so their deadline and their length are kept by the connections
(`wire.py`). The number of these is kept here: who comes when there are too many is answered 503, who comes on top of a whole
backlog of such is hung up on, and who was there before is served. Handshakes count as well (`handshakes.py`). Needs the extra
`gateway`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn

from tenure.gateway.asgi import Gateway, Send
from tenure.gateway.connection import Connection
from tenure.gateway.exchange import Heads
from tenure.gateway.handshakes import Handshakes
from tenure.gateway.noise import CROWDED, spare
from tenure.gateway.room import BACKLOG, MAX_CONNECTIONS

__all__ = ["uvicorn_config"]


class _Config(uvicorn.Config):
    """uvicorn's settings, with event loops that know of handshakes."""

    handshakes: Handshakes

    def get_loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        """What makes the event loop."""
        made = super().get_loop_factory() or asyncio.new_event_loop
        return partial(self._loop, made) if self.is_ssl else made

    def _loop(self, made: Callable[[], asyncio.AbstractEventLoop]) -> asyncio.AbstractEventLoop:
        loop = made()
        self.handshakes.listen(loop)
        return loop


def uvicorn_config(
    gateway: Gateway, *, host: str = "127.0.0.1", port: int = 8000, **options: Any
) -> uvicorn.Config:
    """The server's settings: `uvicorn.Server(uvicorn_config(gateway, port=8080)).run()`. Options go to uvicorn as they are."""
    most = options.pop("limit_concurrency", MAX_CONNECTIONS)
    chosen: dict[str, Any] = {
        "http": _connections(gateway, most, options.get("backlog", BACKLOG)),
        "backlog": BACKLOG,
        "loop": "asyncio",
        "ws": "none",
        "lifespan": "on",
        "server_header": False,
        "access_log": False,
        "timeout_keep_alive": 20,
        "timeout_graceful_shutdown": 30,
        "h11_max_incomplete_event_size": 32_768,
    }
    config = _Config(gateway, host=host, port=port, **{**chosen, **options})
    all_ = None if most is None else most + config.backlog
    config.handshakes = Handshakes(gateway.registry.header_deadline, all_)
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


def _connections(gateway: Gateway, most: int | None, backlog: int) -> type[Connection]:
    """The connections of this gateway; at most so many are served, and at most a backlog more are told why not."""
    crowded, registry = _crowded(gateway), gateway.registry
    paths = {f"{registry.settings.prefix}/{slug}".encode(): route for slug, route in registry.routes.items()}

    class Counted(Connection):
        """Told to come back if there are too many."""

        def connection_made(self, transport: Any) -> None:
            _send_at_once(transport)
            super().connection_made(transport)
            if most is not None and len(self.connections) > most:
                self.app, self.direct = crowded, False
                self.logger.warning(CROWDED)
                if len(self.connections) > most + backlog:
                    self.ended(0, "too many connections")
                    transport.abort()

    Counted.gateway, Counted.intake, Counted.heads = gateway, gateway.intake, Heads()
    Counted.routes = {path: route for path, route in paths.items() if route.settings.is_async}
    Counted.head_within, Counted.taken_within = registry.header_deadline, registry.body_deadline
    return Counted
