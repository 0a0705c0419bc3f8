"""Schedules as people ask about them: what the expression means, when it fires next, and how its last runs went."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from tenure.cli.desk.jobs import as_json
from tenure.cli.desk.screen import ago
from tenure.cron import Cron
from tenure.errors import FieldError

if TYPE_CHECKING:
    from tenure.client.queue import Queue
    from tenure.job import JobSeen
    from tenure.schedule import ScheduleSeen

__all__ = ["Runs", "last_runs", "means", "next_fires", "outcome", "schedule_json"]

Runs = dict[str, list["JobSeen"]]
_NEXT: Final = 5


def means(schedule: ScheduleSeen) -> str:
    """Its expression in English; the expression itself where it is not understood here."""
    try:
        return Cron(schedule.cron, schedule.tz).text()
    except FieldError:
        return schedule.cron


def next_fires(schedule: ScheduleSeen, count: int, at: datetime) -> list[datetime]:
    """The next so many; none while it is paused or cannot fire."""
    if schedule.next_at is None or schedule.problem:
        return []
    found = [schedule.next_at]
    try:
        made = Cron(schedule.cron, schedule.tz)
        while len(found) < count:
            found.append(made.next(max(found[-1], at)))
    except FieldError:
        pass  # it fires no more
    return found


def last_runs(queue: Queue, schedules: Iterable[ScheduleSeen]) -> Runs:
    """By schedule: the last jobs that it made, newest first, as far as they are kept."""
    return {one.name: [job for made in one.made if (job := queue.get(made))] for one in schedules}


def outcome(job: JobSeen, at: datetime) -> str:
    """How a run went: "done 3 min ago"."""
    moment = job.finished_at or job.started_at or job.created_at
    return f"{job.state.value} {ago(moment, at)}"


def schedule_json(schedule: ScheduleSeen, runs: Runs, at: datetime) -> dict[str, Any]:
    """All of it, for programs."""
    told = {name: as_json(getattr(schedule, name)) for name in schedule.__struct_fields__}
    return {
        **told,
        "options": dict(schedule.options),
        "text": means(schedule),
        "next": [moment.isoformat() for moment in next_fires(schedule, _NEXT, at)],
        "runs": [
            {
                "id": job.id,
                "state": job.state.value,
                "fire_at": job.meta.get("fire_at"),
                "finished_at": as_json(job.finished_at),
                "error": job.error,
            }
            for job in runs.get(schedule.name, ())
        ],
    }
