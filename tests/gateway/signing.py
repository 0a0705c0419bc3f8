"""Requests as each sender would make them, signed here by other code than the gateway's own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

__all__ = ["BODIES", "SECRETS", "SENDERS", "body_of", "headers_of", "settings_of"]

SECRETS = {
    "telegram": "tele-gram_SECRET",
    "github": "It's a Secret to Everybody",
    "stripe": "whsec_stripe_example",
    "slack": "8f742231b10e8888abcd99yyyzzz85a5",
    "standard": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "gitlab": "gitlab-token-of-nobody",
    "generic": "generic-secret",
}
SENDERS = tuple(SECRETS)
BODIES: dict[str, dict[str, Any]] = {
    "telegram": {"update_id": 7, "message": {"message_id": 1, "chat": {"id": 42}, "text": "hi"}},
    "github": {"zen": "Design for failure."},
    "stripe": {"id": "evt_1", "type": "invoice.paid"},
    "slack": {"type": "event_callback", "event_id": "Ev1", "event": {"type": "message"}},
    "standard": {"type": "contact.created"},
    "gitlab": {"object_kind": "push"},
    "generic": {"data": {"id": 5}},
}


def settings_of(sender: str, **more: Any) -> dict[str, Any]:
    """A source of this type, its secret inline, as a table of the settings."""
    given = {"slug": sender, "type": sender, "handler": "python:on_event", "async": True}
    if sender == "generic":
        given["check"] = {"template": "{ts}.{body}", "timestamp_header": "X-Time", "prefix": "sha256="}
        given["key"] = "json:data.id"
    return {**given, "secrets": [f"inline:{SECRETS[sender]}"], **more}


def body_of(sender: str, **more: Any) -> bytes:
    return json.dumps({**BODIES[sender], **more}).encode()


def headers_of(
    sender: str, body: bytes, *, secret: str | None = None, id: str = "1", at: float | None = None
) -> dict[str, str]:
    """The headers that make it authentic."""
    secret = SECRETS[sender] if secret is None else secret
    stamp = str(int(time.time() if at is None else at))

    def hexed(message: bytes) -> str:
        return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()

    match sender:
        case "telegram":
            return {"X-Telegram-Bot-Api-Secret-Token": secret}
        case "github":
            return {
                "X-Hub-Signature-256": f"sha256={hexed(body)}",
                "X-GitHub-Delivery": f"d-{id}",
                "X-GitHub-Event": "ping",
            }
        case "stripe":
            return {"Stripe-Signature": f"t={stamp},v1={'0' * 64},v1={hexed(stamp.encode() + b'.' + body)}"}
        case "slack":
            return {
                "X-Slack-Request-Timestamp": stamp,
                "X-Slack-Signature": f"v0={hexed(b'v0:' + stamp.encode() + b':' + body)}",
            }
        case "standard":
            key = base64.b64decode(secret.removeprefix("whsec_"))
            signature = hmac.new(key, f"msg_{id}.{stamp}.".encode() + body, hashlib.sha256).digest()
            return {
                "webhook-id": f"msg_{id}",
                "webhook-timestamp": stamp,
                "webhook-signature": f"v1a,abc v1,{base64.b64encode(signature).decode()}",
            }
        case "gitlab":
            return {"X-Gitlab-Token": secret, "X-Gitlab-Event-UUID": f"u-{id}", "X-Gitlab-Event": "Push Hook"}
        case _:
            return {"X-Time": stamp, "X-Signature": f"sha256={hexed(stamp.encode() + b'.' + body)}"}
