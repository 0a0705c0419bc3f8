"""settle: a claim's end, fenced by (id, epoch).

Most work is done, and done is one statement. Every other outcome locks the job, decides here, once for every database,
and writes what was decided. Repeating one's own settle after a lost answer is told what the first was told.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple, assert_never

from tenure.duration import micros, parse
from tenure.job import Claim, State
from tenure.outcome import Bury, Cancelled, Done, Fail, Outcome, Release, Snooze, name_of
from tenure.payload import MAX_RESULT, MAX_TRACEBACK, clean_error, encode
from tenure.retry import DEFAULT
from tenure.store.dialect import Capabilities
from tenure.store.groups import admit
from tenure.store.pack import pack, pack_claims
from tenure.store.plan import Plan, Statement

__all__ = ["Changes", "Held", "check_outcome", "settle"]


class Held(NamedTuple):
    """What `hold` and `overdue` tell of a locked, running job."""

    id: str
    seq: int
    epoch: int
    attempt: int
    max_attempts: int
    crashes: int
    run_at: int
    cancel_at: int | None
    expires_at: int | None
    started_at: int | None
    worker: str | None
    group_key: str | None
    extra: str | None
    now: int


@dataclass(slots=True)
class Changes:
    """What was decided about locked jobs, to be written together."""

    finish: list[dict[str, Any]] = field(default_factory=list)
    requeue: list[dict[str, Any]] = field(default_factory=list)
    story: list[dict[str, Any]] = field(default_factory=list)
    freed: list[str] = field(default_factory=list)

    def end(self, job: Any, state: State, outcome: str | None, **more: Any) -> None:
        """The job leaves the line for good, and its slot is free."""
        row = {"id": job.id, "seq": job.seq, "epoch": job.epoch, "finished_at": job.now, "state": state.value}
        self.finish.append(row | {"outcome": outcome, "reason": None, "error": None, "result": None} | more)
        if job.group_key is not None:
            self.freed.append(job.group_key)

    def back(self, job: Held, *, run_at: int, **more: Any) -> None:
        """The job goes back to the line; waiting for later, it keeps its group's slot only where order is strict."""
        steps_aside = job.group_key is not None and run_at > job.now and _order(job) == "start"
        row = {
            "id": job.id, "seq": job.seq, "epoch": job.epoch, "attempt": job.attempt, "crashes": job.crashes,
            "run_at": run_at, "state": State.SCHEDULED.value if run_at > job.now else State.READY.value,
            "held": True if job.group_key is not None and not steps_aside else None, "started_at": job.started_at,
            "settled_epoch": None, "trace": None, "outcome": None, "error": None,
        }  # fmt: skip
        self.requeue.append(row | more)
        if steps_aside and job.group_key is not None:
            self.freed.append(job.group_key)

    def tell(
        self,
        job: Held,
        error_kind: str,
        message: str,
        traceback: str | None = None,
        outcome: str | None = None,
    ) -> None:
        """The attempt goes into the job's history."""
        self.story.append({
            "id": job.id, "epoch": job.epoch, "attempt": job.attempt, "worker": job.worker,
            "started_at": job.started_at, "finished_at": job.now, "outcome": outcome, "error_kind": error_kind, "message": message,
            "traceback": traceback,
        })  # fmt: skip

    def write(self, can: Capabilities) -> Plan[None]:
        """All of it, in the transaction that holds the locks."""
        if self.story:
            yield Statement("attempt_add", {"rows": pack(self.story)})
        if self.finish:
            yield Statement("finish", {"rows": pack(self.finish)})
        if self.requeue:
            yield Statement("requeue", {"rows": pack(self.requeue)})
        yield from admit(self.freed, can)


def check_outcome(outcome: Outcome) -> Outcome:
    """The outcome with its durations parsed and its result proven storable; raises for what cannot be."""
    match outcome:
        case Done():
            if outcome.result is not None:
                encode(outcome.result, "result", MAX_RESULT)
        case Fail(retry_in=d):
            return (
                outcome
                if d is None
                else Fail(outcome.error, parse(d, "retry_in"), outcome.kind, outcome.traceback)
            )
        case Snooze(delay=d):
            return Snooze(parse(d, "delay"))
        case Release() | Bury() | Cancelled():
            pass
        case _:
            assert_never(outcome)
    return outcome


def settle(
    settles: Sequence[tuple[Claim, Outcome]],
    can: Capabilities,
    *,
    now: int | None,
    inside: bool = False,
    fresh: bool = False,
) -> Plan[list[bool]]:
    """End these claims; for each, whether its outcome stands (False: the claim was lost, and nothing was changed).

    A claim settled before, with the same outcome, stands too; not where `fresh` asks that it ends here and now.
    """
    once = settles if len({c.id for c, _ in settles}) == len(settles) else _first_of_each(settles)
    done = [(c, o) for c, o in once if type(o) is Done and c.group is None]
    settled = len(once) == len(settles)
    if len(done) < len(once):
        settled &= yield from _decide(
            [(c, o) for c, o in once if type(o) is not Done or c.group is not None], can, now
        )
    if done:
        columns: dict[str, list[Any]] = {
            "id": [c.id for c, _ in done],
            "seq": [c.seq for c, _ in done],
            "epoch": [c.epoch for c, _ in done],
            "result": [None if o.result is None else _result(o) for _, o in done],
        }
        answer = yield Statement("settle_done", {"now": now}, columns=columns, alone=not inside)
        settled &= answer.changed == len(done)
    if settled:
        return [True] * len(settles)
    if fresh:
        return [False] * len(settles)
    asked = [{"id": c.id, "epoch": c.epoch, "outcome": name_of(o)} for c, o in settles]
    answer = yield Statement("settled", {"claims": pack(asked)}, alone=not inside, reads=True)
    stands = set(answer.rows)
    return [(c.id, c.epoch, name_of(o)) in stands for c, o in settles]


def _first_of_each(settles: Sequence[tuple[Claim, Outcome]]) -> list[tuple[Claim, Outcome]]:
    """What is said of a claim first, where more than one thing is said of it."""
    first: dict[tuple[str, int], tuple[Claim, Outcome]] = {}
    for claim, outcome in settles:
        first.setdefault((claim.id, claim.epoch), (claim, outcome))
    return list(first.values())


def _result(done: Done) -> str | None:
    return None if done.result is None else encode(done.result, "result", MAX_RESULT)


def _decide(settles: Sequence[tuple[Claim, Outcome]], can: Capabilities, now: int | None) -> Plan[bool]:
    answer = yield Statement("hold", {"claims": pack_claims(c for c, _ in settles), "now": now})
    outcomes = {(c.id, c.epoch): o for c, o in settles}
    changes = Changes()
    for row in answer.rows:
        job = Held(*row)
        _decide_one(changes, job, outcomes[job.id, job.epoch])  # type: ignore[index]
    yield from changes.write(can)
    return len(answer.rows) == len(settles)


def _decide_one(changes: Changes, job: Held, outcome: Outcome) -> None:
    name = name_of(outcome)
    asked = job.cancel_at is not None
    match outcome:
        case Done():
            changes.end(job, State.DONE, name, settled_epoch=job.epoch, result=_result(outcome))
        case Fail():
            _decide_failure(changes, job, outcome)
        case Snooze() | Release() if asked:
            changes.end(job, State.CANCELLED, name, settled_epoch=job.epoch, attempt=_back(job))
        case Snooze(delay=delay):
            later = job.now + micros(parse(delay, "delay"))
            changes.back(
                job,
                run_at=later,
                attempt=_back(job),
                settled_epoch=job.epoch,
                outcome=name,
                trace=f"{job.epoch}:{name},",
            )
        case Release():
            attempt = _back(job)
            untried = None if attempt == 0 and job.crashes == 0 else job.started_at
            changes.back(
                job, run_at=job.run_at, attempt=attempt, epoch=job.epoch + 1, settled_epoch=job.epoch, outcome=name,
                started_at=untried, trace=f"{job.epoch}:{name},",
            )  # fmt: skip
        case Bury(reason=reason, error=error):
            text = clean_error(error or reason)
            changes.tell(job, "Bury", text, None, name)
            changes.end(
                job, State.DEAD, name, settled_epoch=job.epoch, reason=clean_error(reason, 200), error=text
            )
        case Cancelled(reason=reason):
            why = None if reason is None else clean_error(reason, 200)
            changes.end(job, State.CANCELLED, name, settled_epoch=job.epoch, reason=why)
        case _:
            assert_never(outcome)


def _decide_failure(changes: Changes, job: Held, fail: Fail) -> None:
    text = clean_error(fail.error)
    story = None if fail.traceback is None else clean_error(fail.traceback, MAX_TRACEBACK)
    changes.tell(job, clean_error(fail.kind, 200) or "Error", text, story, "fail")
    wait = DEFAULT.delay(job.attempt) if fail.retry_in is None else parse(fail.retry_in, "retry_in")
    end = {"settled_epoch": job.epoch, "error": text}
    if job.cancel_at is not None:
        changes.end(job, State.CANCELLED, "fail", **end)
    elif job.attempt >= job.max_attempts:
        changes.end(job, State.DEAD, "fail", reason="failed", **end)
    elif job.expires_at is not None and job.expires_at <= job.now:
        changes.end(job, State.DEAD, "fail", reason="expired", **end)
    else:
        changes.back(job, run_at=job.now + micros(max(wait, timedelta(0))), outcome="fail", **end)


def _back(job: Held) -> int:
    return max(job.attempt - 1, 0)


def _order(job: Held) -> str:
    return str(json.loads(job.extra).get("order", "strict")) if job.extra else "strict"
