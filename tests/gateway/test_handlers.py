"""Handlers: in the request for sync sources, in a job for async ones."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import tenure
from tenure.gateway import Delivery
from tests.gateway.house import House
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.worker.house import Working, until


class Chat(msgspec.Struct):
    id: int


class Message(msgspec.Struct):
    chat: Chat
    text: str


class Update(msgspec.Struct):
    update_id: int
    message: Message


@pytest.fixture
def working(house: House) -> Iterator[list[Working]]:
    """Workers that are stopped at the end."""
    started: list[Working] = []
    yield started
    for worker in started:
        worker.stop()


def sync(**more: Any) -> dict[str, Any]:
    return settings_of("telegram", **{"async": False, **more})


def test_a_sync_source_answers_what_its_handler_returned(house: House) -> None:
    served = house.serve(sync())
    body = body_of("telegram")
    house.returns = {"method": "sendMessage", "chat_id": 42, "text": "hi"}
    assert served.post("telegram", body, headers_of("telegram", body)).json == house.returns
    for other in ("anything else", {"no": object()}, {"no": "\ud800"}, [1], None):
        house.returns = other
        assert served.post("telegram", body, headers_of("telegram", body)).json == {"ok": True}
    assert [e["update_id"] for e in house.got] == [7] * 6
    assert house.app.queue.list() == []


def test_a_sync_source_needs_no_store(light: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", "none")
    light.app = app = tenure.App()

    @app.job
    def on_event(update: Update) -> dict[str, int]:
        return {"chat": update.message.chat.id}

    served = light.serve(sync())
    body = body_of("telegram")
    assert served.post("telegram", body, headers_of("telegram", body)).json == {"chat": 42}
    assert served.ask("GET", "/readyz").status == 200
    misfit = body_of("telegram", message={"chat": {"id": "x"}, "text": ""})
    assert served.post("telegram", misfit, headers_of("telegram", misfit)).status == 400


def test_a_sync_handler_that_fails_or_takes_too_long_is_503_and_tells_nothing(
    light: House, caplog: pytest.LogCaptureFixture
) -> None:
    token = "123456789:" + "A" * 35

    @light.app.job
    async def fails(event: dict[str, Any]) -> None:
        raise RuntimeError(f"{token} and tele-gram_SECRET")

    @light.app.job
    async def waits(event: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    served = light.serve(
        sync(slug="a", handler="python:fails"), sync(slug="b", handler="python:waits", deadline="50ms")
    )
    body = body_of("telegram")
    with caplog.at_level(logging.DEBUG):
        answers = [served.post(slug, body, headers_of("telegram", body)) for slug in "ab"]
        assert served.post("a", body, headers_of("telegram", body)).status == 503
    assert [(a.status, a.json["error"]) for a in answers] == [
        (503, "handler failed"),
        (503, "handler too slow"),
    ]
    assert {a.headers["retry-after"] for a in answers} == {"5"}
    assert caplog.text.count("the handler failed") == 1  # the second time within seconds is not told
    assert token not in caplog.text
    assert "tele-gram_SECRET" not in caplog.text


def test_a_sync_handler_s_own_timeout_is_a_failure_of_its_and_is_told(
    light: House, caplog: pytest.LogCaptureFixture
) -> None:
    @light.app.job
    async def impatient(event: dict[str, Any]) -> None:
        raise TimeoutError("the printer does not answer")

    served = light.serve(sync(handler="python:impatient", deadline="30s"))
    body = body_of("telegram")
    answer = served.post("telegram", body, headers_of("telegram", body))
    assert (answer.status, answer.json["error"]) == (503, "handler failed")
    assert "telegram: the handler failed: TimeoutError: the printer does not answer" in caplog.text


def test_a_sync_handler_that_buries_has_given_up_and_the_sender_need_not_try_again(
    light: House, caplog: pytest.LogCaptureFixture
) -> None:
    @light.app.job
    async def buries(event: dict[str, Any]) -> None:
        raise tenure.Bury("no such customer", "customer 5 is gone")

    served = light.serve(sync(handler="python:buries"))
    body = body_of("telegram")
    answer = served.post("telegram", body, headers_of("telegram", body))
    assert (answer.status, answer.json) == (200, {"ok": True, "gave_up": True})
    assert served.gateway.counters.given_up == {"telegram": 1}
    assert "the handler gave up, and the sender need not try again" in caplog.text
    assert "no such customer: customer 5 is gone" in caplog.text


def test_an_async_source_is_handled_by_a_worker_as_its_settings_say(
    house: House, working: list[Working]
) -> None:
    seen: list[Delivery] = []

    @house.app.job
    async def whole(ctx: tenure.Context, delivery: Delivery) -> str:
        seen.append(delivery)
        if ctx.attempt == 1:
            raise RuntimeError("not yet")
        return delivery.event["zen"]  # type: ignore[no-any-return]

    served = house.serve(settings_of("github", handler="python:whole", retry=["1ms"]))
    working.append(Working(house.app, {}))
    body = body_of("github")
    job_id = served.post("github", body, headers_of("github", body)).json["id"]
    queue = house.app.queue
    until(lambda: (job := queue.get(job_id)) is not None and job.state == "done")
    job = queue.get(job_id)
    assert job is not None
    assert (job.attempt, job.result) == (2, "Design for failure.")
    assert [d.body for d in seen] == [body, body]
    assert seen[0].headers["x-github-event"] == "ping"


def test_a_def_that_takes_too_long_is_told_and_is_not_run_twice_at_once(
    house: House, working: list[Working]
) -> None:
    @house.app.job
    def slow(ctx: tenure.Context, event: dict[str, Any]) -> str:
        def told() -> bool:
            try:
                ctx.check()
            except TimeoutError:
                return True
            return False

        until(told)
        return "late"

    served = house.serve(settings_of("github", handler="python:slow", timeout="500ms", retry=["1ms"]))
    working.append(Working(house.app, {}))
    body = body_of("github")
    job_id = served.post("github", body, headers_of("github", body)).json["id"]
    queue = house.app.queue
    until(lambda: (job := queue.get(job_id)) is not None and job.state == "done")
    job = queue.get(job_id)
    assert job is not None
    assert (job.attempt, job.result) == (1, "late")


def test_a_def_that_nobody_waits_for_any_more_is_not_begun(
    light: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who comes later waits behind it, is too late as well, and so it goes on."""
    monkeypatch.setattr("tenure.gateway.handlers.python._THREADS", 1)
    go, begun = threading.Event(), list[int]()

    @light.app.job
    def waits(event: dict[str, Any]) -> None:
        begun.append(event["update_id"])
        go.wait(60)

    served = light.serve(sync(slug="a", handler="python:waits", deadline="100ms"))

    def post(number: int) -> int:
        body = body_of("telegram", update_id=number)
        return served.post("a", body, headers_of("telegram", body)).status

    assert [post(number) for number in (1, 2, 3)] == [503] * 3
    go.set()
    until(lambda: post(4) == 200)
    assert set(begun) == {1, 4}


def test_a_delivery_that_the_function_does_not_take_is_dead_at_once(
    house: House, working: list[Working]
) -> None:
    @house.app.job
    def typed(update: Update) -> None:
        raise AssertionError(update)

    served = house.serve(settings_of("telegram", handler="python:typed"))
    working.append(Working(house.app, {}))
    body = body_of("telegram", message="text")
    job_id = served.post("telegram", body, headers_of("telegram", body)).json["id"]
    queue = house.app.queue
    until(lambda: (job := queue.get(job_id)) is not None and job.state == "dead")
    job = queue.get(job_id)
    assert job is not None
    assert (job.reason, job.attempt) == ("bad arguments", 1)


def test_a_worker_s_app_is_given_the_kinds_without_the_secrets(light: House) -> None:
    config = {"sources": [settings_of("telegram", secrets=["env:NOT_SET_HERE"], max_attempts=2)]}
    for _ in range(2):
        tenure.gateway.attach(light.app, config)
    kind = light.app.kinds["gateway.telegram"]
    waits = [kind.terms.retry.delay(n).total_seconds() for n in (1, 2, 3, 4, 5)]
    assert (waits, kind.terms.max_attempts) == ([30, 120, 600, 3_600, 3_600], 2)
