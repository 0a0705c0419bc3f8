"""cancel, replay, unreplay, discard, restore, purge, pause, resume: what people do to jobs and queues.

Who does it to many is given a filter: what matches is looked for without a lock, then looked at again in the transaction
that changes it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from tenure.filters import Filter
from tenure.job import FINISHED, PENDING, Cancelling, JobId, Replayed, State
from tenure.store.changes import Changes
from tenure.store.dialect import Capabilities
from tenure.store.groups import admit
from tenure.store.losses import Losses
from tenure.store.pack import pack_ids
from tenure.store.plan import Plan, Statement
from tenure.store.search import OLDEST, STRETCH, walk

__all__ = [
    "Bulk",
    "Cancels",
    "Changed",
    "Due",
    "bring_back",
    "cancel",
    "cancel_many",
    "discard",
    "pause",
    "purge",
    "replay",
    "replay_many",
    "restore",
    "resume",
    "unreplay",
]


class Bulk(NamedTuple):
    """What a bounded bulk call did, and where the next one goes on (`after`; None: nothing is left)."""

    changed: int
    conflicts: int
    after: JobId | None


class Changed(Bulk):
    """The same, with the `ids` of the jobs that were changed, for who may want to undo it."""

    ids: tuple[JobId, ...] = ()

    @classmethod
    def of(cls, found: list[JobId], changed: list[JobId], after: JobId | None) -> Changed:
        """Of those that were found, these."""
        made = cls(len(changed), len(found) - len(changed), after)
        made.ids = tuple(changed)
        return made


class Due(NamedTuple):
    """When a job that is replayed is due: at a time, after a while, or else now; in microseconds."""

    run_at: int | None = None
    delay: int | None = None


class Cancels(NamedTuple):
    """What a bounded bulk call cancelled, and asked to cancel, and where the next one goes on (None: nothing is left)."""

    cancelled: int
    asked: int
    after: JobId | None


_NOW: Final = Due()


class _Pending(NamedTuple):
    id: str
    seq: int
    epoch: int
    state: str
    group_key: str | None
    now: int


def cancel(
    job_id: JobId,
    reason: str,
    can: Capabilities,
    *,
    now: int | None,
    inside: bool = False,
    again: bool = False,
) -> Plan[Cancelling]:
    """A pending job is cancelled at once, a running one is asked. `again`: an earlier try may have cancelled it."""
    answer = yield Statement("find_pending", {"id": job_id, "now": now})
    if not answer.rows:
        ended = yield Statement("find_finished", {"id": job_id})
        if again and ended.rows and ended.rows[0][0] == State.CANCELLED:
            return Cancelling.CANCELLED
        if ended.rows:
            return Cancelling.FINISHED
        # Whoever held it there may have started it anew meanwhile.
        answer = yield Statement("find_pending", {"id": job_id, "now": now})
        if not answer.rows:
            return Cancelling.UNKNOWN
    job = _Pending(*answer.rows[0])
    if job.state == State.RUNNING:
        yield Statement("cancel_ask", {"id": job_id, "reason": reason, "now": now})
        return Cancelling.ASKED
    changes = Changes()
    changes.end(job, State.CANCELLED, None, reason=reason)
    yield from changes.write(can, now=now)
    yield from Losses(changes).write(now=now, inside=inside)
    return Cancelling.CANCELLED


def cancel_many(
    which: Filter, reason: str, can: Capabilities, *, limit: int, after: JobId | None, now: int | None
) -> Plan[Cancels]:
    """Up to `limit` jobs that match and have not finished are cancelled, or asked if they run."""
    which = which.only((*PENDING, State.RUNNING))
    ids, at = yield from _find(which, limit, after, STRETCH, now)
    changes, asked = Changes(), 0
    for job_id in ids:
        answer = yield Statement("find_pending", {"id": job_id, "now": now})
        job = _Pending(*answer.rows[0]) if answer.rows else None
        if job is None or job.state not in (which.states or ()):
            continue  # somebody was quicker
        if job.state == State.RUNNING:
            yield Statement("cancel_ask", {"id": job_id, "reason": reason, "now": now})
            asked += 1
        else:
            changes.end(job, State.CANCELLED, None, reason=reason)
    yield from changes.write(can, now=now)
    yield from Losses(changes).write(now=now)
    return Cancels(len(changes.finish), asked, at)


def replay(job_id: JobId, can: Capabilities, *, due: Due = _NOW, now: int | None) -> Plan[Replayed]:
    """A finished job starts anew, when it is `due`; `conflict` if its unique slot is taken, and then nothing is changed."""
    answer = yield Statement("find_finished", {"id": job_id})
    if not answer.rows:
        pending = yield Statement("find_pending", {"id": job_id, "now": now})
        if pending.rows:
            return Replayed.NOT_FINISHED
        # Whoever held it there may have ended it meanwhile.
        answer = yield Statement("find_finished", {"id": job_id})
        if not answer.rows:
            return Replayed.UNKNOWN
    replayed = yield from bring_back([job_id], can, anew=True, due=due, now=now)
    return Replayed.REPLAYED if replayed else Replayed.CONFLICT


def replay_many(
    which: Filter, can: Capabilities, *, limit: int, after: JobId | None, due: Due = _NOW, now: int | None
) -> Plan[Changed]:
    """Up to `limit` finished jobs that match start anew, when they are `due`."""
    ids, at = yield from _find(which.only(FINISHED), limit, after, STRETCH, now)
    replayed = yield from bring_back(ids, can, anew=True, due=due, now=now)
    return Changed.of(ids, replayed, at)


def unreplay(
    which: Filter, can: Capabilities, *, limit: int, after: JobId | None, now: int | None
) -> Plan[Bulk]:
    """Of up to `limit` jobs that match and have not finished, those that were replayed and not claimed since are as before.

    The others are conflicts. No death is told of again, nor counted: it was, when they died.
    """
    ids, at = yield from _find(which.only((*PENDING, State.RUNNING)), limit, after, STRETCH, now)
    if not ids:
        return Bulk(0, 0, at)
    answer = yield Statement("unreplay", {"ids": pack_ids(ids)})
    yield from admit([group for _, group in answer.rows if group is not None], can)
    return Bulk(len(answer.rows), len(ids) - len(answer.rows), at)


def discard(which: Filter, *, limit: int, after: JobId | None, now: int | None) -> Plan[Changed]:
    """Up to `limit` dead jobs that match end as cancelled; those that somebody was quicker with are conflicts."""
    ids, at = yield from _find(which.only((State.DEAD,)), limit, after, STRETCH, now)
    if not ids:
        return Changed.of([], [], at)
    answer = yield Statement("discard", {"ids": pack_ids(ids), "now": now})
    discarded = [JobId(job_id) for (job_id,) in answer.rows]
    yield from Losses(cancelled=discarded).write(now=now)
    return Changed.of(ids, discarded, at)


def restore(which: Filter, *, limit: int, after: JobId | None, now: int | None) -> Plan[Bulk]:
    """Those of up to `limit` cancelled jobs that were discarded are dead again."""
    ids, at = yield from _find(which.only((State.CANCELLED,)), limit, after, STRETCH, now)
    if not ids:
        return Bulk(0, 0, at)
    answer = yield Statement("restore", {"ids": pack_ids(ids)})
    return Bulk(answer.changed, 0, at)


def purge(which: Filter, *, limit: int, now: int | None) -> Plan[int]:
    """Delete up to `limit` finished jobs that match, dead ones too; how many."""
    ids, _ = yield from _find(which.only(FINISHED), limit, None, None, now)
    if not ids:
        return 0
    answer = yield Statement("purge", {"ids": pack_ids(ids)})
    return answer.changed


def pause(queue: str, *, now: int | None) -> Plan[None]:
    """Nothing more is claimed from the queue; what runs goes on."""
    yield Statement("pause", {"queue": queue, "now": now}, alone=True)


def resume(queue: str) -> Plan[bool]:
    """The queue is claimed from again; whether it was paused."""
    answer = yield Statement("resume", {"queue": queue}, alone=True)
    return answer.changed > 0


def bring_back(
    ids: list[JobId], can: Capabilities, *, anew: bool, due: Due = _NOW, now: int | None
) -> Plan[list[JobId]]:
    """Finished jobs go back to the line, as new or as they were; those that found their unique slot free."""
    if not ids:
        return []
    answer = yield Statement("replay", {"ids": pack_ids(ids), "anew": anew, **due._asdict(), "now": now})
    if anew:
        yield Statement("crashes_close", {"ids": pack_ids(i for i, _ in answer.rows)})
    yield from admit([group for _, group in answer.rows if group is not None], can)
    return [JobId(job_id) for job_id, _ in answer.rows]


def _find(
    which: Filter, limit: int, after: JobId | None, look: int | None, now: int | None
) -> Plan[tuple[list[JobId], JobId | None]]:
    """The ids of up to `limit` jobs that match, oldest first, and where to go on."""
    found = yield from walk(OLDEST, which, limit=limit, start=after, look=look, now=now)
    if not found.rows:
        return [], found.at
    these = replace(which, ids=[row[0] for row in found.rows])
    again = yield from walk(OLDEST, these, limit=limit, start=None, now=now, alone=False)
    return [JobId(row[0]) for row in again.rows], found.at
