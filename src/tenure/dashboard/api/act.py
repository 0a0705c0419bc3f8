"""What operators do: POST /api/act. Each action is kept in the audit: who, what, how many, and what they were told.

An action on many jobs goes through them in batches. It is answered when it is over, or after two seconds, and then goes on by
itself, and /api/acts/NAME says how far it is; it ends with the process, and what it has not reached still matches, so that
it can be asked for again. The audit knows of each action before it changes anything, so that none is lost with its process.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from tenure.dashboard.access import Refused, address_of
from tenure.dashboard.acting import UNDONE, Answer, Bulk, Undoing, many
from tenure.dashboard.desk import Asked
from tenure.dashboard.keeping import Kept
from tenure.dashboard.masking import STARS
from tenure.dashboard.orders import Order, one_id, until_of, which_of
from tenure.dashboard.series import now
from tenure.dashboard.snoozed import snooze
from tenure.errors import FieldError, PayloadError, TenureError
from tenure.job import JobSeen, decode_text
from tenure.newjob import NewJob
from tenure.query import format as written

__all__ = ["act"]

log = logging.getLogger("tenure.dashboard")
_LARGEST: Final = 4 * 1024 * 1024
_SNOOZE: Final = timedelta(days=1)


async def act(asked: Asked) -> dict[str, Any]:
    """Do it, keep that it was done, and say what came of it."""
    order = await _order(asked)
    queue = await asked.desk.queue()
    who = f"{asked.session.role} {address_of(asked.request)}".strip()
    what = _what(asked, order)
    kept = Kept(queue, who, order.action, what)
    await kept.begin()
    try:
        answer = await _ACTIONS[order.action](asked, order, kept)
    except Exception as error:
        await kept.end(0, f"refused: {error}")
        raise
    finally:
        asked.desk.forget()
    said = answer.said
    if answer.act is None and not await kept.end(answer.done, said):
        said += "; the audit could not be told of it"
    log.info("%s: %s %s: %s", who, order.action, what, said)
    told = {"done": answer.done, "more": answer.act is not None, "said": said}
    return told | {
        name: value for name, value in (("act", answer.act), ("undo", answer.undo)) if value is not None
    }


def _what(asked: Asked, order: Order) -> str:
    """What it is done to: a name, or jobs; what is no filter is told as it came, and where something is undone, what that was about."""
    if order.name is not None:
        undone = asked.desk.undos.get(order.name) if order.action in UNDONE else None
        return order.name if undone is None else written(undone.which)
    if order.q is None:
        return f"id:{','.join(order.ids)}" if order.ids else ""
    try:
        return written(which_of(order, asked.mask))
    except TenureError:
        return order.q


async def _order(asked: Asked) -> Order:
    body = bytearray()
    async for piece in asked.request.stream():
        body += piece
        if len(body) > _LARGEST:
            raise Refused(413, "that is too long", connection="close")
    if asked.request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "the body must be application/json")
    try:
        order = msgspec.json.decode(bytes(body), type=Order)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise FieldError("body", f"must be an order ({error})", "…") from None
    order.check()
    return order


async def _bulk(asked: Asked, order: Order, kept: Kept) -> Answer:
    which = which_of(order, asked.mask)
    log.debug("%s of %s", order.action, written(which))
    at = until_of(order.at) if order.action == "retry" else None
    bulk = Bulk(await asked.desk.queue(), which, order.action, order.rate, at)
    return await many(asked.desk, bulk, kept)


async def _unreplay(asked: Asked, order: Order, kept: Kept) -> Answer:
    """A retry by its name, or jobs by their ids."""
    if not order.name and not order.ids:
        raise FieldError("name", "must be that of a retry, as its answer told (or give ids)", order.name)
    of = await _undone(asked, order) if order.name else None
    ids = order.ids if of is None else of.ids
    return await many(asked.desk, Undoing(await asked.desk.queue(), ids, "unreplay", of), kept)


async def _restore(asked: Asked, order: Order, kept: Kept) -> Answer:
    """A discard by its name, or what was discarded of the jobs that are meant."""
    if order.name is None:
        return await _bulk(asked, order, kept)
    of = await _undone(asked, order)
    return await many(asked.desk, Undoing(await asked.desk.queue(), of.ids, "restore", of), kept)


async def _undone(asked: Asked, order: Order) -> Bulk:
    """The action of this name, which knows the jobs that it has changed; it is stopped if it still goes on."""
    done, of = asked.desk.undos.get(order.named()), UNDONE[order.action]
    if done is None or done.action != of:
        raise Refused(404, f"no {of} of this name can be undone here any more")
    if done.too_many:
        raise Refused(404, f"this {of} cannot be undone any more: {done.said()}")
    await done.halt()
    return done


async def _again(asked: Asked, order: Order, _: Kept) -> Answer:
    """A new job like an old one, with another payload or at another time. The old one stays as it is."""
    queue = await asked.desk.queue()
    old = await queue.get(one_id(order))
    if old is None:
        raise Refused(404, "no job has this id")
    request = await queue.request(old.id)
    if order.payload is None:
        payload = decode_text(old.payload_text)
    else:
        payload = _fitting(asked, old.kind, asked.mask.put_back(_payload(order.payload), old.payload_text))
    made = await queue.enqueue_job(_like(old, payload, until_of(order.at), request))
    if not made.inserted:
        return Answer(0, f"its unique key is taken by {made.id}: nothing was enqueued")
    return Answer(1, f"enqueued as {made.id}")


def _fitting(asked: Asked, kind: str, payload: Any) -> Any:
    """A payload that was edited, as the app itself would take it; what its kind takes is known where the app has it."""
    known = asked.desk.app.kinds.get(kind)
    if known is None:
        return payload
    try:
        return known.signature.fitted({} if payload is None else payload)
    except PayloadError as error:
        if not asked.mask:
            raise
        # Old values stand where stars were left, and what is wrong with one may tell it.
        raise FieldError(error.field, "must fit what its kind takes", STARS, error.fix) from None


def _like(old: JobSeen, payload: Any, run_at: Any, request: Any) -> NewJob:
    return NewJob(
        kind=old.kind, payload=payload, queue=old.queue, priority=old.priority, max_attempts=old.max_attempts, run_at=run_at,
        group=old.group, group_limit=old.group_limit or 1, order=old.order or "strict", timeout=old.timeout, tags=old.tags,
        meta=old.meta, parent=old.parent, flow=old.flow, tenant=old.tenant, request=request,
        unique=None if old.unique_for is not None else old.unique,
    )  # fmt: skip


def _payload(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise FieldError("payload", f"must be JSON ({error})", text[:40]) from None


async def _pause(asked: Asked, order: Order, _: Kept) -> Answer:
    await (await asked.desk.queue()).pause(order.named())
    return Answer(1, f"queue {order.name} is paused; what runs goes on")


async def _resume(asked: Asked, order: Order, _: Kept) -> Answer:
    was = await (await asked.desk.queue()).resume(order.named())
    return Answer(int(was), f"queue {order.name} {'is claimed from again' if was else 'was not paused'}")


async def _schedule(asked: Asked, order: Order) -> str:
    name = order.named()
    if name not in {one.name for one in await (await asked.desk.queue()).schedules()}:
        raise Refused(404, "there is no schedule of this name")
    return name


async def _run_cron(asked: Asked, order: Order, _: Kept) -> Answer:
    made = await (await asked.desk.queue()).run_schedule(await _schedule(asked, order))
    return Answer(int(made.inserted), f"{'enqueued as' if made.inserted else 'there already:'} {made.id}")


async def _pause_cron(asked: Asked, order: Order, _: Kept) -> Answer:
    name = await _schedule(asked, order)
    changed = await (await asked.desk.queue()).pause_schedule(name)
    return Answer(int(changed), f"schedule {name} {'is paused' if changed else 'was paused already'}")


async def _resume_cron(asked: Asked, order: Order, _: Kept) -> Answer:
    name = await _schedule(asked, order)
    changed = await (await asked.desk.queue()).resume_schedule(name)
    return Answer(int(changed), f"schedule {name} {'fires again' if changed else 'was not paused'}")


async def _snooze(asked: Asked, order: Order, _: Kept) -> Answer:
    """For a day, or until `at`; "" wakes it."""
    until = None if order.at == "" else until_of(order.at) or now() + _SNOOZE
    await snooze(await asked.desk.queue(), order.named(), until)
    return Answer(1, "not silent any more" if until is None else f"silent until {until:%Y-%m-%d %H:%M} UTC")


_ACTIONS: Final[Mapping[str, Callable[[Asked, Order, Kept], Awaitable[Answer]]]] = {
    "retry": _bulk,
    "unreplay": _unreplay,
    "cancel": _bulk,
    "purge": _bulk,
    "discard": _bulk,
    "restore": _restore,
    "enqueue_edited": _again,
    "pause": _pause,
    "resume": _resume,
    "run_cron": _run_cron,
    "pause_cron": _pause_cron,
    "resume_cron": _resume_cron,
    "snooze_error": _snooze,
}
