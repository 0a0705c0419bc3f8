"""Calling the Bot API: what comes back, what is refused, how fast it goes, and that no word of it shows the token."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest

import tenure
from tenure.gateway import look
from tenure.gateway.outgoing import Unreachable
from tenure.gateway.settings import SourceSettings
from tenure.gateway.telegram.api import Bot, BotRefused
from tenure.gateway.telegram.pace import Pace, pace_of
from tenure.gateway.telegram.send import Sender, cut
from tenure.gateway.telegram.update import Seen
from tenure.gateway.telegram.update import look as look_at
from tenure.testing.telegram import FakeTelegram
from tests.gateway.bot import TOKEN
from tests.gateway.signing import settings_of
from tests.support.process import free_port

SECRET = TOKEN.partition(":")[2]


def call(bot: Bot, method: str = "getMe", *, timeout: float = 10.0, **params: Any) -> Any:
    return asyncio.run(bot.call(method, params, timeout=timeout))


def story(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))


def test_a_method_is_called_and_its_result_comes_back(telegram: FakeTelegram) -> None:
    bot = Bot(TOKEN, f"{telegram.url}/")
    assert call(bot)["id"] == 987654321
    assert call(bot, "sendMessage", chat_id=-5, text="grüße ☃")["message_id"] == 1
    assert [(m["chat_id"], m["text"]) for m in telegram.sent] == [(-5, "grüße ☃")]
    assert TOKEN not in repr(bot)
    assert telegram.url in repr(bot)


def test_what_telegram_refuses_says_what_to_do_instead(telegram: FakeTelegram) -> None:
    bot = Bot(TOKEN, telegram.url)
    telegram.refuse(429, "Too Many Requests: retry after 7", retry_after=7)
    telegram.refuse(400, "Bad Request: group chat was upgraded", migrate_to=-100500)
    telegram.refuse(429, "Too Many Requests")
    telegram.refuse(429, "Too Many Requests", retry_after=0)
    seen = []
    for _ in range(4):
        with pytest.raises(BotRefused) as refused:
            call(bot, "sendMessage", chat_id=1, text="hi")
        seen.append((refused.value.code, refused.value.retry_after, refused.value.migrate_to))
    assert seen == [(429, 7.0, None), (400, None, -100500), (429, 5.0, None), (429, 1.0, None)]
    with pytest.raises(BotRefused, match="401 Unauthorized"):
        call(Bot("1:wrong", telegram.url))
    with pytest.raises(BotRefused, match="404 Not Found: method not found"):
        call(bot, "makeCoffee")


@pytest.mark.parametrize("way", ["refused", "not json", "dropped", "slow", "away", "odd"])
def test_no_error_shows_the_token(telegram: FakeTelegram, way: str) -> None:
    base, seconds = telegram.url, 10.0
    match way:
        case "refused":
            telegram.refuse(404, f"no such path: /bot{TOKEN}/getMe, nor {SECRET}")
        case "not json":
            telegram.fail()
        case "dropped":
            telegram.drop()
        case "slow":
            seconds = 0.05
        case "away":
            base = f"http://127.0.0.1:{free_port()}"
        case _:
            base = "http://\u2603 :nowhere"
    with telegram.holding(), pytest.raises(Exception) as error:
        if way != "slow":
            telegram._release()
        call(Bot(TOKEN, base), timeout=seconds)
    wanted = {"refused": BotRefused, "not json": BotRefused, "odd": tenure.FieldError}.get(way, Unreachable)
    assert isinstance(error.value, wanted)
    assert SECRET not in story(error.value)
    if way == "not json":
        assert str(error.value) == "Telegram refused: 502 the answer is not the Bot API's"


def test_a_token_that_is_none_is_refused_without_showing_it() -> None:
    token = f"{SECRET} {SECRET}"
    with pytest.raises(tenure.UsageError) as error:
        Bot(token)
    assert SECRET not in story(error.value)


def test_messages_to_a_chat_a_group_and_all_are_kept_apart() -> None:
    now = [100.0]
    pace = Pace(lambda: now[0])
    assert pace.take(1) == 0
    assert pace.take(2) == pytest.approx(1 / 30)
    now[0] += 0.04
    assert pace.take(2) == 0
    assert pace.take(1) == pytest.approx(0.96)
    now[0] += 0.04
    assert pace.take(-5) == 0
    now[0] += 1.0
    assert pace.take(-5) == pytest.approx(2.0)
    assert pace.take(1) == 0
    now[0] += 0.5
    pace.answered(1)
    assert pace.take(1) == pytest.approx(1.0)


def test_no_more_than_thirty_go_in_a_second_nor_twenty_in_a_minute_to_a_group() -> None:
    now = [0.0]
    pace = Pace(lambda: now[0])

    def went(chat: int) -> float:
        while (wait := pace.take(chat)) > 0:
            now[0] += wait + 1e-6
        return now[0]

    people = [went(person) for person in range(1, 200)]
    assert max(sum(at <= other < at + 1 for other in people) for at in people) == 30
    group = [went(-1) for _ in range(100)]
    assert max(sum(at <= other < at + 60 for other in group) for at in group) == 20


def test_what_goes_to_no_numbered_chat_takes_the_bot_s_own_turn() -> None:
    now = [100.0]
    pace = Pace(lambda: now[0])
    assert pace.take(None) == 0
    assert pace.take(None) == pace.take(1) == pytest.approx(1 / 30)
    now[0] += 0.04
    assert pace.take(None) == 0  # no second's rest, for it is no chat's


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("answerCallbackQuery", {"callback_query_id": "5"}),
        ("sendMessage", {"chat_id": "@news", "text": "hi"}),
    ],
    ids=["no chat", "by name"],
)
def test_a_call_without_a_numbered_chat_waits_for_the_bot_s_turn_too(
    telegram: FakeTelegram, method: str, params: dict[str, Any]
) -> None:
    settings = SourceSettings(slug="bot", type="telegram", token=f"inline:{TOKEN}", api=telegram.url)
    sender, pace = Sender(settings, inline=True), pace_of(TOKEN, telegram.url)
    assert asyncio.run(sender.run(method, params)) == "sent"
    pace._all += 60.0  # as if the next turn were a minute away
    with pytest.raises(tenure.Snooze):
        asyncio.run(sender.run(method, params))


def test_whose_turn_is_long_in_coming_is_put_off() -> None:
    now = [0.0]
    pace = Pace(lambda: now[0])
    pace.take(-5)
    now[0] = -30.0  # as if the next turn were half a minute away
    with pytest.raises(tenure.Snooze) as put_off:
        asyncio.run(pace.turn(-5))
    assert put_off.value.delay == pytest.approx(33.0)


def test_all_who_send_for_a_bot_share_its_pace(telegram: FakeTelegram) -> None:
    assert pace_of(TOKEN, telegram.url) is pace_of("987654321:rotated", telegram.url)
    assert pace_of(TOKEN, telegram.url) is not pace_of("1:other", telegram.url)
    settings = SourceSettings(slug="bot", type="telegram", token=f"inline:{TOKEN}", api=telegram.url)

    async def both() -> list[str]:
        senders = [Sender(settings, inline=True) for _ in range(2)]
        return list(await asyncio.gather(*(s.send(7, "hi") for s in senders)))

    assert asyncio.run(both()) == ["sent", "sent"]
    first, second = [m["time"] for m in telegram.sent]
    assert second - first > 0.99


def test_a_text_is_cut_to_what_a_message_takes() -> None:
    assert cut("short") == "short"
    assert cut("x" * 5_000) == "x" * 4_096
    assert cut("x" + "😀" * 4_096) == "x" + "😀" * 2_047


PERSON = {"id": 7, "is_bot": False}
CHAT = {"id": -100, "type": "supergroup"}
UPDATES: dict[str, Any] = {
    "message": {"from": PERSON, "chat": CHAT, "text": "hi"},
    "edited_message": {"from": PERSON, "chat": CHAT},
    "business_message": {"from": PERSON, "chat": CHAT},
    "message_reaction": {"user": PERSON, "chat": CHAT},
    "callback_query": {"from": PERSON, "message": {"chat": CHAT, "from": {"id": 1}}},
    "my_chat_member": {"from": PERSON, "chat": CHAT},
    "chat_member": {"from": PERSON, "chat": CHAT},
    "chat_join_request": {"from": PERSON, "chat": CHAT},
    "chat_boost": {"chat": CHAT, "boost": {"source": {"user": PERSON}}},
    "removed_chat_boost": {"chat": CHAT, "source": {"user": PERSON}},
    "inline_query": {"from": PERSON, "query": ""},
    "chosen_inline_result": {"from": PERSON},
    "shipping_query": {"from": PERSON},
    "pre_checkout_query": {"from": PERSON},
    "poll_answer": {"user": PERSON},
    "business_connection": {"user": PERSON, "user_chat_id": 7},
    "purchased_paid_media": {"from": PERSON},
}


@pytest.mark.parametrize("kind", UPDATES)
def test_every_update_that_has_a_person_tells_who_and_where(kind: str) -> None:
    seen = look_at({"update_id": 3, kind: UPDATES[kind]})
    has_chat = "chat" in UPDATES[kind] or "message" in UPDATES[kind]
    assert (seen.id, seen.kind, seen.person, seen.chat) == (3, kind, 7, -100 if has_chat else None)
    assert seen.home == 7


@pytest.mark.parametrize(
    "update",
    [
        None, [], 5, "", {}, {"update_id": 1}, {"update_id": 1, "message": None}, {"message": {"from": 7, "chat": [1]}},
        {"message": {"from": {"id": True}, "chat": {"id": "7"}, "text": 5}}, {"poll": {"id": "1"}}, {"x": {"message": 1}},
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_update_of_a_person_tells_of_none(update: Any) -> None:
    seen = look_at(update)
    assert (seen.person, seen.chat, seen.text) == (None, None, None)
    assert isinstance(seen, Seen)


NO_API = "api must be http:// or https:// with a valid host, and no user, password, space or query."
PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"token": "env:NOT_SET_HERE"}, "token: the secret env:NOT_SET_HERE is not set."),
    ({"token": "123:abc"}, "token: a secret must be written env:NAME or file:/path."),
    (
        {"token": "inline:hunter2"},
        "token must be a bot's: digits, a colon, and characters of A-Z, a-z, 0-9, _ and -.",
    ),
    ({"api": "ftp://x"}, NO_API),
    ({"api": "https://x/?a=b"}, NO_API),
    ({"apology": "Sorry."}, 'apology needs the bot\'s token; write token = "env:NAME".'),
    (
        {"apology": "x" * 4_097, "token": f"inline:{TOKEN}"},
        "apology must be at most 4096 characters, got 4097.",
    ),
    (
        {"apology": " ", "token": f"inline:{TOKEN}"},
        "apology is blank, and Telegram sends no blank message; leave it out, or write what to say.",
    ),
    ({"type": "github", "token": f"inline:{TOKEN}"}, "token is for telegram sources."),
    ({"type": "github", "api": "https://x"}, "api is for telegram sources."),
    ({"type": "github", "apology": ""}, "apology is for telegram sources."),
    (
        {"slug": "bot.notice"},
        "slug must not end in .notice: these names are for the jobs that tell of failures.",
    ),
]


@pytest.mark.parametrize(
    ("change", "sentence"), PROBLEMS, ids=[f"{n}-{next(iter(c))}" for n, (c, _) in enumerate(PROBLEMS)]
)
def test_each_problem_of_a_bot_is_one_clear_sentence(change: dict[str, Any], sentence: str) -> None:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_event(event: dict[str, Any]) -> None: ...

    given = {**settings_of("telegram", slug="bot"), **change}
    problems = look(app, {"inline_secrets": True, "sources": [given]})[1]
    assert problems == [f"source {given['slug']!r}: {sentence}"]


def test_what_a_gateway_logs_shows_no_half_of_a_token() -> None:
    app = tenure.App("sqlite:///never-opened.db")
    given = settings_of("telegram", handler="echo", token=f"inline:{TOKEN}")
    registry, problems = look(app, {"inline_secrets": True, "sources": [given]})
    assert problems == []
    assert SECRET not in registry.mask(f"a {TOKEN} b {SECRET} c")
    assert registry.routes["telegram"].source.secrets == [b"tele-gram_SECRET"]
