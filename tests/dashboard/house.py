"""A dashboard on a fresh store, served by a real server on loopback, and a client that speaks to it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlencode

import uvicorn
from starlette.types import ASGIApp

import tenure
from tenure.dashboard import Dashboard, DashboardSettings, asgi
from tests.worker.house import until

__all__ = ["OPERATOR", "VIEWER", "Answer", "House", "Served"]

OPERATOR, VIEWER = "operator-token-0123456789", "viewer-token-0123456789"


class Answer(NamedTuple):
    """What the dashboard said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)


class Served:
    """An ASGI app behind uvicorn, in a thread; `under` is where in it the dashboard is."""

    def __init__(self, app: ASGIApp, under: str = "") -> None:
        self.app, self.under = app, under
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=10)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listening]}, daemon=True
        )
        self._thread.start()
        until(lambda: self._server.started, "the dashboard never started")

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        """One request on a connection of its own; a header that is None is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        try:
            connection.putrequest(method, self.under + path, skip_host=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body or method == "POST":
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read())
        finally:
            connection.close()

    def get(self, path: str, *, token: str | None = None, **query: str | int) -> Answer:
        """One page of JSON."""
        asked = f"{path}?{urlencode(query)}" if query else path
        return self.ask("GET", asked, headers=_bearer(token))

    def act(self, action: str, *, token: str | None = None, **said: Any) -> Answer:
        """One action, as the page does it."""
        csrf = self.get("/api/me", token=token).json["csrf"]
        headers = {"Content-Type": "application/json", "X-Tenure-CSRF": csrf, **_bearer(token)}
        return self.ask("POST", "/api/act", json.dumps({"action": action, **said}).encode(), headers)

    @contextmanager
    def stream(self) -> Iterator[Iterator[tuple[str, Any]]]:
        """The live stream's events, as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", f"{self.under}/api/stream")
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.getheader("content-type", "").startswith("text/event-stream")
        try:
            yield _events(answer)
        finally:
            answer.close()
            connection.close()

    def close(self) -> None:
        if isinstance(self.app, Dashboard):
            self.app.leave()
        self._server.should_exit = True
        self._thread.join(40)
        self._listening.close()
        assert not self._thread.is_alive()


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    name = ""
    while line := answer.readline():
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))


def _bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


class House:
    """An app on one store, and the dashboards served for it."""

    def __init__(self, url: str) -> None:
        self.app = tenure.App(url)
        self.q = self.app.queue
        self._served: list[Served] = []

    def serve(self, settings: DashboardSettings | None = None, **options: Any) -> Served:
        """A dashboard with these settings."""
        return self.served(asgi(self.app, settings, **options))

    def guarded(self, **settings: Any) -> Served:
        """One that asks who it is."""
        return self.serve(DashboardSettings(operator_token=OPERATOR, viewer_token=VIEWER, **settings))

    def served(self, app: ASGIApp, under: str = "") -> Served:
        """Any app."""
        made = Served(app, under)
        self._served.append(made)
        return made

    def dead(self, kind: str = "work", payload: Any = None, **options: Any) -> str:
        """A job that has died."""
        made = self.q.enqueue(kind, payload, max_attempts=1, **options)
        [claim] = self.q.claim(kinds=[kind])
        self.q.settle(claim, tenure.Fail("no such thing", kind="ValueError", traceback="Traceback: here"))
        assert claim.id == made.id
        return made.id

    def close(self) -> None:
        for served in self._served:
            served.close()
        asyncio.run(self.app.aclose())
