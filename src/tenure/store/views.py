"""Reads for people: counts, get, history, request, workers, and explain: why is this job not running?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from tenure.clock import from_micros
from tenure.duration import spell
from tenure.job import Attempt, JobId, JobSeen, Request, State
from tenure.store.plan import Plan, Statement
from tenure.store.upkeep import ALIVE

__all__ = [
    "Explanation",
    "WorkerSeen",
    "counts",
    "explain",
    "get",
    "history",
    "next_due",
    "paused",
    "request",
    "workers",
]

_AHEAD = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeen:
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


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job is not running: a code for programs, sentences for people, the job itself if there is one."""

    code: str
    reasons: tuple[str, ...]
    job: JobSeen | None

    def __str__(self) -> str:
        return " ".join(self.reasons)


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


def explain(job_id: JobId, *, now: int | None) -> Plan[Explanation]:
    """Why is this job not running? The first thing that stands in its way, in words."""
    job = yield from get(job_id)
    answer = yield Statement("clock", {"now": now}, alone=True, reads=True)
    moment = from_micros(answer.rows[0][0])
    if job is None:
        return Explanation(
            "unknown", ("No job has this id: it was never stored, or it was deleted since.",), None
        )
    match job.state:
        case State.DONE | State.DEAD | State.CANCELLED:
            return _explain_finished(job, moment)
        case State.RUNNING:
            told = _explain_running(job, moment)
        case State.SCHEDULED:
            told = _explain_scheduled(job, moment)
        case State.WAITING:
            told = yield from _explain_waiting(job)
        case State.READY:
            told = yield from _explain_ready(job, now)
    return Explanation(told.code, (*told.reasons, *_explain_crashes(job)), job)


def _ago(moment: datetime | None, now: datetime) -> str:
    return "some time" if moment is None else spell(max(now - moment, timedelta(0)))


def _explain_crashes(job: JobSeen) -> list[str]:
    words = []
    if job.crashes:
        times = "once" if job.crashes == 1 else f"{job.crashes} times"
        words.append(f"It has crashed {times}: it is run apart from others.")
    if job.suspect:
        words.append(
            "A worker that held it vanished, and nobody knows whether it had started: it is run apart from others."
        )
    return words


def _explain_finished(job: JobSeen, now: datetime) -> Explanation:
    words = [f"It is {job.state} since {_ago(job.finished_at, now)}."]
    if job.reason:
        words.append(f"Reason: {job.reason}.")
    if job.error:
        words.append(f"Last error: {job.error}")
    if job.state is not State.DONE:
        words.append("replay starts it anew.")
    return Explanation(job.state.value, tuple(words), job)


def _explain_running(job: JobSeen, now: datetime) -> Explanation:
    words = [
        f"It is running on worker {job.worker} since {_ago(job.started_at, now)}, attempt {job.attempt}."
    ]
    overdue = job.lease_until is not None and job.lease_until < now
    if overdue:
        words.append(
            f"Its lease ran out {_ago(job.lease_until, now)} ago: the next claim or reclaim takes it back."
        )
    if job.cancel_asked_at is not None:
        words.append(f"It was asked to cancel {_ago(job.cancel_asked_at, now)} ago.")
    return Explanation("overdue" if overdue else "running", tuple(words), job)


def _explain_scheduled(job: JobSeen, now: datetime) -> Explanation:
    if job.run_at <= now:
        words = [f"It was due {_ago(job.run_at, now)} ago: the next claim or promote makes it ready."]
    else:
        words = [f"It is due in {spell(job.run_at - now)}."]
    if job.attempt:
        words.append(
            f"It waits to be tried again after attempt {job.attempt} of {job.max_attempts} failed: {job.error}"
        )
    return Explanation("scheduled", tuple(words), job)


def _explain_waiting(job: JobSeen) -> Plan[Explanation]:
    answer = yield Statement("group_line", {"group_key": job.group}, alone=True, reads=True)
    holders = [f"{i} ({state})" for i, state, _ in answer.rows]
    words = [f"It waits in group {job.group!r}, which lets {job.group_limit} run at a time."]
    words.append(
        f"Its slots are held by {', '.join(holders)}."
        if holders
        else "Its slots are free: the next claim makes it ready."
    )
    return Explanation("waiting", tuple(words), job)


def _explain_ready(job: JobSeen, now: int | None) -> Plan[Explanation]:
    stopped = yield from paused()
    if job.queue in stopped:
        return Explanation(
            "paused", (f"Queue {job.queue!r} is paused since {stopped[job.queue]:%Y-%m-%d %H:%M} UTC.",), job
        )
    seen = yield from workers(now=now)
    if seen and not any(w.takes(job) for w in seen):
        words = (
            f"No live worker takes kind {job.kind!r} from queue {job.queue!r}; {len(seen)} workers live.",
        )
        return Explanation("no_worker", words, job)
    answer = yield Statement("ahead", {"id": job.id, "limit": _AHEAD}, alone=True, reads=True)
    ahead: int = answer.rows[0][0]
    more = "+" if ahead >= _AHEAD else ""
    words_ahead = f"It is ready; {ahead}{more} jobs of its queue stand in front of it."
    hint = () if seen else ("No worker has reported itself lately; a bare claim loop does not.",)
    return Explanation("ready", (words_ahead, *hint), job)
