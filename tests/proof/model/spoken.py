"""The model's words in the store's, and back: jobs to enqueue, outcomes, times, and a job as each of the two shows it."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

import tenure
from tenure.clock import from_micros, to_micros
from tests.proof.model.rules import POISON
from tests.proof.model.words import SUSPECT, Ask, Job, Name, Outcome, Request

__all__ = ["differences", "micros", "new", "outcome_of", "request_of", "span"]


def differences(
    seen: tenure.JobSeen, job: Job, but: Collection[str] = ()
) -> dict[str, tuple[object, object]]:
    """In what the store's job is not the model's, `but` for what is not asked."""
    told, right = _seen(seen), _right(job)
    return {
        name: (told[name], right[name]) for name in right if told[name] != right[name] and name not in but
    }


def _seen(seen: tenure.JobSeen) -> dict[str, Any]:
    poisoned = seen.error is not None and seen.error.startswith("poison: ")
    return {
        "state": seen.state.value, "attempt": seen.attempt, "crashes": seen.crashes, "epoch": seen.epoch, "suspect": seen.suspect,
        "run_at": micros(seen.run_at), "created_at": micros(seen.created_at), "started_at": micros(seen.started_at),
        "finished_at": micros(seen.finished_at), "lease_until": micros(seen.lease_until), "worker": seen.worker,
        "expires_at": micros(seen.expires_at), "outcome": seen.outcome, "reason": seen.reason,
        "error": POISON if poisoned else seen.error, "result": seen.result, "progress": seen.progress,
        "cancel_at": micros(seen.cancel_asked_at), "kind": seen.kind, "queue": seen.queue, "priority": seen.priority,
        "group": seen.group, "unique": seen.unique, "max_attempts": seen.max_attempts,
        "unique_for": seen.unique_for, "limit": seen.group_limit, "order": seen.order, "payload": json.dumps(seen.payload),
        "timeout": seen.timeout, "tags": seen.tags, "meta": dict(seen.meta), "parent": seen.parent, "flow": seen.flow,
        "tenant": seen.tenant,
    }  # fmt: skip


def _right(job: Job) -> dict[str, Any]:
    ask = job.ask
    return {
        "state": job.state, "attempt": job.attempt, "crashes": job.crashes, "epoch": job.epoch, "suspect": job.doubt == SUSPECT,
        "run_at": job.run_at, "created_at": job.created_at, "started_at": job.started_at, "finished_at": job.finished_at,
        "lease_until": job.lease_until, "worker": job.worker, "expires_at": job.expires_at, "outcome": job.outcome,
        "reason": job.reason, "error": job.error, "result": job.result, "progress": job.progress, "cancel_at": job.cancel_at,
        "kind": ask.kind, "queue": ask.queue, "priority": ask.priority, "group": ask.group, "unique": ask.unique,
        "max_attempts": ask.max_attempts, "unique_for": _maybe(ask.unique_for),
        "limit": ask.limit if ask.group else None, "order": ask.order if ask.group else None,
        # As text, in which 1, 1.0 and true are three things, and keys have their order.
        "payload": json.dumps(ask.payload),
        "timeout": _maybe(ask.timeout), "tags": ask.tags, "meta": dict(ask.meta), "parent": ask.parent, "flow": ask.flow,
        "tenant": ask.tenant,
    }  # fmt: skip


def micros(moment: datetime | None) -> int | None:
    """A moment, as the model counts it."""
    return None if moment is None else to_micros(moment, "moment")


def span(length: int | None) -> timedelta:
    """A length of time, as the store takes it."""
    return timedelta(microseconds=length or 0)


def _maybe(length: int | None) -> timedelta | None:
    return None if length is None else span(length)


def request_of(told: tenure.Request | None) -> Request | None:
    """A web request, as the model keeps it."""
    return None if told is None else Request(told.body, dict(told.headers))


def new(ask: Ask, job_id: str | None = None) -> tenure.NewJob:
    """A job to enqueue."""
    return tenure.NewJob(
        kind=ask.kind, queue=ask.queue, priority=ask.priority, max_attempts=ask.max_attempts, unique=ask.unique,
        run_at=None if ask.run_at is None else from_micros(ask.run_at),
        delay=_maybe(ask.delay), unique_for=_maybe(ask.unique_for),
        group=ask.group, group_limit=ask.limit, order=ask.order,
        expires_at=None if ask.expires_at is None else from_micros(ask.expires_at),
        expires_in=_maybe(ask.expires_in), payload=ask.payload, timeout=_maybe(ask.timeout), tags=ask.tags, meta=ask.meta,
        parent=ask.parent, flow=ask.flow, tenant=ask.tenant,
        request=None if ask.request is None else tenure.Request(*ask.request),
        id=job_id,
    )  # fmt: skip


def outcome_of(outcome: Outcome) -> tenure.Outcome:
    """How a claim ends."""
    wait = _maybe(outcome.delay)
    made: dict[Name, tenure.Outcome] = {
        "done": tenure.Done(outcome.result),
        "fail": tenure.Fail(outcome.text, wait),
        "snooze": tenure.Snooze(wait or timedelta(0)),
        "release": tenure.Release(),
        "bury": tenure.Bury(outcome.reason or "", outcome.text),
        "cancelled": tenure.Cancelled(outcome.reason),
        "crashed": tenure.Crashed(outcome.text),
    }
    return made[outcome.name]
