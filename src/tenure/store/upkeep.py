"""promote, reclaim, vanished, expire, retain: the chores that keep jobs moving and the house clean.

Each is bounded, safe to run from anywhere at any time, and passes over rows that somebody has locked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tenure.job import SUSPECT, State
from tenure.store.changes import MAX_CRASHES, Changes, Held
from tenure.store.dialect import Capabilities
from tenure.store.groups import admit
from tenure.store.losses import Losses
from tenure.store.plan import Plan, Statement

__all__ = ["ALIVE", "MAX_CRASHES", "expire", "promote", "reclaim", "retain", "vanished"]

ALIVE = 30_000_000
"""How long after its last beat a worker counts as alive, in microseconds."""
_BATCH = 1_000
_FORGOTTEN = 86_400_000_000
"""How long a worker that vanished is remembered, in microseconds: a day."""


class _Expired(NamedTuple):
    id: str
    seq: int
    epoch: int
    attempt: int
    crashes: int
    started_at: int | None
    group_key: str | None
    now: int


def promote(can: Capabilities, *, limit: int, now: int | None, after: int = 0) -> Plan[int]:
    """Due jobs become ready, or waiting where their group decides; how many."""
    answer = yield Statement("promote", {"limit": limit, "after": after, "now": now})
    yield from admit([group for (group,) in answer.rows if group is not None], can)
    return len(answer.rows)


def reclaim(
    can: Capabilities,
    *,
    limit: int,
    now: int | None,
    after: int = 0,
    grace: int = 0,
    max_crashes: int = MAX_CRASHES,
) -> Plan[int]:
    """Take back jobs whose lease ran out; how many.

    The attempt is given back. A job that had started and whose worker no longer beats has crashed once more, and at
    `max_crashes` it is dead (poison). One of which nobody knows whether it had started is suspect, and has not crashed.
    """
    params = {"limit": limit, "after": after, "grace": grace, "alive": ALIVE, "now": now}
    answer = yield Statement("overdue", params)
    changes = Changes()
    for *row, alive in answer.rows:
        job = Held(*row)
        if alive:
            changes.take_back(job, job.suspicion)
        elif job.doubt is None:
            changes.crash(job, "reclaim", "", max_crashes=max_crashes, epoch=job.epoch + 1)
        else:
            changes.take_back(job, SUSPECT)
    yield from changes.write(can, now=now)
    yield from Losses(changes).write(now=now)
    return len(answer.rows)


def vanished(
    worker: str,
    can: Capabilities,
    *,
    started: Collection[tuple[str | int, int]],
    apart: Collection[tuple[str | int, int]] = (),
    story: str,
    now: int | None,
    max_crashes: int = MAX_CRASHES,
) -> Plan[int]:
    """Take back every job of a worker that is known to be gone; how many. Those that it had `started` crashed.

    Those that it ran `apart` crashed only if it ran nothing else: then they are all that can have taken it with them.
    """
    taken, guilty, losses = 0, False, Losses()
    outside: list[Held] = []
    while True:
        limit = _BATCH + len(outside)
        answer = yield Statement("of_worker", {"worker": worker, "limit": limit, "now": now})
        changes = Changes()
        later = {job.id for job in outside}
        for job in map(Held._make, answer.rows):
            if _among(job, started):
                guilty = True
                changes.crash(job, "vanished", story, max_crashes=max_crashes, epoch=job.epoch + 1)
            elif not _among(job, apart):
                changes.take_back(job, job.suspicion)
            elif job.id not in later:
                outside.append(job)
        yield from changes.write(can, now=now)
        losses.add(changes)
        taken += len(answer.rows) - len(later)
        if len(answer.rows) < limit:
            break
    changes = Changes()
    for job in outside:
        if guilty:
            changes.take_back(job, job.suspicion)
        else:
            changes.crash(job, "vanished", story, max_crashes=max_crashes, epoch=job.epoch + 1)
    yield from changes.write(can, now=now)
    losses.add(changes)
    yield Statement("leave", {"worker": worker})
    yield from losses.write(now=now)
    return taken


def _among(job: Held, pairs: Collection[tuple[str | int, int]]) -> bool:
    return (job.id, job.epoch) in pairs or (job.seq, job.epoch) in pairs


def expire(can: Capabilities, *, limit: int, now: int | None) -> Plan[int]:
    """Pending jobs past their expiry end: cancelled if they never started, dead if they were tried; how many."""
    answer = yield Statement("expired", {"limit": limit, "now": now})
    changes = Changes()
    for row in answer.rows:
        job = _Expired(*row)
        tried = job.attempt > 0 or job.crashes > 0 or job.started_at is not None
        changes.end(job, State.DEAD if tried else State.CANCELLED, None, reason="expired")
    yield from changes.write(can, now=now)
    yield from Losses(changes).write(now=now)
    return len(answer.rows)


def retain(
    ages: Mapping[State, int],
    *,
    limit: int,
    now: int | None,
    queue: str | None = None,
    except_queues: Sequence[str] = (),
) -> Plan[int]:
    """Delete jobs that finished longer ago than their state's age, and unique periods and notes that are over; how many jobs."""
    gone = 0
    for state, age in ages.items():
        if gone < limit:
            params = {
                "state": state.value, "age": age, "queue": queue, "except_queues": json.dumps(list(except_queues)),
                "limit": limit - gone, "now": now,
            }  # fmt: skip
            answer = yield Statement("retain", params)
            gone += answer.changed
    yield Statement("retain_ledger", {"limit": limit, "now": now})
    yield Statement("retain_notes", {"limit": limit, "now": now})
    yield Statement("retain_workers", {"age": _FORGOTTEN, "now": now})
    return gone
