"""explain: why is this job not running? What stands in its way, in words.

A job that is not ready yet is also told what will stand in its way then: its queue is paused, nobody takes its kind, nobody
is there at all. So is one that waits behind others of its group: what keeps those from running keeps it waiting.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from tenure.clock import from_micros
from tenure.duration import spell
from tenure.job import FINISHED, JobId, JobSeen, State
from tenure.store.plan import Plan, Statement
from tenure.store.views import WorkerSeen, get, paused, workers

__all__ = ["Explanation", "explain"]

_AHEAD = 10_000


class Explanation(Struct, frozen=True):
    """Why a job is not running: a code for programs, sentences for people, the job itself if there is one."""

    code: str
    reasons: tuple[str, ...]
    job: JobSeen | None

    def __str__(self) -> str:
        return " ".join(self.reasons)


class _Bar(NamedTuple):
    """What keeps jobs of a queue and kind from being claimed."""

    code: str
    words: str


class _Around(NamedTuple):
    """Which queues are paused, and who lives."""

    stopped: dict[str, datetime]
    seen: list[WorkerSeen]

    def bar(self, queue: str, kind: str) -> _Bar | None:
        """What keeps jobs of this kind in this queue from being claimed, if anything is known to."""
        if queue in self.stopped:
            return _Bar(
                "paused", f"Queue {queue!r} is paused since {self.stopped[queue]:%Y-%m-%d %H:%M} UTC."
            )
        if not self.seen:
            return _Bar("ready", "No worker has reported itself lately; a bare claim loop does not.")
        if any(worker.knows(queue, kind) for worker in self.seen):
            return None
        live = "1 worker lives" if len(self.seen) == 1 else f"{len(self.seen)} workers live"
        return _Bar("no_worker", f"No live worker takes kind {kind!r} from queue {queue!r}; {live}.")


def explain(job_id: JobId, *, now: int | None) -> Plan[Explanation]:
    """Why is this job not running? The first thing that stands in its way, in words."""
    job = yield from get(job_id)
    answer = yield Statement("clock", {"now": now}, alone=True, reads=True)
    moment = from_micros(answer.rows[0][0])
    if job is None:
        return Explanation(
            "unknown", ("No job has this id: it was never stored, or it was deleted since.",), None
        )
    if job.state in FINISHED:
        return _explain_finished(job, moment)
    if job.state is State.RUNNING:
        told = _explain_running(job, moment)
    elif job.expires_at is not None and job.expires_at <= moment:
        told = _explain_expired(job, moment)
    else:
        told = yield from _explain_pending(job, moment, now)
    return Explanation(told.code, (*told.reasons, *_explain_crashes(job)), job)


def _explain_pending(job: JobSeen, moment: datetime, now: int | None) -> Plan[Explanation]:
    around = _Around((yield from paused()), (yield from workers(now=now)))
    if job.state is State.SCHEDULED:
        return _explain_scheduled(job, moment, around)
    if job.state is State.WAITING:
        return (yield from _explain_waiting(job, around))
    return (yield from _explain_ready(job, around))


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


def _explain_expired(job: JobSeen, now: datetime) -> Explanation:
    ends = "dead" if job.attempt or job.crashes or job.started_at is not None else "cancelled"
    words = f"It expired {_ago(job.expires_at, now)} ago, and is run no more: the next claim or expire ends it as {ends}."
    return Explanation("expired", (words,), job)


def _explain_scheduled(job: JobSeen, now: datetime, around: _Around) -> Explanation:
    if job.run_at <= now:
        words = [f"It was due {_ago(job.run_at, now)} ago: the next claim or promote makes it ready."]
    else:
        words = [f"It is due in {spell(job.run_at - now)}."]
    if job.attempt:
        words.append(
            f"It waits to be tried again after attempt {job.attempt} of {job.max_attempts} failed: {job.error}"
        )
    if bar := around.bar(job.queue, job.kind):
        words.append(bar.words)
    return Explanation("scheduled", tuple(words), job)


def _explain_waiting(job: JobSeen, around: _Around) -> Plan[Explanation]:
    answer = yield Statement("group_line", {"group_key": job.group}, alone=True, reads=True)
    holders = [f"{i} ({state})" for i, state, *_ in answer.rows]
    words = [f"It waits in group {job.group!r}, which lets {job.group_limit} run at a time."]
    words.append(
        f"Its slots are held by {', '.join(holders)}."
        if holders
        else "Its slots are free: the next claim makes it ready."
    )
    stuck = [(queue, kind) for _, state, _, queue, kind in answer.rows if state != State.RUNNING.value]
    bars = [bar.words for place in (*stuck, (job.queue, job.kind)) if (bar := around.bar(*place))]
    return Explanation("waiting", (*words, *dict.fromkeys(bars)), job)


def _explain_ready(job: JobSeen, around: _Around) -> Plan[Explanation]:
    bar = around.bar(job.queue, job.kind)
    if bar and bar.code != "ready":
        return Explanation(bar.code, (bar.words,), job)
    answer = yield Statement("ahead", {"id": job.id, "limit": _AHEAD}, alone=True, reads=True)
    ahead: int = answer.rows[0][0]
    more = "+" if ahead >= _AHEAD else ""
    words = f"It is ready; {ahead}{more} jobs of its queue stand in front of it."
    return Explanation("ready", (words, bar.words) if bar else (words,), job)
