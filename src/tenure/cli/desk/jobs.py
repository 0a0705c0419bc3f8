"""Jobs as answers: for programs, and as rows for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tenure.cli.desk.screen import ago, plain, table

if TYPE_CHECKING:
    from tenure.job import JobSeen

__all__ = ["COLOURS", "as_json", "echo_jobs", "job_json"]

COLOURS: Final = {"dead": "red", "cancelled": "yellow", "running": "cyan", "done": "green", "ready": "blue"}


def as_json(value: Any) -> Any:
    """A value as JSON has it: moments in ISO 8601 (UTC), lengths of time in seconds."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, tuple):
        return list(value)
    return value


def job_json(job: JobSeen) -> dict[str, Any]:
    """The job with everything that is known of it; payload and result as they are, their text where it is no JSON."""
    told = {name: as_json(getattr(job, name)) for name in job.__struct_fields__}
    told["meta"] = dict(job.meta)
    for name in ("payload", "result"):
        text = told.pop(f"{name}_text")
        try:
            told[name] = None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            told[name], told[f"{name}_text"] = None, text
    return told


def echo_jobs(jobs: Iterable[JobSeen], at: datetime) -> None:
    """A row for each."""
    jobs = list(jobs)
    rows = [
        (job.id, job.state.value, job.kind, job.queue, f"{job.attempt}/{job.max_attempts}", _when(job, at), _story(job))
        for job in jobs
    ]  # fmt: skip
    colours = [(None, COLOURS.get(job.state.value)) for job in jobs]
    table(("ID", "STATE", "KIND", "QUEUE", "TRY", "WHEN", "WHAT"), rows, colours)


def _when(job: JobSeen, at: datetime) -> str:
    """What counts in its state: when it ended, began, is due, or came."""
    if job.finished_at is not None:
        return ago(job.finished_at, at)
    if job.state == "running" and job.started_at is not None:
        return ago(job.started_at, at)
    return ago(job.run_at if job.state == "scheduled" else job.created_at, at)


def _story(job: JobSeen) -> str:
    if job.state == "running" and job.progress is not None:
        return f"{job.progress:.0%} {plain(job.progress_note or '')}"
    told = job.error or (None if job.state == "done" else job.reason)
    return plain(told or job.payload_text)
