"""auth: a Telegram bot for those who may. Their updates go to another handler, `then`; everybody else's go no further.

    handler = "auth"
    options = { then = "python:on_update", allow = [12345678] }

Who is on the list may, and so may who was admitted: by sending a one-time code (`telegram.codes.make_code`), alone or after
/start. Any other person is told no, once a day at most. People and codes are remembered in the store; without one there is
the list alone.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from tenure.app import App
from tenure.client.async_queue import AsyncQueue
from tenure.context import Context
from tenure.gateway.delivery import Delivery
from tenure.gateway.handlers.base import Handler
from tenure.gateway.settings import SourceSettings
from tenure.gateway.telegram.checks import LONGEST, token_needed
from tenure.gateway.telegram.codes import code_in, redeem, refused_note, user_note
from tenure.gateway.telegram.send import Sender
from tenure.gateway.telegram.update import Seen, look

__all__ = ["AuthHandler"]

_DAY = 86_400.0
_MANY = 10_000


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What `options` may say."""

    then: str = ""
    allow: tuple[int, ...] = ()
    refusal: str = "I am sorry, this bot is private."
    welcome: str = "Welcome! You can use this bot now."
    codes: bool | None = None
    """None: as far as there is a store."""


class AuthHandler:
    """Asks who it is, then hands over or says no."""

    def __init__(
        self, app: App, settings: SourceSettings, argument: str, *, inline: bool = False, store: bool = True
    ) -> None:
        self._app, self._settings, self._argument, self._store = app, settings, argument, store
        self._sender = Sender(settings, inline=inline)
        self._problem: str | None = None
        names = Options.__struct_fields__
        given = {name: value for name, value in settings.options.items() if name in names}
        self._rest = {name: value for name, value in settings.options.items() if name not in names}
        try:
            self._options = msgspec.convert(given, Options)
        except msgspec.ValidationError as cause:
            self._options, self._problem = Options(), str(cause)
        self._allow = frozenset(self._options.allow)
        self._codes = store and self._options.codes is not False
        self._told: dict[int, float] = {}
        """Without a store: who was told no, and when."""
        self._then = self._make(inline=inline)

    def _make(self, *, inline: bool) -> Handler | None:
        from tenure.gateway.handlers import HANDLERS

        name, _, argument = self._options.then.partition(":")
        found = None if name == "auth" else HANDLERS.get(name)
        if found is None:
            return None
        settings = msgspec.structs.replace(self._settings, handler=self._options.then, options=self._rest)
        return found(self._app, settings, argument, inline=inline, store=self._store)

    def problems(self) -> list[str]:
        """What is wrong with its options, and with the handler it hands over to."""
        options, name = self._options, self._options.then.partition(":")[0]
        found = [] if self._problem is None else [f"options: {self._problem}"]
        if self._settings.type != "telegram":
            found.append("handler: auth is for telegram sources")
        if self._argument:
            found.append(
                "handler: auth takes no argument; write options.then for the handler of those who may"
            )
        if self._then is None and self._problem is None:
            found.append(f'options.then must be "echo", "http" or "python:NAME", got {options.then!r}')
        if self._rest and name in ("echo", "python", ""):
            known = ", ".join(Options.__struct_fields__)
            found.append(f"options: auth takes {known}, got {', '.join(sorted(self._rest))}")
        found += [f"options.allow must be ids of people, got {one}" for one in options.allow if one <= 0]
        for field in ("refusal", "welcome"):
            if len(getattr(options, field)) > LONGEST:
                found.append(f"options.{field} must be at most {LONGEST} characters")
            if getattr(options, field) and not getattr(options, field).strip():
                found.append(
                    f'options.{field} is blank, and Telegram sends no blank message; write {field} = "" to say nothing'
                )
        found += self._without_store()
        if name != "echo" and (options.refusal or options.welcome):
            found += token_needed(self._settings, "auth")
        return found + ([] if self._then is None else self._then.problems())

    def _without_store(self) -> list[str]:
        if self._store or self._problem is not None:
            return []
        if self._options.codes:
            return ["options.codes needs a store, and there is none; set TENURE_URL, or codes = false"]
        return [] if self._allow else ["options.allow is empty, and without a store nobody else may"]

    def secrets(self) -> list[tuple[str | None, str | None]]:
        """Those of the handler it hands over to."""
        return [] if self._then is None else self._then.secrets()

    def asks_store(self) -> bool:
        """Whether a person may use the bot is kept there, where there is one."""
        return self._store

    async def handle(self, delivery: Delivery, context: Context) -> Any:
        """Hand over what those send who may; a result of ours says what became of the others."""
        seen = look(delivery.event)
        if seen.person is None:
            return "refused: nobody's"
        if seen.person not in self._allow:
            queue = await self._queue()
            known = await self._admitted(queue, seen.person)
            if queue is not None and await self._redeemed(queue, seen, known=known):
                return await self._say(context, seen, "admitted", self._options.welcome)
            if not known:
                first = await self._first_today(queue, seen)
                return await self._say(context, seen, "refused", self._options.refusal if first else "")
        if self._then is None:
            return None
        return await self._then.handle(delivery, context)

    async def knows(self, person: int) -> bool:
        """Whether this person may use the bot."""
        return person in self._allow or await self._admitted(await self._queue(), person)

    async def _queue(self) -> AsyncQueue | None:
        return await self._app.aqueue() if self._store else None

    async def _admitted(self, queue: AsyncQueue | None, person: int) -> bool:
        return queue is not None and await queue.note(user_note(self._settings.slug, person)) is not None

    async def _redeemed(self, queue: AsyncQueue, seen: Seen, *, known: bool) -> bool:
        # In a group everybody reads the code.
        code = code_in(seen.text) if self._codes and seen.kind == "message" and seen.private else None
        if code is None or seen.person is None:
            return False
        return await redeem(queue, self._settings.slug, code, seen.person, seen.id, known=known)

    async def _first_today(self, queue: AsyncQueue | None, seen: Seen) -> bool:
        """Whether this update is the one to be told no for today; asked again about it, it is still."""
        person, mine = seen.person or 0, str(seen.id)
        if queue is not None:
            name = refused_note(self._settings.slug, person)
            return await queue.set_note(name, mine, expect=None, keep=_DAY) or await queue.note(name) == mine
        now = time.monotonic()
        if now - self._told.get(person, -_DAY) < _DAY:
            return False
        if len(self._told) >= _MANY:
            self._told.clear()
        self._told[person] = now
        return True

    async def _say(self, context: Context, seen: Seen, result: str, text: str) -> Any:
        if not text or seen.home is None:
            return result
        told = await self._sender.answer(context, seen.home, text)
        return f"{result}; {told}" if isinstance(told, str) else told
