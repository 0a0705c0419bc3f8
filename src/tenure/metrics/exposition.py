"""A registry as people scrape it: an ASGI app, and a small server of its own for processes that serve nothing else.

200  GET /metrics (HEAD too), in the text format, or as OpenMetrics for who asks for that
404  another path                405  another method
"""

from __future__ import annotations

import asyncio
import http.server
import logging
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

__all__ = ["Exposition", "MetricsServer"]

log = logging.getLogger("tenure.metrics")
Message = MutableMapping[str, Any]
_PATIENCE = 10.0
"""How long a client of the small server may take over its request, in seconds."""


class _Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def _answer(registry: CollectorRegistry, method: str, path: str, accept: str) -> _Answer:
    """What is said to a request."""
    if path not in ("/metrics", "/metrics/"):
        return _Answer(404, {"content-type": "text/plain"}, b"the numbers are at /metrics\n")
    if method not in ("GET", "HEAD"):
        return _Answer(405, {"content-type": "text/plain", "allow": "GET, HEAD"}, b"only GET\n")
    encode, kind = choose_encoder(accept)
    return _Answer(200, {"content-type": kind, "cache-control": "no-store"}, encode(registry))


class Exposition:
    """An ASGI app that answers GET /metrics; mounted under a path, at that path and at /metrics below it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:  # fmt: skip
        """One request, or the server's start and end."""
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            await self._http(scope, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Message, send: Callable[[Message], Awaitable[None]]) -> None:
        root = scope.get("root_path", "")
        path = scope["path"].removeprefix(root)
        if root and path in ("", "/"):
            path = "/metrics"
        accept = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"accept"), "")
        # In a thread: the store may take its time, and whoever else is on this event loop does not wait for it.
        answer = await asyncio.to_thread(_answer, self.registry, scope["method"], path, accept)
        headers = {**answer.headers, "content-length": str(len(answer.body))}
        told = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": told})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection, one request."""

    timeout = _PATIENCE
    server: MetricsServer

    def do_GET(self) -> None:
        """The numbers."""
        answer = _answer(
            self.server.registry, self.command, self.path.partition("?")[0], self.headers.get("accept", "")
        )
        self.send_response(HTTPStatus(answer.status))
        for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - http.server's names

    def version_string(self) -> str:
        """Says nothing of what is installed."""
        return "tenure"

    def log_message(self, format: str, *args: object) -> None:
        """Scrapes come every few seconds."""
        log.debug(format, *args)


class MetricsServer(http.server.ThreadingHTTPServer):
    """Answers GET /metrics on a socket that listens, from threads of its own, until it is closed."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, registry: CollectorRegistry, listening: socket.socket) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.registry, self.socket = registry, listening
        host, port = listening.getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.1}, name="tenure-metrics", daemon=True
        )

    def start(self) -> None:
        """Answer from here on."""
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base's shape
        """A client that went away is no news."""
        log.debug("a scrape failed", exc_info=True)  # noqa: LOG014 - it is called from one
