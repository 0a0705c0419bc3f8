"""One look at everything that moves: queues with their rates, workers, jobs that run, and what fails lately.

It reads what costs little however many jobs there are: counts that end at a cap, the minutes that workers have counted, and
the newest jobs that run.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tenure.cli.desk.workers import said_by
from tenure.figures import Histogram, Rollup

if TYPE_CHECKING:
    from tenure.client.queue import Queue
    from tenure.job import JobSeen

__all__ = ["look"]

_STATES: Final = ("ready", "running", "scheduled", "waiting")
_CAP: Final = 10_000
_RUNNING: Final = 50
_ERRORS: Final = 20
_MINUTE: Final = timedelta(minutes=1)
_BACK: Final = 4
"""Minutes before this one that times are told of; rates are of this minute and the one before."""


def look(queue: Queue) -> dict[str, Any]:
    """How things stand, for programs and for a screen: numbers, times as ISO 8601, lengths of time in seconds."""
    pulse = queue.pulse(cap=_CAP)
    minute = pulse.at.replace(second=0, microsecond=0)
    found = queue.rollups(minute - _BACK * _MINUTE, minute + _MINUTE)
    # Where nothing was told of the minute before, a worker has just begun, and this minute is all there is.
    before = any(minute - _MINUTE <= row.at < minute for row in found)
    figures = _figures(found, minute, max((pulse.at - minute).total_seconds(), 5.0) + 60 * before)
    names = sorted({*pulse.counts, *figures})
    queues = [
        {
            "name": name,
            **{state: pulse.counts.get(name, {}).get(state, 0) for state in _STATES},
            "oldest_ready": _oldest(pulse.oldest_ready.get(name)),
            "paused": name in pulse.paused,
            "capped": pulse.more_in(name),
            **figures.get(name, _NOTHING),
        }
        for name in names
    ]
    running = _running(queue, pulse.at)
    # Fewer than were asked for are all of them, whatever was counted a moment before.
    left = sum(one["running"] for one in queues) - len(running) if len(running) == _RUNNING else 0
    summed = ("done_per_second", "failed_per_second")
    return {
        "at": pulse.at.isoformat(),
        "capped": pulse.capped,
        "totals": {
            **{state: sum(one[state] for one in queues) for state in _STATES},
            **{name: round(sum(one[name] for one in queues), 2) for name in summed},
            "overdue_leases": pulse.overdue_leases,
            "overdue_scheduled": pulse.overdue_scheduled,
            "capped": sorted(pulse.more),
        },
        "queues": queues,
        "workers": _workers(queue),
        "running": running,
        "running_left": max(left, 0),
        "errors": _errors(queue, pulse.at),
    }


_NOTHING: Final = {"done_per_second": 0.0, "failed_per_second": 0.0, "wait_p95": None, "run_p95": None}


def _figures(found: list[Rollup], minute: datetime, long: float) -> dict[str, dict[str, Any]]:
    """By queue: what ended a second, and how long it had waited and ran."""
    told: dict[str, dict[str, Any]] = {}
    times: dict[str, tuple[Histogram, Histogram]] = {}
    for row in found:
        one = told.setdefault(row.queue, dict(_NOTHING))
        if row.at >= minute - _MINUTE:
            one["done_per_second"] += row.done / long
            one["failed_per_second"] += row.failed / long
        waited, ran = times.setdefault(row.queue, (Histogram(), Histogram()))
        waited.merge(row.waited)
        ran.merge(row.ran)
    for name, one in told.items():
        waited, ran = times[name]
        one["done_per_second"] = round(one["done_per_second"], 2)
        one["failed_per_second"] = round(one["failed_per_second"], 2)
        one["wait_p95"], one["run_p95"] = waited.quantile(0.95), ran.quantile(0.95)
    return told


def _oldest(span: timedelta | None) -> float | None:
    return None if not span else round(span.total_seconds(), 1)


def _workers(queue: Queue) -> list[dict[str, Any]]:
    rows = []
    for worker in queue.workers():
        said = said_by(worker)
        rows.append({
            "id": worker.id, "started_at": worker.started_at.isoformat(), "seen_at": worker.seen_at.isoformat(),
            "running": said.running, "slots": said.slots, "memory": said.memory, "version": said.version,
            "queues": worker.queues,
        })  # fmt: skip
    return rows


def _running(queue: Queue, at: datetime) -> list[dict[str, Any]]:
    """The jobs that have run longest, these first."""
    return [
        {
            "id": job.id, "kind": job.kind, "queue": job.queue, "attempt": job.attempt, "worker": job.worker,
            "seconds": _since(job, at), "progress": job.progress, "note": job.progress_note,
        }
        for job in queue.running(limit=_RUNNING)
    ]  # fmt: skip


def _since(job: JobSeen, at: datetime) -> float:
    return 0.0 if job.started_at is None else round(max((at - job.started_at).total_seconds(), 0.0), 1)


def _errors(queue: Queue, at: datetime) -> list[dict[str, Any]]:
    """Failures alike, of the last hour or two, those that failed last first."""
    groups = queue.error_groups(at - timedelta(hours=1), limit=_ERRORS * 5)
    latest = sorted(groups, key=lambda group: group.last_seen, reverse=True)[:_ERRORS]
    return [
        {
            "count": group.count, "dead": group.dead, "kind": group.kind, "error_kind": group.error_kind,
            "message": group.message, "last_seen": group.last_seen.isoformat(), "sample_id": group.sample_id,
            "frame": group.frame,
        }
        for group in latest
    ]  # fmt: skip
