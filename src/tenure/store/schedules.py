"""schedule, unschedule, pause_schedule, resume_schedule, run_schedule, fire: jobs that are made when their time comes.

Every worker may fire. A fire is taken by one fenced update of its schedule, and its job is stored in the same transaction:
who comes second changes nothing and stores nothing, so each fire makes one job however many workers ask, and none again
when the clock is set back. A look that finds nothing due only reads.

Nobody waits for another who fires: a schedule in somebody's hands is passed by. A unique key may have to be waited for, so
one transaction stores at most one: who holds one key and waits for the next can meet somebody who does so in another order.

A schedule keeps the ids of the last jobs that it made, which nobody would find among a million others. An id is put there
before its job is stored, so that whoever holds a schedule may wait for a key, and never the other way round; where the key was
taken, it is taken out again. One more is kept than is told, so that this pushes none out.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from tenure.clock import from_micros, to_micros
from tenure.errors import FieldError
from tenure.job import Enqueued, JobId
from tenure.newjob import Row
from tenure.schedule import Fired, ScheduleSeen, StoredSchedule
from tenure.store.dialect import Capabilities
from tenure.store.enqueue import enqueue
from tenure.store.plan import Plan, Statement

__all__ = [
    "fire",
    "next_fire",
    "pause_schedule",
    "resume_schedule",
    "run_schedule",
    "schedule",
    "schedules",
    "unschedule",
]

_log = logging.getLogger("tenure")


def schedule(spec: Mapping[str, Any], *, now: int | None) -> Plan[bool]:
    """Store a schedule, or change it; whether anything changed."""
    answer = yield Statement("schedule", {**spec, "now": now}, alone=True)
    return answer.changed > 0


def unschedule(name: str) -> Plan[bool]:
    """Forget a schedule; whether there was one."""
    answer = yield Statement("unschedule", {"name": name}, alone=True)
    return answer.changed > 0


def pause_schedule(name: str, *, now: int | None) -> Plan[bool]:
    """The schedule fires no more; whether it did."""
    answer = yield Statement("pause_schedule", {"name": name, "now": now}, alone=True)
    return answer.changed > 0


def resume_schedule(name: str, *, now: int | None) -> Plan[bool]:
    """The schedule fires again, from now on; whether it was paused."""
    answer = yield Statement("resume_schedule", {"name": name, "now": now}, alone=True)
    return answer.changed > 0


def schedules(*, max_payload: int, now: int | None) -> Plan[list[ScheduleSeen]]:
    """Every schedule, by name."""
    return [stored.seen(max_payload) for stored in (yield from _all(now))]


def next_fire(kinds: Collection[str] | None, *, max_payload: int, now: int | None) -> Plan[float | None]:
    """Seconds until the next fire by the store's clock; 0.0 if one is due already; None if nothing will fire."""
    soonest: float | None = None
    for stored in (yield from _live(kinds, now)):
        next_at = stored.seen(max_payload).next_at
        if next_at is not None:
            wait = max((next_at - from_micros(stored.now)).total_seconds(), 0.0)
            soonest = wait if soonest is None else min(soonest, wait)
    return soonest


def run_schedule(
    name: str, given: JobId, can: Capabilities, *, max_payload: int, now: int | None, again: bool
) -> Plan[Enqueued]:
    """A job as a fire would make it now; when the schedule fires is not touched."""
    found = {stored.name: stored for stored in (yield from _all(now))}
    if name not in found:
        near = ", ".join(f'"{n}"' for n in get_close_matches(name, found, n=3, cutoff=0.0))
        fix = f"the nearest are {near}" if near else "no schedule is stored"
        raise FieldError("name", "must be the name of a schedule", name, fix)
    stored = found[name]
    try:
        row = stored.row(from_micros(stored.now), max_payload, given)
    except Exception as problem:
        raise FieldError(
            "name", "must be a schedule whose job can be made", name, f"store it anew: {problem}"
        ) from problem
    yield _made(name, row.id)
    [answer] = yield from enqueue([row], can, now=now, again=again)
    if not answer.inserted:
        yield _made(name, row.id, gone=True)
    return answer


def fire(
    kinds: Collection[str] | None, can: Capabilities, *, limit: int, max_payload: int, now: int | None
) -> Plan[list[Fired]]:
    """Make jobs of what is due, at most `limit`; what this call fired and nobody else did."""
    fired: list[Fired] = []
    key: str | None = None
    for stored in (yield from _live(kinds, now)):
        for moment, row in _due(stored, limit - len(fired), max_payload):
            if row.unique_hash is not None and key not in (None, row.unique_hash):
                break
            fence = {"name": stored.name, "fire": to_micros(moment, "fire"), "updated_at": stored.updated_at}
            taken = yield Statement("fire", {**fence, "id": row.id})
            if not taken.changed:
                # Somebody else fires it. If they fail, this fire must not have been overtaken by a later one.
                break
            key = row.unique_hash or key
            [answer] = yield from enqueue([row], can, now=now)
            if not answer.inserted:
                yield _made(stored.name, row.id, gone=True)
            fired.append(Fired(stored.name, moment, answer.id))
        if len(fired) >= limit:
            break
    return fired


def _made(name: str, job_id: JobId, *, gone: bool = False) -> Statement:
    """Keep a job with its schedule, or no more."""
    return Statement("made", {"name": name, "id": f"{job_id} ", "made": "" if gone else f"{job_id} "})


def _due(stored: StoredSchedule, limit: int, max_payload: int) -> list[tuple[datetime, Row]]:
    """What is due, and the jobs it makes; a schedule that is not understood is reported, and fires nothing."""
    try:
        return [(moment, stored.row(moment, max_payload)) for moment in stored.due()[:limit]]
    except Exception as problem:
        _report(stored.name, stored.updated_at, str(problem))
        return []


@lru_cache(maxsize=1_024)
def _report(name: str, _updated_at: int, problem: str) -> None:
    # Said once for each version of a schedule, not at every tick of every worker.
    _log.error("schedule %r cannot fire: %s; store it anew, or remove it with unschedule", name, problem)


def _live(kinds: Collection[str] | None, now: int | None) -> Plan[list[StoredSchedule]]:
    stored = yield from _all(now)
    return [s for s in stored if s.paused_at is None and (kinds is None or s.kind in kinds)]


def _all(now: int | None) -> Plan[list[StoredSchedule]]:
    answer = yield Statement("schedules", {"now": now}, alone=True, reads=True)
    return [StoredSchedule(*row) for row in answer.rows]
