"""A request written as a text, for those who make texts up: a source, headers beside the right ones, and the body.

    telegram x-odd: 1|content-type: text/plain
    {"update_id": 7}

It is signed as its sender would sign it, unless a header says otherwise; a gateway without a store answers it.
"""

from __future__ import annotations

import asyncio
from functools import cache

import tenure
import tenure.gateway
from tests.gateway.fuzzing import Sent
from tests.gateway.signing import SENDERS, body_of, headers_of, settings_of
from tests.gateway.test_fuzz import ANSWERS, exchange

__all__ = ["REQUESTS", "ask"]

REQUESTS = (
    *(f"{sender}\n{body_of(sender).decode()}" for sender in SENDERS),
    "telegram x-telegram-bot-api-secret-token: wrong\n{}",
    "telegram content-length: 99|x-odd: 1\n[1, 2",
    'slack\n{"type": "url_verification", "challenge": "x"}',
    'echo\n{"update_id": 7, "message": {"message_id": 1, "chat": {"id": 42}, "text": "hi"}}',
)


@cache
def _gateway() -> tenure.gateway.Gateway:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_event(event: object) -> None: ...

    sources = [settings_of(sender, **{"async": False}) for sender in SENDERS]
    sources.append(settings_of("telegram", slug="echo", handler="echo", **{"async": False}))
    return tenure.gateway.asgi(app, {"inline_secrets": True, "sources": sources}, store=False)


def ask(text: str) -> None:
    """Ask; only a documented answer will do."""
    first, _, body = text.partition("\n")
    slug, _, told = first.partition(" ")
    data = body.encode("utf-8", "surrogateescape")
    headers = headers_of({"echo": "telegram"}.get(slug, slug), data) if slug in (*SENDERS, "echo") else {}
    for line in told.split("|"):
        name, _, value = line.encode("ascii", "ignore").decode().partition(":")
        headers[name.strip().lower()] = value.strip()
    sent = Sent(slug, "POST", f"/{slug}", tuple(headers.items()), data, honest=False)
    [start, _] = asyncio.run(exchange(_gateway(), sent))
    assert start["status"] in ANSWERS, (start, text)
