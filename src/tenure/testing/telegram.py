"""FakeTelegram: a real HTTP server on loopback that stands in for api.telegram.org, for tests and for trying a bot out.

    with FakeTelegram(token="123:abc") as telegram:
        …                                                    # the source's setting: api = telegram.url
        telegram.deliver(webhook, telegram.message("hi", person=7), secret="…")
        assert telegram.sent[0]["text"] == "hi"
        telegram.refuse(429, "Too Many Requests: retry after 2", retry_after=2)

It knows sendMessage, setWebhook, deleteWebhook, getWebhookInfo and getMe, and refuses as Telegram does; other methods that say
something (send…, answer…, edit…) it takes as they come. It delivers as Telegram does, too: one chat's updates one after another,
each until it is answered 2xx; only its waits are shorter.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from tenure.testing.telegram_methods import Methods
from tenure.testing.telegram_server import Call, Reply, Server, refusal, seconds_now

__all__ = ["Delivered", "FakeTelegram"]

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0


class Delivered(NamedTuple):
    """What a webhook answered in the end, and how often it was asked."""

    status: int
    body: bytes
    tries: int

    @property
    def json(self) -> Any:
        """The answer's JSON."""
        return json.loads(self.body)


class FakeTelegram:
    """Telegram's side of one bot. All of it may be used from any thread."""

    def __init__(self, token: str, *, port: int = 0) -> None:
        self._methods = Methods(token)
        self.calls: list[Call] = []
        """Every call of the bot, refused ones too: method, params, at."""
        self.delay = 0.0
        """How long every answer takes, in seconds."""
        self._lock = threading.Lock()
        self._moved = threading.Condition(self._lock)
        self._replies: deque[Reply] = deque()
        self._held: str | None = None
        self._waiting = self._updates = 0
        self._lines: defaultdict[object, threading.Lock] = defaultdict(threading.Lock)
        self._server = Server(self._answer, port)

    @property
    def token(self) -> str:
        """The one token it takes."""
        return self._methods.token

    @property
    def url(self) -> str:
        """Where it listens; what a source's `api` is set to."""
        return self._server.url

    @property
    def sent(self) -> list[dict[str, Any]]:
        """Messages that were taken: chat_id, text, time, message_id, and whatever else was asked for."""
        return self._methods.sent

    @property
    def webhook(self) -> dict[str, Any]:
        """What setWebhook was told; empty: there is none."""
        return self._methods.webhook

    @property
    def waiting(self) -> int:
        """How many calls are held now."""
        return self._waiting

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up on everybody."""
        self._release()
        self._server.close()

    def refuse(
        self,
        code: int,
        description: str,
        *,
        retry_after: int | None = None,
        migrate_to: int | None = None,
        times: int = 1,
    ) -> None:
        """The next so many calls are refused in this way."""
        said = {"retry_after": retry_after, "migrate_to_chat_id": migrate_to}
        more = {name: value for name, value in said.items() if value is not None}
        self._replies.extend([refusal(code, description, **more)] * times)

    def fail(self, status: int = 502, *, times: int = 1) -> None:
        """The next so many calls get an answer that is not the Bot API's."""
        self._replies.extend([Reply(status, b"<html>Bad Gateway</html>")] * times)

    def drop(self, *, times: int = 1) -> None:
        """The next so many calls get no answer: the connection is closed."""
        self._replies.extend([Reply(0, b"")] * times)

    @contextmanager
    def holding(self, *, taken: bool = False) -> Iterator[None]:
        """Calls wait for the end of the block; `taken`: their messages are taken before, and only the answers wait.

        One whose caller has gone meanwhile, and that was not taken, never arrived.
        """
        self._held = "taken" if taken else "before"
        try:
            yield
        finally:
            self._release()

    def message(self, text: str, *, person: int = 1, chat: int | None = None, **more: Any) -> dict[str, Any]:
        """An update as Telegram makes it of a person's words: in the person's own chat, or in a group (negative)."""
        with self._lock:
            self._updates += 1
            number = self._updates
        where = person if chat is None else chat
        kind = "private" if where > 0 else "supergroup"
        return {
            "update_id": number,
            "message": {
                "message_id": number, "date": int(seconds_now()), "chat": {"id": where, "type": kind},
                "from": {"id": person, "is_bot": False, "first_name": "Somebody"}, "text": text, **more,
            },
        }  # fmt: skip

    def deliver(
        self,
        url: str | None,
        update: Mapping[str, Any],
        *,
        secret: str | None = None,
        within: float = 30.0,
    ) -> Delivered:
        """Send an update to a webhook (None: the one that was set) until it answers 2xx; what it answered.

        Updates of one chat wait for each other. A method in the answer is run. TimeoutError: it never answered 2xx.
        """
        known = self._methods.webhook
        if url is None:
            url, secret = str(known.get("url", "")), known.get("secret_token", secret)
        headers = {"Content-Type": "application/json"}
        if secret is not None:
            headers["X-Telegram-Bot-Api-Secret-Token"] = secret
        with self._lock:
            line = self._lines[_chat_of(update)]
            self._methods.pending += 1
        try:
            with line:
                delivered = self._until_taken(url, json.dumps(update).encode(), headers, within)
        finally:
            with self._lock:
                self._methods.pending -= 1
        self._run_method(delivered.body)
        return delivered

    def _until_taken(self, url: str, body: bytes, headers: dict[str, str], within: float) -> Delivered:
        deadline, wait, tries = time.monotonic() + within, _FIRST_WAIT, 0
        while True:
            tries += 1
            try:
                status, answer = _post(url, body, headers)
                trouble = f"Wrong response from the webhook: {status}"
            except (OSError, HTTPException) as cause:
                status, answer, trouble = 0, b"", f"Connection failed: {type(cause).__name__}"
            if 200 <= status < 300:
                return Delivered(status, answer, tries)
            self._methods.trouble = {"last_error_date": int(seconds_now()), "last_error_message": trouble}
            if time.monotonic() + wait > deadline:
                raise TimeoutError(f"the webhook took nothing in {within:g} s; {trouble}")
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def _run_method(self, body: bytes) -> None:
        """What a webhook answers may be a call."""
        try:
            asked = json.loads(body)
        except ValueError:
            return
        if isinstance(asked, dict) and isinstance(asked.get("method"), str):
            params = {name: value for name, value in asked.items() if name != "method"}
            call = Call(asked["method"], params, seconds_now())
            self.calls.append(call)
            self._methods.do(call)

    def _answer(self, token: str, call: Call, gone: Callable[[], bool]) -> Reply:
        """One call of the API; `gone()` tells whether the caller has hung up."""
        self.calls.append(call)
        if self.delay:
            time.sleep(self.delay)
        if token != self.token:
            return refusal(401, "Unauthorized")
        if self._held == "before":
            self._wait()
            if gone():
                return Reply(0, b"")
        with self._lock:
            told = self._replies.popleft() if self._replies else None
        if told is not None:
            return told
        reply = self._methods.do(call)
        if self._held == "taken":
            self._wait()
        return reply

    def _wait(self) -> None:
        with self._moved:
            self._waiting += 1
            self._moved.wait_for(lambda: self._held is None)
            self._waiting -= 1

    def _release(self) -> None:
        with self._moved:
            self._held = None
            self._moved.notify_all()


def _post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=30)
    try:
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection.request("POST", path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _chat_of(update: Mapping[str, Any]) -> object:
    """Whose line it stands in."""
    inner = next((value for name, value in update.items() if name != "update_id"), None)
    if not isinstance(inner, dict):
        return None
    for name in ("chat", "from", "user"):
        who = inner.get(name)
        if isinstance(who, dict):
            return who.get("id")
    return None
