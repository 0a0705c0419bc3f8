"""Reads for people: counts, get, history, request, paused queues, workers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from tenure.clock import from_micros
from tenure.job import Attempt, JobId, JobSeen, Request, State
from tenure.store.plan import Plan, Statement
from tenure.store.upkeep import ALIVE

__all__ = [
    "WorkerSeen",
    "counts",
    "get",
    "history",
    "next_due",
    "paused",
    "request",
    "running",
    "workers",
]


class WorkerSeen(Struct, frozen=True, kw_only=True):
    """A worker that has been seen lately; `kinds` or `queues` None means any."""

    id: str
    started_at: datetime
    seen_at: datetime
    queues: tuple[str, ...] | None
    kinds: tuple[str, ...] | None
    about: str | None

    def takes(self, job: JobSeen) -> bool:
        """Whether it would take this job."""
        return self.knows(job.queue, job.kind)

    def knows(self, queue: str, kind: str) -> bool:
        """Whether it would take jobs of this kind from this queue."""
        return (self.kinds is None or kind in self.kinds) and (self.queues is None or queue in self.queues)


def counts(queues: Iterable[str] | None, cap: int | None) -> Plan[dict[str, dict[str, int]]]:
    """Jobs per queue and state, zeros too: exact, or looking at no more than `cap` finished and `cap` other jobs."""
    if cap is None:
        answer = yield Statement("counts", {}, alone=True, reads=True)
    else:
        answer = yield Statement("counts_capped", {"cap": cap}, alone=True, reads=True)
    wanted = None if queues is None else list(queues)
    found = {q: {s.value: 0 for s in State} for q in wanted or ()}
    for queue, state, count in answer.rows:
        if wanted is None or queue in found:
            found.setdefault(queue, {s.value: 0 for s in State})[state] += count
    return dict(sorted(found.items()))


def get(job_id: JobId) -> Plan[JobSeen | None]:
    """One job, wherever it is."""
    answer = yield Statement("get", {"id": job_id}, alone=True, reads=True)
    return JobSeen.of(answer.rows[0]) if answer.rows else None


def history(job_id: JobId) -> Plan[list[Attempt]]:
    """A job's failed attempts and crashes, oldest first."""
    answer = yield Statement("history", {"id": job_id}, alone=True, reads=True)
    return [
        Attempt(
            attempt=attempt,
            epoch=epoch,
            worker=worker,
            started_at=None if started is None else from_micros(started),
            finished_at=from_micros(finished),
            error_kind=kind,
            message=message,
            traceback=traceback,
        )
        for attempt, epoch, worker, started, finished, kind, message, traceback in answer.rows
    ]


def request(job_id: JobId) -> Plan[Request | None]:
    """The web request a job was made from."""
    answer = yield Statement("request", {"id": job_id}, alone=True, reads=True)
    if not answer.rows:
        return None
    body, headers = answer.rows[0]
    return Request(bytes(body), json.loads(headers))


def next_due(*, now: int | None) -> Plan[float | None]:
    """Seconds until a scheduled job is due or a lease runs out, whichever is first; 0.0 if it has; None if there is neither."""
    answer = yield Statement("next_due", {"now": now}, alone=True, reads=True)
    due_in: int | None = answer.rows[0][0]
    return None if due_in is None else max(due_in, 0) / 1_000_000


def paused() -> Plan[dict[str, datetime]]:
    """The queues that are paused, and since when."""
    answer = yield Statement("paused", {}, alone=True, reads=True)
    return {name: from_micros(since) for name, since in answer.rows}


def running(*, limit: int, each: int, look: int) -> Plan[list[JobSeen]]:
    """The jobs that have run longest, so many of each worker; looking at so many that run."""
    params = {"limit": limit, "each": each, "look": look}
    answer = yield Statement("running", params, alone=True, reads=True)
    return [JobSeen.of(row) for row in answer.rows]


def workers(*, now: int | None, alive: int = ALIVE) -> Plan[list[WorkerSeen]]:
    """Who has been seen lately."""
    answer = yield Statement("workers", {"alive": alive, "now": now}, alone=True, reads=True)
    return [
        WorkerSeen(
            id=i,
            started_at=from_micros(started),
            seen_at=from_micros(seen),
            queues=None if queues is None else tuple(json.loads(queues)),
            kinds=None if kinds is None else tuple(json.loads(kinds)),
            about=about,
        )
        for i, started, seen, queues, kinds, about in answer.rows
    ]
