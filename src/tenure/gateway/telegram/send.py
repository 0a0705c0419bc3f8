"""Sending a message for a source: where it goes, how fast, and what it means when Telegram says no.

    429                             Snooze by what Telegram said: no attempt is burned
    the chat became another         sent there
    403, "chat not found"           nothing more to do, and the result says so
    anything else, no answer        an error: the job is tried again

In a request no message is sent: the answer to it names the method, and Telegram runs that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.context import Context
from tenure.errors import UsageError
from tenure.gateway.settings import SourceSettings
from tenure.gateway.telegram.api import Bot, BotRefused
from tenure.gateway.telegram.checks import LONGEST, token_of
from tenure.gateway.telegram.pace import Pace, pace_of
from tenure.outcome import Snooze

__all__ = ["Sender", "cut"]

_ANSWERED_WITHIN = 10.0
"""How many seconds Telegram has for its answer."""
_MOVES = 2
"""How often a chat may have become another one."""


class Sender:
    """Sends one source's messages. The token is looked up when it is first needed."""

    def __init__(self, settings: SourceSettings, *, inline: bool) -> None:
        self._settings, self._inline = settings, inline
        self._made: tuple[Bot, Pace] | None = None

    async def answer(self, context: Context, chat: int, text: str) -> Any:
        """Say it: in a job by sending it, in a request by what is answered to that."""
        if context.claimed:
            return await self.send(chat, text)
        return {"method": "sendMessage", "chat_id": chat, "text": cut(text)}

    async def send(self, chat: int, text: str) -> str:
        """Send it, in a job; "sent", or "not sent: …" where nobody is there to get it."""
        return await self.run("sendMessage", {"chat_id": chat, "text": cut(text)})

    async def run(self, method: str, params: Mapping[str, Any]) -> str:
        """Run a method that says something to somebody, in a job; "sent" or "not sent: …"."""
        bot, pace = self._bot()
        given = dict(params)
        for _ in range(1 + _MOVES):
            chat = _chat(given)
            await pace.turn(chat)
            try:
                await bot.call(method, given, timeout=_ANSWERED_WITHIN)
            except BotRefused as refused:
                if refused.migrate_to is None:
                    return self._not_sent(refused)
                given["chat_id"] = refused.migrate_to
            else:
                return "sent"
            finally:
                if chat is not None:
                    pace.answered(chat)
        raise UsageError(f"the chat has become another one {_MOVES} times; it is not followed further")

    def _not_sent(self, refused: BotRefused) -> str:
        if refused.retry_after is not None:
            raise Snooze(refused.retry_after) from None
        if refused.code == 403 or (refused.code == 400 and "chat not found" in refused.description.lower()):
            return f"not sent: {refused.description}"
        if refused.code == 401:
            self._made = None  # the token was changed, perhaps: it is looked up again
        raise refused

    def _bot(self) -> tuple[Bot, Pace]:
        if self._made is None:
            settings = self._settings
            reference = settings.token or ""
            token, problem = token_of(reference, inline=self._inline)
            if token is None:
                raise UsageError(
                    f"source {settings.slug!r} cannot send: {problem}; workers need the token, too"
                )
            self._made = Bot(token, settings.api), pace_of(token, settings.api)
        return self._made


def _chat(params: Mapping[str, Any]) -> int | None:
    """The chat's number; None where there is no chat (answerCallbackQuery), or one by its name ("@channel")."""
    chat = params.get("chat_id")
    return chat if isinstance(chat, int) and not isinstance(chat, bool) else None


def cut(text: str) -> str:
    """The text, as much of it as a message takes; counted as Telegram may count it, in UTF-16."""
    return text.encode("utf-16-le")[: LONGEST * 2].decode("utf-16-le", "ignore")
