"""Telegram bots: the secret token of setWebhook, one line per chat, and updates that expire as Telegram lets them.

An update's age is counted from the moment of which it tells, where it names one: Telegram sends again for a day, and a message
that comes after an outage of hours is hours old. Where it names none (a button pressed), it is counted from when it is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from tenure.clock import machine_micros
from tenure.duration import Duration
from tenure.gateway.limits import Refused
from tenure.gateway.secrets import any_equal
from tenure.gateway.settings import SourceSettings
from tenure.gateway.sources.base import MISSING, WRONG, Expires, Headers, Source

__all__ = ["Telegram"]

_HEADER = "x-telegram-bot-api-secret-token"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}\Z")
_MOMENTS: Final = {
    **dict.fromkeys(
        (
            "message", "channel_post", "business_message", "message_reaction", "message_reaction_count",
            "my_chat_member", "chat_member", "chat_join_request",
        ),
        "date",
    ),
    **dict.fromkeys(("edited_message", "edited_channel_post", "edited_business_message"), "edit_date"),
}  # fmt: skip
"""Where updates say when it happened, in seconds since 1970. (A `date` elsewhere is that of something older: the message that a
button is under, the day when a business was connected.)"""


class Telegram(Source):
    """`update_id` restarts at random after a week without updates, so it is remembered for no longer: for as long as what is done is kept."""

    window: ClassVar[Duration] = "7d"
    expiry: ClassVar[Mapping[str, Duration]] = {
        "callback_query": "150s",
        "shipping_query": "150s",
        "pre_checkout_query": "150s",
        "chosen_inline_result": "600s",
        "inline_query": "30s",
        "*": "24h",
    }

    @classmethod
    def problems(cls, settings: SourceSettings, secrets: Sequence[str]) -> list[str]:  # noqa: ARG003 - its shape
        """Telegram takes only some characters as a secret token."""
        if all(map(_TOKEN.match, secrets)):
            return []
        return ["a Telegram secret must be 1 to 256 characters of A-Z, a-z, 0-9, _ and -"]

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:  # noqa: ARG002 - a token signs nothing
        """The header must be one of the secrets."""
        given = headers.get(_HEADER)
        if given is None:
            return MISSING
        return None if any_equal(given.encode("latin-1", "replace"), self.secrets) else WRONG

    def event_type(self, headers: Headers, event: Any) -> str:  # noqa: ARG002 - its shape
        """The one member beside update_id."""
        for name in event if isinstance(event, dict) else ():
            if name != "update_id":
                return str(name)
        return ""

    def own_key(self, headers: Headers, event: Any) -> str | None:  # noqa: ARG002 - its shape
        """The update's number; without one it is no update."""
        number = event.get("update_id") if isinstance(event, dict) else None
        if not isinstance(number, int) or isinstance(number, bool):
            raise Refused(400, "not an update")
        return str(number)

    def own_order(self, event: Any) -> str | None:
        """The chat, or the person where there is none (a callback, an inline query)."""
        inner = event.get(self.event_type({}, event)) if isinstance(event, dict) else None
        if not isinstance(inner, dict):
            return None
        for name in ("chat", "from", "user"):
            who = inner.get(name)
            if isinstance(who, dict) and isinstance(who.get("id"), int):
                return str(who["id"])
        return None

    def expires(self, headers: Headers, event: Any) -> Expires:
        """By the update's type, from the moment of which it tells; one from the future is from now."""
        _, span = super().expires(headers, event)
        kind = self.event_type(headers, event)
        inner = event.get(kind) if kind else None
        date = inner.get(_MOMENTS.get(kind, "")) if isinstance(inner, dict) else None
        if span is None or type(date) is not int or not 0 < date * 1_000_000 < machine_micros():
            return None, span
        return datetime.fromtimestamp(date, UTC) + span, None
