"""What FakeTelegram answers to the methods it knows, and what it remembers of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from tenure.testing.telegram_server import Call, Reply, refusal, seconds_now

__all__ = ["Methods"]

_LONGEST = 4_096
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_SAY = ("send", "answer", "edit")
"""Methods that are taken without another look; `calls` has them."""
_NEAR = ("127.0.0.1", "localhost", "::1")
"""Where a webhook may do without TLS, as with a Bot API server of one's own."""


class Methods:
    """One bot's messages and webhook."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.sent: list[dict[str, Any]] = []
        self.webhook: dict[str, Any] = {}
        self.pending = 0
        """Updates that are not delivered yet."""
        self.trouble: dict[str, Any] = {}
        """What getWebhookInfo says of the last delivery that failed."""
        self._lock = threading.Lock()
        self._known: dict[str, Callable[[Mapping[str, Any]], Reply]] = {
            "sendmessage": self._send,
            "setwebhook": self._set_webhook,
            "deletewebhook": self._delete_webhook,
            "getwebhookinfo": self._webhook_info,
            "getme": self._me,
        }

    def do(self, call: Call) -> Reply:
        """Run a method."""
        name = call.method.lower()
        found = self._known.get(name)
        if found is not None:
            return found(call.params)
        return _done(result=True) if name.startswith(_SAY) else refusal(404, "Not Found: method not found")

    def _send(self, params: Mapping[str, Any]) -> Reply:
        text, chat = params.get("text"), params.get("chat_id")
        if chat is None or chat == "":
            return refusal(400, "Bad Request: chat_id is empty")
        if not isinstance(text, str) or not text.strip():
            return refusal(400, "Bad Request: message text is empty")
        if len(text) > _LONGEST:
            return refusal(400, "Bad Request: message is too long")
        chat = int(chat) if str(chat).removeprefix("-").isdecimal() else chat
        now = seconds_now()
        with self._lock:
            number = len(self.sent) + 1
            self.sent.append({**params, "chat_id": chat, "text": text, "time": now, "message_id": number})
        kind = "supergroup" if isinstance(chat, int) and chat < 0 else "private"
        where = {"id": chat, "type": kind}
        return _done({"message_id": number, "date": int(now), "chat": where, "text": text})

    def _set_webhook(self, params: Mapping[str, Any]) -> Reply:
        url, secret = str(params.get("url", "")), params.get("secret_token")
        parts = urlsplit(url)
        near = parts.scheme == "http" and parts.hostname in _NEAR
        if url and parts.scheme != "https" and not near:
            return refusal(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        if secret is not None and not (0 < len(str(secret)) <= 256 and set(str(secret)) <= _PLAIN):
            return refusal(400, "Bad Request: secret token contains unallowed characters")
        if "certificate" in params and not _is_certificate(params["certificate"]):
            return refusal(400, "Bad Request: bad webhook: certificate must be uploaded as a file in PEM")
        self.webhook = dict(params) if url else {}
        return _done(result=True, description="Webhook was set" if url else "Webhook was deleted")

    def _delete_webhook(self, _params: Mapping[str, Any]) -> Reply:
        was, self.webhook = self.webhook, {}
        return _done(result=True, description=f"Webhook {'was' if was else 'is already'} deleted")

    def _webhook_info(self, _params: Mapping[str, Any]) -> Reply:
        info = {
            "url": "", "has_custom_certificate": "certificate" in self.webhook, "pending_update_count": self.pending,
            "max_connections": 40, **self.trouble,
        }  # fmt: skip
        told = ("url", "ip_address", "max_connections", "allowed_updates")
        return _done({**info, **{name: self.webhook[name] for name in told if name in self.webhook}})

    def _me(self, _params: Mapping[str, Any]) -> Reply:
        number = int(self.token.partition(":")[0])
        return _done({"id": number, "is_bot": True, "first_name": "Fake", "username": "fake_bot"})


def _is_certificate(given: object) -> bool:
    return isinstance(given, bytes) and given.startswith(b"-----BEGIN CERTIFICATE-----")


def _done(result: Any, description: str | None = None) -> Reply:
    said = {} if description is None else {"description": description}
    return Reply(200, json.dumps({"ok": True, "result": result, **said}).encode())
