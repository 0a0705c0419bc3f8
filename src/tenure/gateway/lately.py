"""What each source was sent lately, told to the store as a note, for whoever has only the store to look at: `tenure doctor`,
and a dashboard in a process without a gateway.

Counters live in one process. So, some seconds after a request, its gateway puts down beside the jobs when the last one came, how
it was answered, and what was rejected in the last hour, and why. Several gateways write the same note, each by comparing, so
that none forgets what another told; which sources there are is a note of its own. It is told behind the answers, never before
one; a store that is away hears of it later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tenure.client.async_queue import AsyncQueue
from tenure.clock import machine_micros
from tenure.gateway.counters import Counters

__all__ = ["SOURCES", "Lately", "Seen", "note_of", "rejected", "seen_of", "sources_of"]

log = logging.getLogger("tenure.gateway")
SOURCES: Final = "gateway.sources"
"""The name of the note that names the sources which were told of; one that is gone has no note of its own any more."""
_MOST: Final = 500
_EVERY: Final = 10.0
"""How long after a request it is told at most, in seconds."""
_LEAVING: Final = 1.0
_KEPT: Final = "30d"
_TRIES: Final = 3
_HOUR: Final = 60
"""In minutes."""
_TAKEN: Final = 200


class Seen(msgspec.Struct, kw_only=True):
    """What is known of one source: its last request and the answer, the last one that was taken, and rejects by minute and reason."""

    at: float
    status: int
    reason: str | None = None
    taken_at: float | None = None
    rejects: dict[int, dict[str, int]] = {}


def note_of(slug: str) -> str:
    """The name of a source's note."""
    return f"gateway.{slug}.lately"


def seen_of(text: str | None) -> Seen | None:
    """What a note says; None: nothing that is understood here."""
    try:
        return None if text is None else msgspec.json.decode(text, type=Seen)
    except msgspec.DecodeError:
        return None


def sources_of(text: str | None) -> list[str]:
    """The sources that a note names."""
    try:
        return [] if text is None else msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError:
        return []


def rejected(seen: Seen, now: float) -> dict[str, int]:
    """What was rejected in the last hour, by reason, the most frequent first."""
    sums: dict[str, int] = {}
    for minute, reasons in seen.rejects.items():
        if minute > now // 60 - _HOUR:
            for reason, count in reasons.items():
                sums[reason] = sums.get(reason, 0) + count
    return dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))


def _merged(old: Seen | None, new: Seen) -> Seen:
    """Both; of rejects no more than the last hour's."""
    if old is None:
        return new
    last = new if new.at >= old.at else old
    oldest = last.at // 60 - _HOUR
    rejects = {minute: dict(reasons) for minute, reasons in old.rejects.items() if minute > oldest}
    for minute, reasons in new.rejects.items():
        into = rejects.setdefault(minute, {})
        for reason, count in reasons.items():
            into[reason] = into.get(reason, 0) + count
    taken = max((at for at in (old.taken_at, new.taken_at) if at is not None), default=None)
    return Seen(at=last.at, status=last.status, reason=last.reason, taken_at=taken, rejects=rejects)


class Lately:
    """One gateway's telling."""

    def __init__(
        self, counters: Counters, queue: Callable[[], Awaitable[AsyncQueue]], deadline: float
    ) -> None:
        self._counters, self._queue, self._deadline = counters, queue, deadline
        self._told: dict[str, float] = {}
        """By source: when the last request came that was told of."""
        self._counted: dict[tuple[str, str | int], int] = {}
        """By source, and by reason or status: how many were told of."""
        self._listed: set[str] = set()
        """The sources that are named in the store."""
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        counters.changed = self._wake

    async def leave(self) -> None:
        """Tell what is left, if that is quickly done; the loop on which it was told so far may be gone."""
        self._counters.changed = None
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._task.get_loop() is asyncio.get_running_loop():
            await asyncio.wait({self._task}, timeout=_LEAVING)
            self._task.cancel()
        if self._untold():
            await self._tell(min(self._deadline, _LEAVING))

    def _wake(self) -> None:
        """Something was answered; nothing more is heard of it until that was told."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # not where requests are served; no answer is to fail of it
            self._counters.changed = self._wake
            return
        self._timer = loop.call_later(_EVERY, self._due)

    def _due(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._telling())

    async def _telling(self) -> None:
        await self._tell(self._deadline)
        if self._untold():
            self._wake()
        else:
            self._counters.changed = self._wake

    def _untold(self) -> list[str]:
        """The sources that were asked since they were told of; strangers' paths are none."""
        return [
            slug for slug, (at, _, _) in self._counters.last.items() if slug and self._told.get(slug) != at
        ]

    async def _tell(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                queue = await self._queue()
                for slug in self._untold():
                    await self._put(queue, slug)
        except Exception as error:  # it is no more than a word to an operator; the next time comes
            log.debug("what was answered lately could not be told: %s", error)

    async def _put(self, queue: AsyncQueue, slug: str) -> None:
        new, counted = self._new(slug)
        name = note_of(slug)
        for _ in range(_TRIES):
            old = await queue.note(name)
            told = msgspec.json.encode(_merged(seen_of(old), new)).decode()
            if await queue.set_note(name, told, expect=old, keep=_KEPT):
                self._told[slug] = new.at
                self._counted |= counted
                break
        if slug not in self._listed:
            await self._list(queue, slug)

    async def _list(self, queue: AsyncQueue, slug: str) -> None:
        for _ in range(_TRIES):
            old = await queue.note(SOURCES)
            names = sources_of(old)
            told = msgspec.json.encode([*names, slug][-_MOST:]).decode()
            if slug in names or await queue.set_note(SOURCES, told, expect=old):
                self._listed.add(slug)
                return

    def _new(self, slug: str) -> tuple[Seen, dict[tuple[str, str | int], int]]:
        """What came since it was last told, and what is counted once that is."""
        at, status, reason = self._counters.last[slug]
        counted: dict[tuple[str, str | int], int] = {
            **{key: n for key, n in self._counters.rejects.items() if key[0] == slug},
            (slug, _TAKEN): self._counters.requests[slug, _TAKEN],
        }
        more = {key: n - self._counted.get(key, 0) for key, n in counted.items()}
        rejects = {str(key[1]): n for key, n in more.items() if n and key[1] != _TAKEN}
        return Seen(
            at=at, status=status, reason=reason, taken_at=at if more[slug, _TAKEN] else None,
            rejects={machine_micros() // 60_000_000: rejects} if rejects else {},
        ), counted  # fmt: skip
