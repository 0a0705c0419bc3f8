"""Jobs, and what belongs to them, as the page is told of them: times as ISO 8601 in UTC, spans in seconds."""

from __future__ import annotations

import json
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tenure.config import SqlitePlace, locate, without_password
from tenure.dashboard.masking import STARS, Mask
from tenure.job import Attempt, JobSeen, Request

__all__ = ["attempt_of", "commands_of", "job_of", "request_of", "row_of", "when"]


def when(moment: datetime | None) -> str | None:
    """A moment."""
    return None if moment is None else moment.isoformat()


def row_of(job: JobSeen) -> dict[str, Any]:
    """A job in a list."""
    return {
        "id": job.id,
        "state": job.state.value,
        "kind": job.kind,
        "queue": job.queue,
        "priority": job.priority,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "created_at": when(job.created_at),
        "run_at": when(job.run_at),
        "started_at": when(job.started_at),
        "finished_at": when(job.finished_at),
        "worker": job.worker,
        "error": job.error,
        "tags": list(job.tags),
        "progress": job.progress,
    }


def job_of(job: JobSeen, mask: Mask) -> dict[str, Any]:
    """Everything that the job itself says."""
    return {
        **row_of(job),
        "payload": mask.text(job.payload_text),
        "result": mask.text(job.result_text),
        "parent": job.parent,
        "flow": job.flow,
        "unique": job.unique,
        "group": job.group,
        "group_limit": job.group_limit,
        "tenant": job.tenant,
        "meta": {name: STARS if mask.hides(name) else value for name, value in job.meta.items()},
        "expires_at": when(job.expires_at),
        "lease_until": when(job.lease_until),
        "cancel_asked_at": when(job.cancel_asked_at),
        "crashes": job.crashes,
        "suspect": job.suspect,
        "reason": job.reason,
        "progress_note": job.progress_note,
        "timeout": None if job.timeout is None else job.timeout.total_seconds(),
    }  # fmt: skip


def commands_of(job: JobSeen, url: str) -> dict[str, str]:
    """What does the same in a shell, wherever that stands; a store behind a password is left to $TENURE_URL there."""
    where = f" --url {shlex.quote(_whole(url))}" if without_password(url) == url else ""
    return {verb: f"tenure {verb} {job.id}{where}" for verb in ("show", "retry", "cancel")}


def _whole(url: str) -> str:
    """The URL, with the whole path of a file."""
    place = locate(url)
    if not isinstance(place, SqlitePlace):
        return url
    _, mark, options = url.partition("?")
    return f"sqlite:///{quote(str(Path(place.path).absolute()))}{mark}{options}"


def attempt_of(attempt: Attempt) -> dict[str, Any]:
    """One failed attempt, or crash."""
    return {
        "attempt": attempt.attempt,
        "epoch": attempt.epoch,
        "worker": attempt.worker,
        "started_at": when(attempt.started_at),
        "finished_at": when(attempt.finished_at),
        "outcome": "crashed" if attempt.error_kind == "Crash" else "failed",
        "error_kind": attempt.error_kind,
        "message": attempt.message,
        "traceback": attempt.traceback,
    }


def request_of(request: Request | None, mask: Mask) -> dict[str, Any] | None:
    """The web request a job was made from."""
    if request is None:
        return None
    headers = mask.headers(request.headers)
    try:
        text = request.body.decode()
    except UnicodeDecodeError:
        from base64 import b64encode

        if mask:
            return {"headers": headers, "body_text": STARS}
        return {"headers": headers, "body_base64": b64encode(request.body).decode()}
    return {"headers": headers, "body_text": mask.text(text) if text and _is_json(text) else STARS if mask and text else text}  # fmt: skip


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
