"""What a handler's end means: whatever it returned or raised becomes an outcome. Nothing here raises."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tenure.duration import parse
from tenure.errors import ClaimLost, FieldError, JobAsked, PayloadError
from tenure.job import TRANSITIONS, Claim, JobSeen, State
from tenure.kinds import Kind
from tenure.logs import job_fields
from tenure.outcome import (
    Bury,
    Cancel,
    Cancelled,
    Crashed,
    Done,
    Fail,
    Outcome,
    Release,
    RetryIn,
    Snooze,
    name_of,
)
from tenure.payload import MAX_RESULT, encode
from tenure.retry import DEFAULT

__all__ = ["DONE", "completed", "left_to_settle", "misfit", "outcome_of_error", "outcome_of_result"]

log = logging.getLogger("tenure")
DONE = Done()


def outcome_of_result(kind: Kind[Any, Any, Any], claim: Claim, value: Any) -> Outcome:
    """The handler returned. A result that cannot be kept is not kept: the work is done all the same."""
    if value is None or not kind.terms.keep_result:
        return DONE
    try:
        result = kind.returned.plain(value)
        encode(result, "result", MAX_RESULT)
    except Exception as error:
        log.warning("job %s (%s) is done, but its result is not kept: %s", claim.id, claim.kind, error, extra=job_fields(claim))  # fmt: skip
        return DONE
    return Done(result)


def outcome_of_error(kind: Kind[Any, Any, Any], claim: Claim, error: BaseException) -> Outcome | None:
    """The handler raised. None: its claim is lost, so there is nothing to say."""
    try:
        outcome = _outcome_of(kind, claim, error)
        return outcome if kind.mask is None else _masked(outcome, kind.mask)
    except Exception:
        log.exception(
            "what job %s (%s) raised could not be read", claim.id, claim.kind, extra=job_fields(claim)
        )
        return Fail(f"<{type(error).__qualname__} that could not be read>", kind=type(error).__qualname__)


def _outcome_of(kind: Kind[Any, Any, Any], claim: Claim, error: BaseException) -> Outcome | None:
    try:
        match error:
            case ClaimLost(job_id=job_id) if job_id == claim.id:
                return None
            case JobAsked():
                return Cancelled()
            case Snooze(delay=delay):
                return Snooze(parse(delay, "delay"))
            case Release():
                return Release()
            case Bury(reason=reason, error=told):
                return Bury(str(reason), str(told))
            case Cancel(reason=reason):
                return Cancelled(None if reason is None else str(reason))
            case RetryIn(delay=delay, error=told):
                return Fail(str(told) or "asked for another try", parse(delay, "delay"), kind="RetryIn")
            case _:
                pass
    except FieldError as bad:
        return Fail.of(bad, _wait(kind, claim))
    failure = Fail.of(error, _wait(kind, claim))
    if isinstance(error, _give_up(kind)):
        return Bury("gave up", failure.error, kind=failure.kind, traceback=failure.traceback)
    return failure


def _masked(outcome: Outcome | None, mask: Callable[[str], str]) -> Outcome | None:
    """The same outcome, in words that hold no secret."""
    match outcome:
        case Fail(error=told, traceback=trace):
            return replace(outcome, error=mask(told), traceback=None if trace is None else mask(trace))
        case Bury(reason=reason, error=told, traceback=trace):
            trace = None if trace is None else mask(trace)
            return replace(outcome, reason=mask(reason), error=mask(told), traceback=trace)
        case Cancelled(reason=str(reason)):
            return Cancelled(mask(reason))
        case _:
            return outcome


def completed(kind: Kind[Any, Any, Any], claim: Claim, outcome: Outcome) -> Outcome:
    """What a handler settles as in its own transaction: a failure that says nothing else waits as the kind's policy says."""
    if isinstance(outcome, Fail) and outcome.retry_in is None:
        return replace(outcome, retry_in=_wait(kind, claim))
    return outcome


def left_to_settle(
    kind: Kind[Any, Any, Any], claim: Claim, outcome: Outcome | None, job: JobSeen | None
) -> Outcome | None:
    """The handler settled in its own transaction and has ended so; the job as it is now tells what is left to settle.

    None: nothing. If what it said stands, `claim.settled_as` stays; otherwise that is forgotten.
    """
    said = claim.settled_as
    if said is None or _stands(said, claim, job):
        if isinstance(outcome, (Fail, Bury)):
            log.warning("job %s (%s) is settled by its handler; what it raised afterwards counts for nothing: %s", claim.id, claim.kind, outcome.error, extra=job_fields(claim))  # fmt: skip
        return None
    claim.settled_as = None
    if job is None or job.state is not State.RUNNING or job.epoch != claim.epoch:
        return None
    return _rolled_back(kind, claim) if type(outcome) is Done else outcome


def _stands(said: Outcome, claim: Claim, job: JobSeen | None) -> bool:
    """Whether a job as it is now was settled so; one that has gone was."""
    if job is None:
        return True
    if job.epoch != claim.epoch:  # somebody has it again: as it should be, or because the claim was lost
        return isinstance(said, (Fail, Snooze, Release, Crashed))
    # What was to wait for its time may be due by now, and wait for its group.
    state = State.SCHEDULED if job.state is State.WAITING else job.state
    return (State.RUNNING, state) in TRANSITIONS[name_of(said)]


def _rolled_back(kind: Kind[Any, Any, Any], claim: Claim) -> Fail:
    """The handler settled in its own transaction, did not commit it, and returned all the same."""
    return Fail(
        "settle_in was not awaited, so the job was not settled: on an async connection, write await ctx.claim.settle_in(…)"
        if claim.unawaited
        else "the transaction that settled this job was rolled back, and the handler returned all the same",
        _wait(kind, claim),
        kind="RolledBack",
    )


def misfit(error: Exception) -> Bury:
    """The payload fits no handler: trying again would not help."""
    told = Fail.of(error)
    trace = None if isinstance(error, PayloadError) else told.traceback
    return Bury("bad arguments", told.error, kind=told.kind, traceback=trace)


def _wait(kind: Kind[Any, Any, Any], claim: Claim) -> timedelta:
    """How long the kind's retry policy waits; a policy that fails is replaced by the default one."""
    try:
        return max(parse(kind.terms.retry.delay(claim.attempt), "retry"), timedelta(0))
    except Exception:
        log.exception(
            "the retry policy of %s failed; the default one is used", kind.name, extra=job_fields(claim)
        )
        return DEFAULT.delay(claim.attempt)


def _give_up(kind: Kind[Any, Any, Any]) -> tuple[type[BaseException], ...]:
    given = getattr(kind.terms.retry, "give_up", ())
    return given if isinstance(given, tuple) else ()
