"""The model's words in the store's, and back: jobs to enqueue, outcomes, times, and a job as each of the two shows it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import tenure
from tenure.clock import from_micros, to_micros
from tests.proof.model.rules import POISON
from tests.proof.model.words import SUSPECT, Ask, Job, Name, Outcome

__all__ = ["differences", "micros", "new", "outcome_of", "span"]


def differences(seen: tenure.JobSeen, job: Job) -> dict[str, tuple[object, object]]:
    """In what the store's job is not the model's."""
    told, right = _seen(seen), _right(job)
    return {name: (told[name], right[name]) for name in right if told[name] != right[name]}


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
    }  # fmt: skip


def _right(job: Job) -> dict[str, Any]:
    ask = job.ask
    return {
        "state": job.state, "attempt": job.attempt, "crashes": job.crashes, "epoch": job.epoch, "suspect": job.doubt == SUSPECT,
        "run_at": job.run_at, "created_at": job.created_at, "started_at": job.started_at, "finished_at": job.finished_at,
        "lease_until": job.lease_until, "worker": job.worker, "expires_at": job.expires_at, "outcome": job.outcome,
        "reason": job.reason, "error": job.error, "result": job.result, "progress": job.progress, "cancel_at": job.cancel_at,
        "kind": ask.kind, "queue": ask.queue, "priority": ask.priority, "group": ask.group, "unique": ask.unique,
        "max_attempts": ask.max_attempts,
    }  # fmt: skip


def micros(moment: datetime | None) -> int | None:
    """A moment, as the model counts it."""
    return None if moment is None else to_micros(moment, "moment")


def span(length: int | None) -> timedelta:
    """A length of time, as the store takes it."""
    return timedelta(microseconds=length or 0)


def new(ask: Ask, job_id: str | None = None) -> tenure.NewJob:
    """A job to enqueue."""
    return tenure.NewJob(
        kind=ask.kind, queue=ask.queue, priority=ask.priority, max_attempts=ask.max_attempts, unique=ask.unique,
        run_at=None if ask.run_at is None else from_micros(ask.run_at),
        delay=None if ask.delay is None else span(ask.delay),
        unique_for=None if ask.unique_for is None else span(ask.unique_for),
        group=ask.group, group_limit=ask.limit, order=ask.order,
        expires_at=None if ask.expires_at is None else from_micros(ask.expires_at),
        expires_in=None if ask.expires_in is None else span(ask.expires_in),
        id=job_id,
    )  # fmt: skip


def outcome_of(outcome: Outcome) -> tenure.Outcome:
    """How a claim ends."""
    wait = None if outcome.delay is None else span(outcome.delay)
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
