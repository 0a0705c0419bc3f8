"""Apologies: when an update has finally failed, the person who sent it is told, by a job of its own.

The kind `gateway.<slug>.notice` is the hook of `gateway.<slug>`, so its job is made in the transaction of the death, once for
each. It is settled by itself at once: a process killed after Telegram took the message and before that commit tells twice. Where
Telegram was asked and nobody heard its answer, it is asked once more, and then no more: "perhaps sent". Nobody is told of an
update that expired before anything had failed, of a stranger's, or twice a day of the same.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tenure.app import App
from tenure.client.async_queue import AsyncQueue
from tenure.context import Context
from tenure.dead import DeadJob
from tenure.gateway.handlers.auth import AuthHandler
from tenure.gateway.handlers.base import Handler
from tenure.gateway.outgoing import Unreachable
from tenure.gateway.settings import SourceSettings
from tenure.gateway.telegram.send import Sender
from tenure.gateway.telegram.update import Seen, look
from tenure.job import JobId, State
from tenure.kinds import Kind
from tenure.retry import Ladder

__all__ = ["APOLOGY", "apology_of", "register_notice"]

APOLOGY = "I am sorry, something went wrong here and your message could not be handled."
_AGAIN = "1d"
"""How long after a person was told of an update they may be told of the same again."""
_RETRY = Ladder("30s", "2m", "10m", "30m", "1h")
_ATTEMPTS = 10
_TIMEOUT = "60s"


class PerhapsSent(Exception):
    """Telegram was sent the whole message, and did not say whether it took it. The job's history keeps that by this name."""


def apology_of(settings: SourceSettings) -> str:
    """What people are told whose updates failed; "": nothing."""
    if settings.token is None or not settings.is_async or settings.type != "telegram":
        return ""
    return APOLOGY if settings.apology is None else settings.apology


def register_notice(
    app: App, kind: str, settings: SourceSettings, handler: Handler, *, inline: bool
) -> Kind[Any, Any, Any] | None:
    """Give the app the kind that tells people; the kind, if it is to be a hook.

    Where nobody is to be told it is there all the same: a hook that an earlier start has stored goes on making its jobs.
    """
    sender, text = Sender(settings, inline=inline), apology_of(settings)

    async def tell(ctx: Context, dead: DeadJob) -> str:
        if not text:
            return "not told: there is no apology"
        if dead.reason == "expired" and not dead.attempt and not dead.crashes:
            return "not told: the update had expired, and nothing had failed"
        queue = await app.aqueue()
        request = await queue.request(dead.id)
        if request is None:
            return "not told: the request is gone"
        seen = _seen(request.body)
        if seen.person is None:
            return "not told: nobody sent it"
        if isinstance(handler, AuthHandler) and not await handler.knows(seen.person):
            return "not told: a stranger sent it"
        if not await _ours_to_tell(queue, f"gateway.{settings.slug}.told.{dead.id}", ctx.id):
            return "not told: was told within a day"
        # Looked up before anything is sent: a store that went away afterwards must not have it sent once more.
        before = await queue.history(ctx.id) if ctx.attempt > 1 else []
        try:
            return await sender.send(seen.person if seen.chat is None else seen.chat, text)
        except Unreachable as lost:
            if not lost.sent:
                raise
            if any(failed.error_kind == PerhapsSent.__name__ for failed in before):
                return f"perhaps sent: {lost}"
            raise PerhapsSent(str(lost)) from None

    made: Kind[Any, Any, Any] = app.job(
        kind=f"{kind}.notice",
        queue=settings.queue,
        priority=settings.priority,
        max_attempts=_ATTEMPTS,
        retry=_RETRY,
        timeout=_TIMEOUT,
        settle="now",
    )(tell)
    return made if text else None


def _seen(body: bytes) -> Seen:
    try:
        return look(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Seen()


async def _ours_to_tell(queue: AsyncQueue, name: str, mine: JobId) -> bool:
    """Whether this notice is the one that tells of the update today: the first, or the next after one that never told."""
    if await queue.set_note(name, mine, expect=None, keep=_AGAIN):
        return True
    holder = await queue.note(name)
    if holder is None or holder == mine:
        return holder == mine or await queue.set_note(name, mine, expect=None, keep=_AGAIN)
    job = await queue.get(holder)
    if job is None or job.state not in (State.DEAD, State.CANCELLED):
        return False
    return await queue.set_note(name, mine, expect=holder, keep=_AGAIN)
