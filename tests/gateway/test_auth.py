"""auth: who may use a bot, how a stranger is let in, and what the others are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tenure
import tenure.gateway
from tenure.gateway.telegram.codes import code_in, make_code, redeem, user_note
from tenure.testing.telegram import FakeTelegram
from tests.gateway.bot import bot_of, deliver, ended, notices, say
from tests.gateway.house import House, Served
from tests.gateway.signing import settings_of
from tests.gateway.test_telegram_api import UPDATES
from tests.support.clock import MovedClock
from tests.worker.house import Working

THEN = "python:on_event"
NO = "I am sorry, this bot is private."
YES = "Welcome! You can use this bot now."


def auth(telegram: FakeTelegram, *, is_async: bool = True, **options: Any) -> dict[str, Any]:
    return bot_of(telegram, handler="auth", options={"then": THEN, **options}, **{"async": is_async})


def method(chat: int, text: str) -> dict[str, Any]:
    return {"method": "sendMessage", "chat_id": chat, "text": text}


def numbers(house: House) -> list[int]:
    """The updates that got through, by their persons."""
    return [event["message"]["from"]["id"] for event in house.got]


def test_who_is_on_the_list_may_and_a_stranger_is_told_no_once_a_day(
    house: House, working: list[Working], telegram: FakeTelegram
) -> None:
    served = house.serve(auth(telegram, allow=[7]))
    working.append(Working(house.app, {}))
    ids = [say(served, telegram, "hi", person=p).json["id"] for p in (7, 8, 8, 9)]
    results = [ended(house, i).result for i in ids]
    assert results == [None, "refused; sent", "refused", "refused; sent"]
    assert numbers(house) == [7]
    assert sorted((m["chat_id"], m["text"]) for m in telegram.sent) == [(8, NO), (9, NO)]


def test_the_next_day_a_stranger_is_told_no_again(house: House, telegram: FakeTelegram) -> None:
    clock = MovedClock()
    house.app = tenure.App(house.url, clock=clock)
    served = house.serve(auth(telegram, is_async=False, then="echo"))
    update = telegram.message("hi", person=8)
    assert deliver(served, telegram, update).json == method(8, NO)
    assert deliver(served, telegram, update).json == method(
        8, NO
    )  # its answer was lost, so it is asked again
    assert say(served, telegram, "hi", person=8).json == {"ok": True}
    clock.advance("25h")
    assert say(served, telegram, "hi", person=8).json == method(8, NO)


def test_a_code_lets_one_stranger_in_for_good(
    house: House, working: list[Working], telegram: FakeTelegram
) -> None:
    served = house.serve(auth(telegram))
    working.append(Working(house.app, {}))
    code = make_code(house.app.queue, "bot")
    assert len(code) == 10

    def result(text: str, person: int) -> Any:
        return ended(house, say(served, telegram, text, person=person).json["id"]).result

    assert result(f"/start {code.lower()}", 8) == "admitted; sent"
    assert result(code, 9) == "refused; sent"  # it was used
    assert result("hello", 8) is None
    assert numbers(house) == [8]  # the code itself went no further
    assert [m["text"] for m in telegram.sent] == [YES, NO]
    assert house.app.queue.note(user_note("bot", 8)) == "by a code"


def test_a_code_whose_update_is_tried_again_has_let_its_sender_in(
    house: House, working: list[Working], telegram: FakeTelegram
) -> None:
    telegram.drop()
    served = house.serve(auth(telegram))
    working.append(Working(house.app, {}))
    code = make_code(house.app.queue, "bot")
    job = ended(house, say(served, telegram, code, person=8).json["id"])
    assert (job.attempt, job.result) == (2, "admitted; sent")
    assert house.got == []


def test_of_many_who_send_one_code_one_is_let_in(house: House) -> None:
    code = make_code(house.app.queue, "bot")

    async def race() -> list[bool]:
        queue = await house.app.aqueue()
        tries = (redeem(queue, "bot", code, person, person, known=False) for person in range(20))
        answers = await asyncio.gather(*tries)
        again = [await redeem(queue, "bot", code, p, p, known=False) for p in range(20)]
        assert again == answers  # whoever asks about the same update again is told the same
        assert not any([await redeem(queue, "bot", code, p, p + 1, known=False) for p in range(20)])
        await house.app.aclose()
        return list(answers)

    assert sum(asyncio.run(race())) == 1
    assert sum(house.app.queue.note(user_note("bot", person)) is not None for person in range(20)) == 1


def test_who_was_put_out_does_not_come_back_with_the_old_code(house: House, telegram: FakeTelegram) -> None:
    served = house.serve(auth(telegram, is_async=False, then="echo"))
    code = make_code(house.app.queue, "bot")
    assert say(served, telegram, code, person=8).json == method(8, YES)
    assert say(served, telegram, code, person=8).json == method(8, YES)  # clicked twice
    assert say(served, telegram, "hi", person=8).json == method(8, "hi")
    house.app.queue.set_note(user_note("bot", 8), None)
    assert say(served, telegram, code, person=8).json == method(8, NO)
    assert say(served, telegram, "hi", person=8).json == {"ok": True}


def test_a_code_is_good_for_a_while_and_one_source_and_the_store_has_only_its_hash(house: House) -> None:
    clock = MovedClock()
    house.app = app = tenure.App(house.url, clock=clock)
    code = make_code(app.queue, "bot", keep="1h")

    async def tried(slug: str, person: int) -> bool:
        queue = await app.aqueue()
        assert await queue.note(f"gateway.{slug}.code.{code}") is None
        worked = await redeem(queue, slug, code, person, 1, known=False)
        await app.aclose()
        return worked

    assert not asyncio.run(tried("other", 8))
    clock.advance("61m")
    assert not asyncio.run(tried("bot", 8))
    clock.advance("-2m")
    assert asyncio.run(tried("bot", 8))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ABCDEFGHJK", "ABCDEFGHJK"),
        ("  abcdefghjk\n", "ABCDEFGHJK"),
        ("/start 23456789AB", "23456789AB"),
        ("/start@some_bot 23456789AB", "23456789AB"),
        ("ABCDEFGHJ", None),
        ("ABCDEFGHJKM", None),
        ("OBCDEFGHJK", None),
        ("ABCDEFGHJ\u212a", None),  # a Kelvin sign
        ("my code is ABCDEFGHJK", None),
        ("/start", None),
        (None, None),
    ],
    ids=range(11),
)
def test_a_code_is_known_by_its_form(text: str | None, code: str | None) -> None:
    assert code_in(text) == code


@pytest.mark.parametrize("update", ["group", "anonymous"])
def test_a_code_that_others_see_or_that_nobody_sends_lets_nobody_in(
    house: House, telegram: FakeTelegram, update: str
) -> None:
    """Who writes in the name of a chat shares one id with all who do so, in whichever chat."""
    served = house.serve(auth(telegram, is_async=False, then="echo"))
    code = make_code(house.app.queue, "bot")
    made = telegram.message(f"/start {code}", person=1_087_968_824, chat=-5)
    if update == "anonymous":
        made["message"] |= {"sender_chat": {"id": -5, "type": "supergroup"}}
        made["message"]["chat"] = {"id": 1_087_968_824, "type": "private"}
    assert deliver(served, telegram, made).json == (
        method(1_087_968_824, NO) if update == "group" else {"ok": True}
    )
    assert house.app.queue.note(user_note("bot", 1_087_968_824)) is None
    assert say(served, telegram, code, person=8).json == method(8, YES)  # it is still good


def test_codes_can_be_switched_off(light: House, telegram: FakeTelegram) -> None:
    served = light.serve(auth(telegram, is_async=False, codes=False, refusal="No."))
    code = make_code(light.app.queue, "bot")
    assert say(served, telegram, code, person=8).json == method(8, "No.")


@pytest.mark.parametrize("kind", UPDATES)
def test_every_kind_of_update_is_let_through_by_its_person(
    light: House, telegram: FakeTelegram, kind: str
) -> None:
    served = light.serve(auth(telegram, is_async=False, allow=[7], refusal=""))
    mine = {"update_id": 1, kind: UPDATES[kind]}
    assert deliver(served, telegram, mine).json == {"ok": True}
    assert light.got == [mine]
    light.got.clear()
    others = {"update_id": 2, kind: _by(UPDATES[kind], 8)}
    assert deliver(served, telegram, others).json == {"ok": True}
    assert deliver(served, telegram, {"update_id": 3, "poll": {"id": "1"}}).json == {"ok": True}
    assert light.got == []


def _by(inner: Any, person: int) -> Any:
    """The same by another person."""
    if isinstance(inner, dict):
        return {n: {**v, "id": person} if n in ("from", "user") else _by(v, person) for n, v in inner.items()}
    return inner


def test_in_a_group_the_stranger_alone_is_told(light: House, telegram: FakeTelegram) -> None:
    served = light.serve(auth(telegram, is_async=False))
    assert say(served, telegram, "hi", person=8, chat=-5).json == method(8, NO)


def test_without_a_store_there_is_the_list_alone(
    light: House, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_URL", "none")
    light.app = tenure.App()
    served: Served = light.serve(auth(telegram, is_async=False, allow=[7], then="echo"))
    assert say(served, telegram, "hi", person=7).json == method(7, "hi")
    assert say(served, telegram, "ABCDEFGHJK", person=8).json == method(8, NO)
    assert say(served, telegram, "hi", person=8).json == {"ok": True}


def test_a_stranger_whose_refusal_failed_gets_no_apology(
    house: House, working: list[Working], telegram: FakeTelegram
) -> None:
    telegram.fail()
    source = bot_of(telegram, handler="auth", options={"then": THEN, "allow": [7]}, max_attempts=1)
    served = house.serve(source)
    working.append(Working(house.app, {}))
    job = ended(house, say(served, telegram, "hi", person=8).json["id"])
    assert job.state == "dead"
    [notice] = notices(house.app.queue)
    assert ended(house, notice.id).result == "not told: a stranger sent it"
    assert telegram.sent == []


PROBLEMS: list[tuple[dict[str, Any], str]] = [
    (
        {"options": {}},
        'options.then must be "echo", "http" or "python:NAME", got \'\'.',
    ),
    (
        {"options": {"then": "auth"}},
        'options.then must be "echo", "http" or "python:NAME", got \'auth\'.',
    ),
    (
        {"options": {"then": "python:on_evnt"}},
        "handler: python:on_evnt names no job of the app; did you mean 'on_event'?",
    ),
    ({"options": {"then": THEN, "allow": ["ann"]}}, "options: Expected `int`, got `str` - at `$.allow[0]`."),
    ({"options": {"then": THEN, "allow": [-5]}}, "options.allow must be ids of people, got -5."),
    (
        {"options": {"then": THEN, "alow": [5]}},
        "options: auth takes then, allow, refusal, welcome, codes, got alow.",
    ),
    (
        {"options": {"then": THEN, "refusal": "x" * 5_000}},
        "options.refusal must be at most 4096 characters.",
    ),
    (
        {"options": {"then": THEN, "welcome": " \n"}},
        'options.welcome is blank, and Telegram sends no blank message; write welcome = "" to say nothing.',
    ),
    (
        {"handler": "auth:echo", "options": {"then": THEN}},
        "handler: auth takes no argument; write options.then for the handler of those who may.",
    ),
    (
        {"options": {"then": THEN}, "token": None},
        'handler: auth needs the bot\'s token; write token = "env:NAME".',
    ),
    (
        {"options": {"then": "echo"}, "token": None},
        'handler: echo needs the bot\'s token; write token = "env:NAME".',
    ),
]


def problems_of(given: dict[str, Any], *, store: bool = True) -> list[str]:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_event(event: dict[str, Any]) -> None: ...

    return tenure.gateway.look(app, {"inline_secrets": True, "sources": [given]}, store=store)[1]


@pytest.mark.parametrize(
    ("change", "sentence"), PROBLEMS, ids=[f"{n}-{next(iter(c))}" for n, (c, _) in enumerate(PROBLEMS)]
)
def test_each_problem_of_auth_is_one_clear_sentence(change: dict[str, Any], sentence: str) -> None:
    given = {**settings_of("telegram", slug="bot", handler="auth", token="inline:1:a"), **change}
    assert problems_of(given) == [f"source 'bot': {sentence}"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "options.allow is empty, and without a store nobody else may"),
        ({"codes": True}, "options.codes needs a store, and there is none; set TENURE_URL, or codes = false"),
    ],
    ids=["nobody", "codes"],
)
def test_what_auth_cannot_do_without_a_store_is_told(options: dict[str, Any], sentence: str) -> None:
    given = settings_of("telegram", slug="bot", handler="auth", options={"then": THEN, **options})
    assert problems_of({**given, "async": False}, store=False) == [f"source 'bot': {sentence}."]
