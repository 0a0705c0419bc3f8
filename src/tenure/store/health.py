"""Reads for the doctor: what the database says of itself, what is late, what waits, who pins old rows. Each is bounded."""

from __future__ import annotations

from typing import NamedTuple

from tenure.newjob import SEPARATOR
from tenure.store.lanes import Scope
from tenure.store.pack import pack
from tenure.store.plan import Plan, Statement
from tenure.store.views import WorkerSeen, workers

__all__ = ["Backlog", "Crashes", "Late", "Pin", "backlog", "clock", "crashes", "late", "pins", "privileges", "silent", "vitals"]  # fmt: skip

_LOOKED_AT = 100_000
"""No more ready jobs than this are counted, all lanes together."""
_ATTEMPTS = 20_000
_PINS = 20


class Late(NamedTuple):
    """Leases that ran out and due jobs that still stand scheduled: how many, and when the earliest was to end or begin."""

    now: int
    overdue: int
    lease_until: int | None
    stuck: int
    run_at: int | None


class Backlog(NamedTuple):
    """The ready jobs of a queue and kind: how many (`more`: or more), and since when the first is ready."""

    queue: str
    kind: str
    jobs: int
    run_at: int
    more: bool


class Pin(NamedTuple):
    """Something that keeps vacuum from removing rows; its age in microseconds and in transactions."""

    what: str
    name: str
    state: str
    age: int | None
    xids: int | None


class Crashes(NamedTuple):
    """Crashes, the jobs they are of, and when the last was."""

    crashes: int
    jobs: int
    last: int | None


def vitals() -> Plan[dict[str, str | None]]:
    """What the database says of itself, by name; the names are the database's own affair."""
    answer = yield Statement("vitals", {}, alone=True, reads=True)
    return dict(answer.rows)


def clock() -> Plan[int]:
    """The store's time, in microseconds."""
    answer = yield Statement("clock", {"now": None}, alone=True, reads=True)
    now: int = answer.rows[0][0]
    return now


def late(*, patience: int, cap: int) -> Plan[Late]:
    """What should have been taken back or promoted by now, counted up to `cap`."""
    params = {"patience": patience, "cap": cap, "now": None}
    answer = yield Statement("late", params, alone=True, reads=True)
    return Late(*answer.rows[0])


def backlog() -> Plan[list[Backlog]]:
    """Ready jobs by queue and kind; the first thousand lanes, an index step each."""
    answer = yield Statement("lanes", {"gaps": Scope(None, None).gaps}, alone=True, reads=True)
    lanes = [lane for (lane,) in answer.rows]
    if not lanes:
        return []
    cap = max(_LOOKED_AT // len(lanes), 1)
    params = {"lanes": pack([{"lane": lane} for lane in lanes]), "cap": cap}
    answer = yield Statement("backlog", params, alone=True, reads=True)
    found: dict[tuple[str, str], Backlog] = {}
    for lane, count, run_at in answer.rows:
        if not count:
            continue
        queue, kind = lane.split(SEPARATOR)[:2]
        seen = found.get((queue, kind))
        before, first, more = (0, run_at, False) if seen is None else (seen.jobs, seen.run_at, seen.more)
        found[queue, kind] = Backlog(queue, kind, before + count, min(first, run_at), more or count >= cap)
    return sorted(found.values())


def crashes(*, age: int) -> Plan[Crashes]:
    """Crashes not longer ago than `age`, among the attempts of the newest jobs."""
    answer = yield Statement("crashes", {"age": age, "look": _ATTEMPTS, "now": None}, alone=True, reads=True)
    return Crashes(*answer.rows[0])


def silent(*, age: int) -> Plan[list[WorkerSeen]]:
    """Workers that said no goodbye and have not been seen for a while, but within `age`."""
    alive = {worker.id for worker in (yield from workers(now=None))}
    return [worker for worker in (yield from workers(now=None, alive=age)) if worker.id not in alive]


def pins() -> Plan[list[Pin]]:
    """What keeps vacuum from removing rows; for databases that have a vacuum to wait for."""
    answer = yield Statement("pins", {"limit": _PINS}, alone=True, reads=True)
    return [Pin(*row) for row in answer.rows]


def privileges() -> Plan[list[tuple[str, str, str]]]:
    """What this role may not do: (who needs it, on what, the privilege); for databases that have roles."""
    answer = yield Statement("privileges", {}, alone=True, reads=True)
    return [(need, thing, privilege) for need, thing, privilege in answer.rows]
