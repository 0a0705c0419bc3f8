"""A Telegram bot's API: one method is one POST, and what Telegram refuses is `BotRefused`.

    bot = Bot(token)
    me = await bot.call("getMe", {})
    await bot.call("setWebhook", {"url": url}, files={"certificate": pem})

The token stands in the path of the request and nowhere else: no error, repr or log line shows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

import msgspec

from tenure.errors import FieldError, UsageError
from tenure.gateway.outgoing import Answer, post
from tenure.gateway.telegram.checks import TOKEN
from tenure.gateway.telegram.form import form_of

__all__ = ["Bot", "BotRefused"]

_METHOD = re.compile(r"[A-Za-z]{1,64}\Z")
_SHOWN = 300
_SHORTEST_WAIT, _LONGEST_WAIT = 1.0, 86_400.0
_UNSAID_WAIT = 5.0
"""How long a 429 means where it does not say."""


class BotRefused(Exception):
    """Telegram answered no. `retry_after` (seconds) and `migrate_to` (a chat) are what it said to do instead."""

    def __init__(
        self,
        code: int,
        description: str,
        retry_after: float | None = None,
        migrate_to: int | None = None,
    ) -> None:
        self.code, self.description = code, description
        self.retry_after, self.migrate_to = retry_after, migrate_to
        super().__init__(f"Telegram refused: {code} {description}")


class Bot:
    """One bot, at one address of the API; a private address is as good as another, for the operator has named it."""

    __slots__ = ("_base", "_token")

    def __init__(self, token: str, base: str = "https://api.telegram.org") -> None:
        if not TOKEN.match(token):
            raise UsageError(
                "a bot's token must be digits, a colon, and characters of A-Z, a-z, 0-9, _ and -"
            )
        self._token, self._base = token, base.rstrip("/")

    def __repr__(self) -> str:
        return f"<Bot at {self._base}>"

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        files: Mapping[str, bytes] | None = None,
        timeout: float = 10.0,  # noqa: ASYNC109 - a deadline per call
    ) -> Any:
        """Call a method; its result. Raises BotRefused, or outgoing.Unreachable where no usable answer came."""
        if not _METHOD.match(method):
            raise FieldError("method", "must be a method of the Bot API", method)
        sort, body = (
            form_of(params, files) if files else ("application/json", msgspec.json.encode(dict(params)))
        )
        url = f"{self._base}/bot{self._token}/{method}"
        answer = await post(url, body, {"content-type": sort}, timeout=timeout, private=True)
        told = _told(answer)
        if told.get("ok") is True:
            return told.get("result")
        raise self._refused(answer, told)

    def _refused(self, answer: Answer, told: dict[str, Any]) -> BotRefused:
        code, says, more = told.get("error_code"), told.get("description"), told.get("parameters")
        more = more if isinstance(more, dict) else {}
        known: int = code if _is_whole(code) else answer.status
        says = says if isinstance(says, str) else "the answer is not the Bot API's"
        migrate = more.get("migrate_to_chat_id")
        return BotRefused(
            known,
            self._without_token(says),
            _wait(known, more.get("retry_after"), answer.headers.get("retry-after", "")),
            migrate if _is_whole(migrate) else None,
        )

    def _without_token(self, text: str) -> str:
        """What a server says of a request may repeat its path."""
        secret = self._token.partition(":")[2]
        return text.replace(self._token, "***").replace(secret, "***")[:_SHOWN]


def _told(answer: Answer) -> dict[str, Any]:
    """The answer's JSON object; an empty one where it is something else."""
    try:
        told = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _wait(code: int, said: Any, header: str) -> float | None:
    """How long Telegram asks to be left alone; None: it does not."""
    if _is_whole(said) and said >= 0:
        return max(min(float(said), _LONGEST_WAIT), _SHORTEST_WAIT)
    if code != 429:
        return None
    plain = header.isascii() and header.isdecimal() and len(header) < 9
    return max(min(float(header), _LONGEST_WAIT), _SHORTEST_WAIT) if plain else _UNSAID_WAIT


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
