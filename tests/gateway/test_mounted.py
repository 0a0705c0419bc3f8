"""A gateway inside a Starlette app, behind a real server that knows nothing of it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

import tenure
import tenure.gateway
from tests.gateway.house import House
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.worker.house import Working, until


def mounted(house: House, at: str) -> Starlette:
    """A site of somebody's, with the gateway of an async source in it; a mounted app hears of no start and no end."""
    gateway = tenure.gateway.asgi(house.app, {"inline_secrets": True, "sources": [settings_of("telegram")]})

    @asynccontextmanager
    async def lifespan(_site: Starlette) -> AsyncIterator[None]:
        yield
        await house.app.aclose()

    return Starlette(routes=[Mount(at, app=gateway)], lifespan=lifespan)


@contextmanager
def serving(site: Starlette) -> Iterator[int]:
    """The port of a plain uvicorn that serves it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(site, log_config=None, lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until(lambda: server.started, "the site never started")
        try:
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(40)
            assert not thread.is_alive()


def posted(port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", path, body=body, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text
    finally:
        connection.close()


def test_a_webhook_through_a_mount_is_answered_200_once_its_job_is_committed(house: House) -> None:
    body = body_of("telegram")
    headers = headers_of("telegram", body)
    with serving(mounted(house, "/site/hooks")) as port, tenure.open(house.url) as other:
        status, told = posted(port, "/site/hooks/telegram", body, headers)
        # Another client sees what is committed, and nothing else.
        request, job = other.request(told["id"]), other.get(told["id"])
        again = posted(port, "/site/hooks/telegram", body, headers)
        lost = posted(port, "/telegram", body, headers)[0]
        forged = posted(port, "/site/hooks/telegram", body, {})[0]
        assert len(other.list()) == 1
    assert (status, told["ok"]) == (200, True)
    assert job is not None
    assert request is not None
    assert (job.kind, job.state, request.body) == ("gateway.telegram", "ready", body)
    assert again == (200, {"ok": True, "id": job.id, "duplicate": True})
    assert (lost, forged) == (404, 401)


def test_what_came_through_a_mount_is_handled_by_a_worker(house: House) -> None:
    body = body_of("telegram")
    with serving(mounted(house, "/in")) as port:
        working = Working(house.app, {})
        try:
            assert posted(port, "/in/telegram", body, headers_of("telegram", body))[0] == 200
            until(lambda: house.got == [json.loads(body)], "it was never handled")
        finally:
            working.stop()  # before the site, which closes the store that both use
