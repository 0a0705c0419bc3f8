"""What settings of Telegram sources must be: the bot's token, where its API is, and what it says when it failed.

Nothing here shows any part of a token.
"""

from __future__ import annotations

import re

from tenure.gateway.secrets import resolve
from tenure.gateway.settings import SourceSettings

__all__ = ["LONGEST", "TOKEN", "telegram_problems", "token_needed", "token_of"]

TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,200}\Z")
LONGEST = 4_096
"""How long a message may be."""


def telegram_problems(settings: SourceSettings) -> list[str]:
    """What is wrong with what only Telegram sources read, one sentence each."""
    found = []
    if settings.slug.endswith(".notice"):
        found.append("slug must not end in .notice: these names are for the jobs that tell of failures")
    if settings.type != "telegram":
        given = {"token": settings.token, "apology": settings.apology}
        named = [name for name, value in given.items() if value is not None]
        if settings.api != SourceSettings().api:
            named.append("api")
        return [*found, *(f"{name} is for telegram sources" for name in named)]
    if settings.apology and settings.is_async and settings.token is None:
        found.append('apology needs the bot\'s token; write token = "env:NAME"')
    if settings.apology is not None and len(settings.apology) > LONGEST:
        found.append(f"apology must be at most {LONGEST} characters, got {len(settings.apology)}")
    if settings.apology and not settings.apology.strip():
        found.append(
            "apology is blank, and Telegram sends no blank message; leave it out, or write what to say"
        )
    return found


def token_needed(settings: SourceSettings, handler: str) -> list[str]:
    """What keeps a handler from sending: no token. In a request the answer itself is the message, and needs none."""
    if settings.token is None and settings.is_async and settings.type == "telegram":
        return [f'handler: {handler} needs the bot\'s token; write token = "env:NAME"']
    return []


def token_of(reference: str, *, inline: bool) -> tuple[str | None, str | None]:
    """The token, or why there is none."""
    value, problem = resolve(reference, inline=inline)
    if problem is not None:
        return None, f"token: {problem}"
    if value is None or not TOKEN.match(value):
        return None, "token must be a bot's: digits, a colon, and characters of A-Z, a-z, 0-9, _ and -"
    return value, None
