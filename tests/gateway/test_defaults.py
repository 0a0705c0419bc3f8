"""What a gateway does that was told nothing more: each promised default, where it has its effect."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import tenure
import tenure.gateway
from tenure import testing
from tests.gateway.house import House
from tests.gateway.signing import SECRETS, body_of, headers_of, settings_of
from tests.worker.house import until

LEAST = {"slug": "bot", "type": "telegram", "handler": "python:on_event", "secrets": [f"inline:{SECRETS['telegram']}"]}  # fmt: skip
BODY = body_of("telegram")
HEADERS = headers_of("telegram", BODY)


def test_a_source_is_sync_unless_it_is_told_otherwise(light: House) -> None:
    served = light.serve(LEAST)
    light.returns = {"said": "at once"}
    assert served.post("bot", BODY, HEADERS).json == {"said": "at once"}
    assert light.app.queue.list() == []


def test_a_head_has_five_seconds_and_a_body_ten(light: House) -> None:
    served = light.serve(LEAST)
    connection: Any = served._server.config.http
    assert (connection.head_within, served.gateway._body.seconds) == (5.0, 10.0)


def test_the_request_above_a_thousand_is_told_to_come_back(light: House) -> None:
    served = light.serve(LEAST)
    served.gateway.intake.underway = 999
    assert served.post("bot", BODY, HEADERS).status == 200
    served.gateway.intake.underway = 1_000
    assert served.post("bot", BODY, HEADERS).status == 503


def test_the_connection_above_two_thousand_is_told_to_come_back(light: House) -> None:
    served = light.serve(LEAST)
    known: set[Any] = served._server.server_state.connections
    others = {object() for _ in range(1_999)}
    known |= others
    try:
        assert served.ask("GET", "/healthz").status == 200
        until(lambda: len(known) == 1_999)
        one_more = object()
        others.add(one_more)
        known.add(one_more)
        assert served.ask("GET", "/healthz").status == 503
    finally:
        known -= others


def test_a_delivery_that_keeps_failing_waits_longer_and_longer_and_is_dead_at_the_fifth_attempt() -> None:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_event(event: dict[str, Any]) -> None:
        raise RuntimeError("never")

    with testing.run(app) as stage:
        gateway = tenure.gateway.asgi(stage.app, {"inline_secrets": True, "sources": [settings_of("github")]})
        new = gateway.intake.job(gateway.registry.routes["github"], {"x-github-delivery": "1"}, b"{}", {})
        job_id = stage.queue.enqueue_job(new).id
        second = timedelta(seconds=1)
        for wait in (30, 120, 600, 3_600):
            assert len(stage.drain()) == 1
            stage.clock.advance(wait * second - second)
            assert stage.drain() == []
            stage.clock.advance(second)
        assert len(stage.drain()) == 1
        job = stage.queue.get(job_id)
        assert job is not None
        assert (job.state, job.attempt) == ("dead", 5)
