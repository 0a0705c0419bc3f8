"""How fast a bot may send: Telegram's limits, kept before it has to say so.

About one message a second to a chat, twenty a minute to a group (whose id is negative), thirty a second in all. What this
process sends for one bot shares one pace; other processes have theirs, and Telegram's 429 is what tells them apart.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from tenure.outcome import Snooze

__all__ = ["Pace", "pace_of"]

_CHAT, _GROUP, _ALL = 1.0, 3.0, 1 / 30
"""How far apart messages are, in seconds: to a person, to a group, and to anybody."""
_PATIENCE = 10.0
"""How long a message waits here for its turn; then its job is put off, and its slot is free for others."""
_MANY = 10_000


class Pace:
    """One bot's. Asked from any event loop of the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._free: dict[int, float] = {}
        """When the next message may go to a chat."""
        self._all = 0.0

    async def turn(self, chat: int | None) -> None:
        """Wait until a message may go to this chat, None for one without a number; Snooze if that takes too long."""
        deadline = self._clock() + _PATIENCE
        while (wait := self.take(chat)) > 0:
            if self._clock() + wait > deadline:
                raise Snooze(wait)
            await asyncio.sleep(wait)

    def answered(self, chat: int) -> None:
        """Telegram has answered: the time to the next is counted from here, however long this one was on its way."""
        with self._lock:
            self._free[chat] = self._clock() + _gap(chat)

    def take(self, chat: int | None) -> float:
        """Take the turn, if it is this chat's and the bot's own; else how long to wait before asking again."""
        with self._lock:
            now = self._clock()
            free = 0.0 if chat is None else self._free.get(chat, 0.0)
            wait = max(free, self._all) - now
            if wait > 0:
                return wait
            if len(self._free) > _MANY:
                self._free = {one: at for one, at in self._free.items() if at > now}
            if chat is not None:
                self._free[chat] = now + _gap(chat)
            self._all = now + _ALL
            return 0.0


def _gap(chat: int) -> float:
    return _GROUP if chat < 0 else _CHAT


_paces: dict[tuple[str, str], Pace] = {}


def pace_of(token: str, base: str) -> Pace:
    """The pace of this token's bot, the same for all who send for it in this process."""
    return _paces.setdefault((base, token.partition(":")[0]), Pace())
