"""FakeTelegram: a Telegram of the test's own, over real HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tenure.testing.telegram import FakeTelegram
from tests.worker.house import until

TOKEN = "42:abc-DEF_1"


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram(token=TOKEN) as started:
        yield started


class Hook(ThreadingHTTPServer):
    """A webhook that answers what it is told to, and 200 after that."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.says: dict[str, Any] = {"ok": True}
        self.got: list[tuple[dict[str, str], Any]] = []
        self.busy = self.busiest = 0
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/bot?a=b"

    def __enter__(self) -> Hook:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Answering(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        hook = self.server
        hook.busy += 1
        hook.busiest = max(hook.busiest, hook.busy)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        hook.got.append((dict(self.headers), body))
        hook.busy -= 1
        self.send_response(hook.answers.pop(0) if hook.answers else 200)
        self.end_headers()
        self.wfile.write(json.dumps(hook.says).encode())

    def log_message(self, format: str, *args: Any) -> None: ...


def ask(
    telegram: FakeTelegram, method: str, *, token: str = TOKEN, form: bool = False, **params: Any
) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", urlsplit(telegram.url).port, timeout=30)
    try:
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        body = urlencode(params) if form else json.dumps(params)
        connection.request("POST", f"/bot{token}/{method}", body, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("form", [False, True], ids=["json", "form"])
def test_a_message_is_taken_and_remembered(telegram: FakeTelegram, form: bool) -> None:
    before = time.time() - 0.001
    status, told = ask(telegram, "sendMessage", form=form, chat_id=-7, text="hi", parse_mode="HTML")
    assert (status, told["ok"], told["result"]["chat"]["id"]) == (200, True, -7)
    [sent] = telegram.sent
    assert (sent["chat_id"], sent["text"], sent["parse_mode"]) == (-7, "hi", "HTML")
    assert before <= sent["time"] <= time.time()
    assert [(c.method, c.params["text"]) for c in telegram.calls] == [("sendMessage", "hi")]


@pytest.mark.parametrize(
    ("method", "params", "says"),
    [
        ("sendMessage", {"text": "hi"}, "400 Bad Request: chat_id is empty"),
        ("sendMessage", {"chat_id": 1, "text": " "}, "400 Bad Request: message text is empty"),
        ("sendMessage", {"chat_id": 1, "text": "x" * 4_097}, "400 Bad Request: message is too long"),
        ("makeCoffee", {}, "404 Not Found: method not found"),
        (
            "setWebhook",
            {"url": "http://example.org"},
            "400 Bad Request: bad webhook: An HTTPS URL must be provided for webhook",
        ),
        (
            "setWebhook",
            {"url": "https://example.org", "secret_token": "no spaces"},
            "400 Bad Request: secret token contains unallowed characters",
        ),
    ],
    ids=range(6),
)
def test_what_telegram_would_refuse_is_refused(
    telegram: FakeTelegram, method: str, params: dict[str, Any], says: str
) -> None:
    status, told = ask(telegram, method, **params)
    assert (told["ok"], f"{told['error_code']} {told['description']}") == (False, says)
    assert status == told["error_code"]
    assert (telegram.sent, telegram.webhook) == ([], {})


def test_another_token_is_nobody_s(telegram: FakeTelegram) -> None:
    assert ask(telegram, "getMe", token="42:other")[0] == 401
    assert ask(telegram, "getMe")[1]["result"]["id"] == 42


def test_it_does_wrong_as_often_as_it_is_told(telegram: FakeTelegram) -> None:
    telegram.refuse(429, "Too Many Requests: retry after 3", retry_after=3)
    telegram.refuse(403, "Forbidden: bot was blocked by the user")
    telegram.refuse(400, "Bad Request: moved", migrate_to=-100)
    assert ask(telegram, "getMe")[1]["parameters"] == {"retry_after": 3}
    assert ask(telegram, "getMe")[0] == 403
    assert ask(telegram, "getMe")[1]["parameters"] == {"migrate_to_chat_id": -100}
    telegram.fail(500)
    with pytest.raises(json.JSONDecodeError):
        ask(telegram, "getMe")
    telegram.drop()
    with pytest.raises(RemoteDisconnected):
        ask(telegram, "getMe")
    telegram.delay = 0.05
    began = time.monotonic()
    assert ask(telegram, "getMe")[0] == 200
    assert time.monotonic() - began >= 0.05


@pytest.mark.parametrize("taken", [False, True], ids=["before", "taken"])
def test_calls_are_held_for_as_long_as_a_test_wants(telegram: FakeTelegram, taken: bool) -> None:
    answers: list[Any] = []
    asking = threading.Thread(
        target=lambda: answers.append(ask(telegram, "sendMessage", chat_id=1, text="hi"))
    )
    with telegram.holding(taken=taken):
        asking.start()
        until(lambda: telegram.waiting == 1)
        assert len(telegram.sent) == int(taken)
        assert answers == []
    asking.join(30)
    assert (answers[0][0], len(telegram.sent)) == (200, 1)


@pytest.mark.parametrize("taken", [False, True], ids=["before", "taken"])
def test_a_call_whose_caller_went_away_never_arrived_unless_it_was_taken(
    telegram: FakeTelegram, taken: bool
) -> None:
    with telegram.holding(taken=taken):
        connection = HTTPConnection("127.0.0.1", urlsplit(telegram.url).port)
        connection.request("POST", f"/bot{TOKEN}/sendMessage?chat_id=1&text=hi")
        until(lambda: telegram.waiting == 1)
        connection.close()
    until(lambda: telegram.waiting == 0)
    assert ask(telegram, "sendMessage", chat_id=2, text="next")[0] == 200
    assert [m["chat_id"] for m in telegram.sent] == ([1, 2] if taken else [2])


def test_an_update_is_delivered_until_it_is_taken(telegram: FakeTelegram) -> None:
    with Hook(503, 401) as hook:
        update = telegram.message("hi", person=5)
        delivered = telegram.deliver(hook.url, update, secret="abc")
        assert (delivered.status, delivered.tries, delivered.json) == (200, 3, {"ok": True})
        headers, body = hook.got[-1]
        assert headers["X-Telegram-Bot-Api-Secret-Token"] == "abc"
        assert headers["Content-Type"] == "application/json"
        assert body == update
        hook.answers = [500] * 10
        with pytest.raises(TimeoutError, match="500"):
            telegram.deliver(hook.url, update, within=0.1)
    info = ask(telegram, "getWebhookInfo")[1]["result"]
    assert info["last_error_message"] == "Wrong response from the webhook: 500"


def test_a_method_in_the_answer_is_run(telegram: FakeTelegram) -> None:
    with Hook() as hook:
        hook.says = {"method": "sendMessage", "chat_id": 5, "text": "hello"}
        telegram.deliver(hook.url, telegram.message("hi", person=5))
    assert [(m["chat_id"], m["text"]) for m in telegram.sent] == [(5, "hello")]


def test_one_chat_s_updates_are_delivered_one_after_another(telegram: FakeTelegram) -> None:
    with Hook() as hook:
        many = [
            threading.Thread(target=telegram.deliver, args=(hook.url, telegram.message("hi", person=5)))
            for _ in range(8)
        ]
        for one in many:
            one.start()
        for one in many:
            one.join(30)
        assert (len(hook.got), hook.busiest) == (8, 1)


def test_a_webhook_that_was_set_is_where_updates_go(telegram: FakeTelegram) -> None:
    with Hook() as hook:
        told = ask(telegram, "setWebhook", url=hook.url, secret_token="s_1", max_connections=7)[1]
        assert (told["result"], told["description"]) == (True, "Webhook was set")
        info = ask(telegram, "getWebhookInfo")[1]["result"]
        assert (info["url"], info["max_connections"], info["pending_update_count"]) == (hook.url, 7, 0)
        assert "s_1" not in json.dumps(info)
        telegram.deliver(None, telegram.message("hi"))
        assert hook.got[0][0]["X-Telegram-Bot-Api-Secret-Token"] == "s_1"
    assert ask(telegram, "deleteWebhook")[1]["description"] == "Webhook was deleted"
    assert ask(telegram, "deleteWebhook")[1]["description"] == "Webhook is already deleted"
    assert ask(telegram, "getWebhookInfo")[1]["result"]["url"] == ""


def test_closing_it_lets_go_of_who_waits() -> None:
    telegram = FakeTelegram(TOKEN)
    telegram.__enter__()
    waiting = HTTPConnection("127.0.0.1", urlsplit(telegram.url).port)
    waiting.request("POST", f"/bot{TOKEN}/getMe")
    assert waiting.getresponse().read()
    with telegram.holding():
        waiting.request("POST", f"/bot{TOKEN}/getMe")
        until(lambda: telegram.waiting == 1)
        telegram.close()
    waiting.close()
