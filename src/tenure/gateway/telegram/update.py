"""What an update says of itself, whatever its type: who did something, in which chat, and with which words.

Nothing here raises: what is not there, or not what Telegram sends, is None.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["TYPES", "Seen", "look"]

TYPES = (
    "message", "edited_message", "channel_post", "edited_channel_post", "business_connection", "business_message",
    "edited_business_message", "deleted_business_messages", "message_reaction", "message_reaction_count", "inline_query",
    "chosen_inline_result", "callback_query", "shipping_query", "pre_checkout_query", "purchased_paid_media", "poll",
    "poll_answer", "my_chat_member", "chat_member", "chat_join_request", "chat_boost", "removed_chat_boost",
)  # fmt: skip
"""What an update may be."""

_PEOPLE = (("from",), ("user",), ("boost", "source", "user"), ("source", "user"))
_CHATS = (("chat",), ("message", "chat"), ("boost", "chat"))


class Seen(NamedTuple):
    """One update."""

    id: int | None = None
    kind: str = ""
    """The one member beside update_id: message, callback_query, …"""
    person: int | None = None
    """Who did it; None: nobody that could be told from others, as with who writes in the name of a chat."""
    chat: int | None = None
    private: bool = True
    """Whether the chat is the person's own with the bot."""
    text: str | None = None

    @property
    def home(self) -> int | None:
        """Where the person alone is told something."""
        return self.chat if self.private and self.chat is not None else self.person


def look(event: Any) -> Seen:
    """What is known of an update."""
    if not isinstance(event, dict):
        return Seen()
    kind = next((name for name in event if name != "update_id"), "")
    inner = event.get(kind)
    text = _at(inner, "text")
    chats = [chat for path in _CHATS if isinstance(chat := _at(inner, *path), dict)]
    where = chats[0] if chats else {}
    return Seen(
        id=_whole(event.get("update_id")),
        kind=kind,
        person=None if _for_a_chat(inner) else _first(_whole(_at(inner, *path, "id")) for path in _PEOPLE),
        chat=_whole(where.get("id")),
        private=where.get("type", "private") == "private",
        text=text if isinstance(text, str) else None,
    )


def _at(value: Any, *path: str) -> Any:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _for_a_chat(inner: Any) -> bool:
    """Whether it is said in the name of a chat: then `from` is somebody who stands for all of those who do so, in whichever chat."""
    return isinstance(_at(inner, "sender_chat"), dict)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _first(found: Iterable[int | None]) -> int | None:
    return next((value for value in found if value is not None), None)
