"""A death as a hook is told of it.

A hook is a kind whose jobs are made when other jobs die: one for every death, in the same transaction. Its payload is
{"dead": …}, with the fields of DeadJob.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from tenure.job import JobId

__all__ = ["DeadJob", "HookSeen"]


class DeadJob(Struct, frozen=True, kw_only=True):
    """A job as it was when it died; `tenure.JobSeen` of its id tells what has become of it since.

    `payload` is None where the job's own was longer than 256 KiB, or cannot be read.
    """

    id: JobId
    kind: str
    queue: str
    payload: Any
    attempt: int
    max_attempts: int
    crashes: int
    reason: str | None
    error: str | None
    created_at: datetime
    dead_at: datetime
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = {}
    tenant: str | None = None


class HookSeen(Struct, frozen=True, kw_only=True):
    """A hook as it is stored: for every job of `kind` that dies ("*": of any kind), a job of the kind `hook`."""

    kind: str
    hook: str
    queue: str
    priority: int
    max_attempts: int
