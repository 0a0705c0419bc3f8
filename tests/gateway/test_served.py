"""A gateway inside another app, and one that is told to stop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import tenure
import tenure.gateway
from tests.gateway.house import House, Served
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.worker.house import until


def asked(gateway: Any, path: str, root: str) -> int:
    """One request as a framework passes it on to an app that is mounted there; the status."""
    sent: list[Any] = []
    body = body_of("telegram")
    headers = [(k.lower().encode(), v.encode()) for k, v in headers_of("telegram", body).items()]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        scope = {"type": "http", "method": "POST", "path": path, "root_path": root, "headers": headers}
        await gateway(scope, receive, send)

    asyncio.run(ask())
    return int(sent[0]["status"])


def test_a_gateway_can_be_mounted_in_another_app(light: House) -> None:
    config = {"inline_secrets": True, "sources": [settings_of("telegram", **{"async": False})]}
    gateway = tenure.gateway.asgi(light.app, config)
    assert asked(gateway, "/in/telegram", "/in") == 200
    assert asked(gateway, "/telegram", "") == 200
    assert asked(gateway, "/out/telegram", "/in") == 404


def test_a_gateway_that_was_stopped_can_be_started_again(house: House) -> None:
    config = {"inline_secrets": True, "sources": [settings_of("telegram")]}
    gateway = tenure.gateway.asgi(house.app, config)
    for first in (1, 3):
        served = Served(gateway)
        try:
            assert served.ask("GET", "/readyz").status == 200
            for number in (first, first + 1):
                body = body_of("telegram", update_id=number)
                assert served.post("telegram", body, headers_of("telegram", body)).status == 200
        finally:
            served.close()
    assert len(house.app.queue.list()) == 4


def test_a_gateway_that_is_told_to_stop_answers_what_is_under_way(light: House) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @light.app.job
    def waits(event: dict[str, Any]) -> dict[str, str]:
        begun.set()
        go_on.wait(30)
        return {"in": "time"}

    served = light.serve(settings_of("telegram", **{"async": False}, handler="python:waits", deadline="30s"))
    body = body_of("telegram")
    answers: list[Any] = []
    asking = threading.Thread(
        target=lambda: answers.append(served.post("telegram", body, headers_of("telegram", body)))
    )
    asking.start()
    assert begun.wait(30)
    served._server.should_exit = True
    until(lambda: not served._server.servers or not served._server.servers[0].is_serving())
    go_on.set()
    asking.join(30)
    assert answers[0].json == {"in": "time"}
