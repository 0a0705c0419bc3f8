"""Replies: what a Telegram source's receiver answers to a delivery may be a method of the Bot API, to be run.

    {"method": "sendMessage", "chat_id": 42, "text": "got it"}

Only methods that say something (send…, answer…, edit…) are run. An async source's replies are jobs of their own, of the kind
`gateway.<slug>.reply`, one for each delivery whatever happens: when Telegram asks to wait, the reply waits, and the delivery,
which was taken, is not sent again. A reply stands in its chat's line and expires with its update.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tenure.app import App
from tenure.context import Context
from tenure.errors import FieldError
from tenure.gateway.limits import Refused, json_of
from tenure.gateway.settings import SourceSettings
from tenure.gateway.telegram.api import BotRefused
from tenure.gateway.telegram.send import Sender
from tenure.newjob import NewJob
from tenure.outcome import Bury
from tenure.retry import Ladder

__all__ = ["Replies", "has_replies", "register_replies", "reply_in", "reply_kind"]

log = logging.getLogger("tenure.gateway")
_SAYS = re.compile(r"(?:send|answer|edit)[A-Z][A-Za-z]{0,60}\Z")
_LONGEST = 65_536
_SMALL = 4_096
"""How long a reply may be to stand in the result of its delivery's job, too."""
_ONCE = "7d"
_DEEP = 64


def has_replies(settings: SourceSettings) -> bool:
    """Whether this source's deliveries are sent to somebody who may reply."""
    sends_on = settings.handler == "http" or settings.options.get("then") == "http"
    return sends_on and settings.type == "telegram" and settings.is_async


def reply_kind(slug: str) -> str:
    """The kind of a source's replies."""
    return f"gateway.{slug}.reply"


def reply_in(body: bytes, slug: str) -> dict[str, Any] | None:
    """The method that an answer names, with its parameters; None: it names none, or one that may not be run."""
    if len(body) > _LONGEST or not body.lstrip().startswith(b"{"):
        return None
    try:
        found = json_of(body, _DEEP, _DEEP)
    except Refused:
        return None
    method = found.get("method") if isinstance(found, dict) else None
    if not isinstance(method, str):
        return None
    if not _SAYS.match(method):
        log.warning("%s: an answer names the method %r, which is no reply, and is not run", slug, method[:64])
        return None
    return dict(found)


class Replies:
    """One source's replies, on their way to Telegram."""

    def __init__(self, app: App, settings: SourceSettings, *, inline: bool) -> None:
        self._app, self._settings = app, settings
        self._sender = Sender(settings, inline=inline)

    async def give(self, reply: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Keep it as a job, once for the delivery whose job this is; what that job's result says of it."""
        settings, job = self._settings, context.job
        if settings.token is None:
            log.warning('%s: a reply came, and there is no token; write token = "env:NAME"', settings.slug)
            return {"reply": "not given: the source has no token"}
        kind = reply_kind(settings.slug)
        line = None if job.group is None else job.group.removeprefix(f"{job.kind}:")
        new = NewJob(
            kind=kind, payload={"reply": reply}, queue=settings.queue, priority=settings.priority,
            max_attempts=settings.max_attempts, unique=job.id, unique_for=_ONCE,
            group=None if line is None else f"{kind}:{line}", order=job.order or "start",
            expires_at=job.expires_at, parent=job.id,
        )  # fmt: skip
        try:
            stored = await (await self._app.aqueue()).enqueue_job(new)
        except FieldError as cause:  # the delivery was taken; sending it again would not make its reply fit
            log.warning("%s: a reply cannot be kept: %s", settings.slug, cause.field)
            return {"reply": "not given: it cannot be kept as a job"}
        small = len(str(reply)) <= _SMALL
        return {"reply": dict(reply) if small else reply["method"], "reply_id": stored.id}

    async def run(self, reply: Mapping[str, Any]) -> str:
        """Have Telegram run it; "sent", or "not sent: …" where nobody is there to get it."""
        method, given = str(reply.get("method")), {n: v for n, v in reply.items() if n != "method"}
        if not _SAYS.match(method):
            raise Bury("bad arguments", "the method is no reply")
        try:
            return await self._sender.run(method, given)
        except BotRefused as refused:
            if refused.code in (400, 404):  # it would be refused again
                raise Bury("gave up", str(refused)) from None
            raise


def register_replies(app: App, settings: SourceSettings, timeout: timedelta, *, inline: bool) -> None:
    """Give the app the kind of this source's replies."""
    replies = Replies(app, settings, inline=inline)

    async def run(reply: dict[str, Any]) -> str:
        return await replies.run(reply)

    app.job(
        kind=reply_kind(settings.slug),
        queue=settings.queue,
        priority=settings.priority,
        max_attempts=settings.max_attempts,
        retry=Ladder(*settings.retry),
        timeout=timeout,
        settle="now",  # who is killed between Telegram's word and the commit says it twice
    )(run)
