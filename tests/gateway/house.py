"""A gateway on a fresh store, served by a real server on loopback, and a client that speaks to it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from typing import Any, NamedTuple

import uvicorn

import tenure
import tenure.gateway
from tenure.gateway.server import uvicorn_config
from tests.worker.house import until

__all__ = ["Answer", "House", "Served"]


class Answer(NamedTuple):
    """What the gateway said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """A gateway behind uvicorn, in a thread."""

    def __init__(self, gateway: tenure.gateway.Gateway, **options: Any) -> None:
        self.gateway = gateway
        listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = listening.getsockname()[1]
        self._server = uvicorn.Server(uvicorn_config(gateway, log_config=None, **options))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name="test-gateway", daemon=True
        )
        self._thread.start()
        until(lambda: self._server.started, "the gateway never started")
        self._listening = listening

    def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, given, answer.read())
        finally:
            connection.close()

    def post(self, slug: str, body: bytes, headers: dict[str, str] | None = None) -> Answer:
        return self.ask("POST", f"/{slug}", body, headers)

    def raw(self) -> socket.socket:
        """A bare connection, for who speaks no proper HTTP."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(40)
        self._listening.close()
        assert not self._thread.is_alive()


class House:
    """An app on one store, with a job that notes what it is given, and the gateways served for it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.app = tenure.App(url)
        self.got: list[Any] = []
        self.returns: Any = None
        self._served: list[Served] = []

        @self.app.job
        async def on_event(event: dict[str, Any]) -> Any:
            self.got.append(event)
            return self.returns

    def serve(self, *sources: dict[str, Any], **shared: Any) -> Served:
        """A gateway of these sources."""
        options = shared.pop("server", {})
        config = {"inline_secrets": True, **shared, "sources": list(sources)}
        served = Served(tenure.gateway.asgi(self.app, config), **options)
        self._served.append(served)
        return served

    def close(self) -> None:
        for served in self._served:
            served.close()
        asyncio.run(self.app.aclose())  # handlers that a worker ran may have awaited it
