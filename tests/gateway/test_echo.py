"""echo: a message's text comes back to its chat, whatever Telegram says in between."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import tenure
import tenure.gateway
from tenure.job import Request
from tenure.newjob import NewJob
from tenure.testing.telegram import FakeTelegram
from tests.gateway.bot import TOKEN, bot_of, deliver, ended, notices, say
from tests.gateway.house import House
from tests.gateway.signing import settings_of
from tests.worker.house import Working, until


def sync(telegram: FakeTelegram, **more: Any) -> dict[str, Any]:
    return bot_of(telegram, handler="echo", **{"async": False, **more})


def echo(telegram: FakeTelegram, **more: Any) -> dict[str, Any]:
    return bot_of(telegram, handler="echo", **more)


def test_in_the_request_the_answer_is_the_message(light: House, telegram: FakeTelegram) -> None:
    served = light.serve(sync(telegram, token=None))
    answer = say(served, telegram, "hi", person=7, chat=-5)
    assert answer.json == {"method": "sendMessage", "chat_id": -5, "text": "hi"}
    assert say(served, telegram, "x" * 5_000).json["text"] == "x" * 4_096
    assert [(m["chat_id"], len(m["text"])) for m in telegram.sent] == [(-5, 2), (1, 4_096)]
    assert [c.method for c in telegram.calls] == ["sendMessage"] * 2  # by the answers


def test_what_has_no_text_is_done_with_nothing(light: House, telegram: FakeTelegram) -> None:
    served = light.serve(sync(telegram))
    silent: list[dict[str, Any]] = [
        {"update_id": 100, "message": {"chat": {"id": 1}, "from": {"id": 1}, "photo": []}},
        {"update_id": 101, "message": {"chat": {"id": 1}, "text": "  "}},
        {"update_id": 102, "message": {"text": "from nowhere"}},
        {"update_id": 103, "edited_message": {"chat": {"id": 1}, "text": "hi"}},
        {"update_id": 104, "poll": {"id": "1"}},
        {"update_id": 105},
    ]
    assert [deliver(served, telegram, update).json for update in silent] == [{"ok": True}] * 6
    assert telegram.calls == []


def test_in_a_job_the_message_is_sent(house: House, working: list[Working], telegram: FakeTelegram) -> None:
    served = house.serve(echo(telegram))
    working.append(Working(house.app, {}))
    ids = [say(served, telegram, f"hi {n}", person=n).json["id"] for n in (7, 8)]
    assert [ended(house, i).result for i in ids] == ["sent", "sent"]
    assert sorted((m["chat_id"], m["text"]) for m in telegram.sent) == [(7, "hi 7"), (8, "hi 8")]


def test_a_wait_that_telegram_asks_for_burns_no_attempt(
    house: House, working: list[Working], telegram: FakeTelegram
) -> None:
    telegram.refuse(429, "Too Many Requests: retry after 1", retry_after=1)
    served = house.serve(echo(telegram, max_attempts=1))
    working.append(Working(house.app, {}))
    job = ended(house, say(served, telegram, "hi", person=7).json["id"])
    assert (job.state, job.attempt, job.result) == ("done", 1, "sent")
    assert house.app.queue.history(job.id) == []
    first, second = [c.at for c in telegram.calls]
    assert second - first > 0.99


def test_a_chat_that_became_another_is_followed(
    house: House, working: list[Working], telegram: FakeTelegram
) -> None:
    telegram.refuse(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to=-100500)
    served = house.serve(echo(telegram))
    working.append(Working(house.app, {}))
    job = ended(house, say(served, telegram, "hi", person=7, chat=-5).json["id"])
    assert (job.attempt, job.result) == (1, "sent")
    assert [m["chat_id"] for m in telegram.sent] == [-100500]


@pytest.mark.parametrize(
    ("code", "words"),
    [(403, "Forbidden: bot was blocked by the user"), (400, "Bad Request: chat not found")],
    ids=["blocked", "no chat"],
)
def test_where_nobody_is_there_to_get_it_it_is_done(
    house: House, working: list[Working], telegram: FakeTelegram, code: int, words: str
) -> None:
    telegram.refuse(code, words)
    served = house.serve(echo(telegram, max_attempts=1))
    working.append(Working(house.app, {}))
    job = ended(house, say(served, telegram, "hi", person=7).json["id"])
    assert (job.state, job.result) == ("done", f"not sent: {words}")
    assert telegram.sent == []
    assert notices(house.app.queue) == []


def test_any_other_trouble_is_tried_again_and_no_word_of_it_shows_the_token(
    house: House, working: list[Working], telegram: FakeTelegram, caplog: pytest.LogCaptureFixture
) -> None:
    telegram.refuse(400, f"Bad Request: /bot{TOKEN}/sendMessage is odd")
    telegram.drop()
    served = house.serve(echo(telegram))
    with caplog.at_level(logging.DEBUG):
        working.append(Working(house.app, {}))
        said = say(served, telegram, "hi", person=7)
        job = ended(house, said.json["id"])
    assert (job.state, job.attempt, job.result) == ("done", 3, "sent")
    history = house.app.queue.history(job.id)
    assert [a.error_kind for a in history] == ["BotRefused", "Unreachable"]
    shown = f"{history} {job} {said.body!r} {caplog.text} {[vars(r) for r in caplog.records]}"
    assert "Telegram refused: 400 Bad Request: /bot***/sendMessage is odd" in shown
    assert TOKEN.partition(":")[2] not in shown
    assert [m["text"] for m in telegram.sent] == ["hi"]


def test_a_worker_without_the_token_says_so_and_finds_it_when_it_is_there(
    house: House, working: list[Working], telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = echo(telegram, token="env:LATE_TOKEN", secrets=["env:NOT_SET_HERE"], max_attempts=2)
    tenure.gateway.attach(house.app, {"sources": [given]})
    queue = house.app.queue
    request = Request(b'{"update_id": 1, "message": {"chat": {"id": 7}, "text": "hi"}}', {})
    job_id = queue.enqueue_job(
        NewJob(kind="gateway.bot", payload={}, queue="gateway", max_attempts=2, request=request)
    ).id
    working.append(Working(house.app, {}))
    job = ended(house, job_id)
    assert (job.state, job.attempt) == ("dead", 2)
    assert job.error == (
        "source 'bot' cannot send: token: the secret env:LATE_TOKEN is not set; workers need the token, too"
    )
    monkeypatch.setenv("LATE_TOKEN", TOKEN)
    queue.replay(job_id)
    until(lambda: (seen := queue.get(job_id)) is not None and seen.state == "done")
    assert [m["text"] for m in telegram.sent] == ["hi"]
    working.pop().stop()
    asyncio.run(house.app.aclose())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (settings_of("telegram", handler="echo"), 'echo needs the bot\'s token; write token = "env:NAME"'),
        (
            settings_of("telegram", handler="echo:x", **{"async": False}),
            "echo takes no argument",
        ),
        (settings_of("github", handler="echo"), "echo is for telegram sources"),
    ],
    ids=["token", "argument", "github"],
)
def test_what_keeps_echo_from_working_is_told(given: dict[str, Any], sentence: str) -> None:
    app = tenure.App("sqlite:///never-opened.db")
    problems = tenure.gateway.look(app, {"inline_secrets": True, "sources": [given]})[1]
    assert problems == [f"source {given['slug']!r}: handler: {sentence}."]
