"""echo: sends each message's text back to its chat, for a first look at a Telegram bot. Other updates are done with nothing."""

from __future__ import annotations

from typing import Any

from tenure.app import App
from tenure.context import Context
from tenure.gateway.delivery import Delivery
from tenure.gateway.settings import SourceSettings
from tenure.gateway.telegram.checks import token_needed
from tenure.gateway.telegram.send import Sender
from tenure.gateway.telegram.update import look

__all__ = ["EchoHandler"]


class EchoHandler:
    """In a request it answers with the message, in a job it sends it."""

    def __init__(
        self,
        app: App,  # noqa: ARG002 - its shape
        settings: SourceSettings,
        argument: str,
        *,
        inline: bool = False,
        store: bool = True,  # noqa: ARG002 - its shape
    ) -> None:
        self._settings, self._argument = settings, argument
        self._sender = Sender(settings, inline=inline)

    def problems(self) -> list[str]:
        """It is for Telegram, and takes nothing."""
        found = []
        if self._settings.type != "telegram":
            found.append("handler: echo is for telegram sources")
        if self._argument:
            found.append("handler: echo takes no argument")
        return found + token_needed(self._settings, "echo")

    def secrets(self) -> list[tuple[str | None, str | None]]:
        """None of its own."""
        return []

    def asks_store(self) -> bool:
        """It does not."""
        return False

    async def handle(self, delivery: Delivery, context: Context) -> Any:
        """Say what was said."""
        seen = look(delivery.event)
        if seen.kind != "message" or seen.chat is None or not (seen.text or "").strip():
            return None
        return await self._sender.answer(context, seen.chat, seen.text or "")
