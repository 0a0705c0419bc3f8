"""settle: a claim's end, fenced by (id, epoch).

Most work is done, and done is one statement. Every other outcome locks the job, decides here, once for every database,
and writes what was decided. Repeating one's own settle after a lost answer is told what the first was told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, assert_never

from tenure.duration import micros, parse
from tenure.figures import WORDS, ErrorTally
from tenure.fingerprint import fingerprint, own_frame
from tenure.job import Claim, State
from tenure.outcome import Bury, Cancelled, Crashed, Done, Fail, Outcome, Release, Snooze, name_of, plain
from tenure.payload import MAX_RESULT, MAX_TRACEBACK, clean_error, encode
from tenure.retry import DEFAULT
from tenure.store.absolve import absolve
from tenure.store.changes import MAX_CRASHES, Changes, Held
from tenure.store.dialect import Capabilities
from tenure.store.figures import add_figures
from tenure.store.losses import Losses
from tenure.store.pack import pack, pack_claims
from tenure.store.plan import Plan, Statement

__all__ = ["check_outcome", "settle"]

_SAID = name_of(Cancelled())
"""What a worker says of a job that it knows to be cancelled, and then counts itself."""


def check_outcome(outcome: Outcome) -> Outcome:
    """The outcome with its durations parsed and its result proven storable; raises for what cannot be."""
    outcome = plain(outcome)
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
        case Release() | Bury() | Cancelled() | Crashed():
            pass
        case _:
            assert_never(outcome)
    return outcome


def settle(
    settles: Sequence[tuple[Claim, Outcome]],
    can: Capabilities,
    *,
    now: int | None,
    max_crashes: int = MAX_CRASHES,
    inside: bool = False,
    fresh: bool = False,
    counted: bool = False,
) -> Plan[list[bool]]:
    """End these claims; for each, whether its outcome stands (False: the claim was lost, and nothing was changed).

    A claim settled before, with the same outcome, stands too; not where `fresh` asks that it ends here and now. Failures alike
    are put together as the last thing, unless who settles has `counted` them, or it is the caller's transaction: others who
    fail alike would wait for its end. Jobs that end as cancelled whatever their worker says of them, because somebody asked for
    it, are counted here, for only here it is known.
    """
    alike: dict[str, ErrorTally] = {}
    unsaid: list[str] = []
    stands = yield from _settle(
        settles, can, now=now, max_crashes=max_crashes, inside=inside, fresh=fresh, alike=alike, unsaid=unsaid
    )
    if unsaid:
        yield from Losses(cancelled=unsaid).write(now=now, inside=inside)
    if alike and not (counted or inside):
        yield from add_figures("", [], list(alike.values()), now=now, inside=True)
    return stands


def _settle(
    settles: Sequence[tuple[Claim, Outcome]],
    can: Capabilities,
    *,
    now: int | None,
    max_crashes: int,
    inside: bool,
    fresh: bool,
    alike: dict[str, ErrorTally],
    unsaid: list[str],
) -> Plan[list[bool]]:
    """The same; failures are added to `alike`, and jobs that end as cancelled without a word of it to `unsaid`."""
    once = settles if len({c.id for c, _ in settles}) == len(settles) else _first_of_each(settles)
    done = [(c, o) for c, o in once if type(o) is Done and c.group is None]
    settled = len(once) == len(settles)
    if len(done) < len(once):
        others = [(c, o) for c, o in once if type(o) is not Done or c.group is not None]
        settled &= yield from _decide(others, can, now, max_crashes, alike, unsaid)
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
    truths = [(c.id, c.epoch, name_of(o)) in stands for c, o in settles]
    # Who says Crashed has seen the job's process go: that crash was counted rightly, whoever counted it.
    back = [c for (c, o), true in zip(settles, truths, strict=True) if not true and type(o) is not Crashed]
    yield from absolve(back, can, now=now, max_crashes=max_crashes, inside=inside)
    return truths


def _first_of_each(settles: Sequence[tuple[Claim, Outcome]]) -> list[tuple[Claim, Outcome]]:
    """What is said of a claim first, where more than one thing is said of it."""
    first: dict[tuple[str, int], tuple[Claim, Outcome]] = {}
    for claim, outcome in settles:
        first.setdefault((claim.id, claim.epoch), (claim, outcome))
    return list(first.values())


def _result(done: Done) -> str | None:
    return None if done.result is None else encode(done.result, "result", MAX_RESULT)


def _decide(
    settles: Sequence[tuple[Claim, Outcome]],
    can: Capabilities,
    now: int | None,
    max_crashes: int,
    alike: dict[str, ErrorTally],
    unsaid: list[str],
) -> Plan[bool]:
    answer = yield Statement("hold", {"claims": pack_claims(c for c, _ in settles), "now": now})
    outcomes = {(c.id, c.epoch): (c.kind, o) for c, o in settles}
    changes = Changes()
    for row in answer.rows:
        job = Held(*row)
        _decide_one(changes, job, *outcomes[job.id, job.epoch], max_crashes)  # type: ignore[index]
    yield from changes.write(can, now=now)
    ended = (row for row in changes.finish if row["state"] == State.CANCELLED.value)
    unsaid += [row["id"] for row in ended if row["outcome"] != _SAID]
    for told in changes.story:
        _group(alike, told, *outcomes[told["id"], told["epoch"]], dead=told["id"] in changes.dead)
    return len(answer.rows) == len(settles)


def _group(
    alike: dict[str, ErrorTally], told: Mapping[str, Any], kind: str, outcome: Outcome, *, dead: bool
) -> None:
    """One failure beside those that are like it."""
    words = told["message"][:WORDS]
    name = told["fingerprint"] or fingerprint(kind, told["error_kind"], words, None)
    group = alike.setdefault(name, ErrorTally(name, kind, told["error_kind"], words, told["id"]))
    group.count += 1
    group.dead += dead
    group.message, group.sample_id = words, told["id"]
    # Of the whole traceback: what is kept of a long one ends before its innermost frame.
    group.frame = clean_error(own_frame(getattr(outcome, "traceback", None)), WORDS)


def _decide_one(changes: Changes, job: Held, kind: str, outcome: Outcome, max_crashes: int) -> None:
    name = name_of(outcome)
    asked = job.cancel_at is not None
    match outcome:
        case Done():
            changes.end(job, State.DONE, name, settled_epoch=job.epoch, result=_result(outcome))
        case Fail():
            _decide_failure(changes, job, kind, outcome)
        case Snooze() | Release() if asked:
            changes.end(job, State.CANCELLED, name, settled_epoch=job.epoch, attempt=job.given_back)
        case Snooze(delay=delay):
            later = job.now + micros(parse(delay, "delay"))
            changes.back(
                job,
                run_at=later,
                attempt=job.given_back,
                settled_epoch=job.epoch,
                outcome=name,
                doubt=job.suspicion,
                trace=f"{job.epoch}:{name},",
            )
        case Release():
            changes.back(
                job, run_at=job.run_at, attempt=job.given_back, epoch=job.epoch + 1, settled_epoch=job.epoch, outcome=name,
                started_at=job.untried, doubt=job.suspicion, trace=f"{job.epoch}:{name},",
            )  # fmt: skip
        case Bury(reason=reason, error=error):
            text = clean_error(error or reason)
            like = fingerprint(kind, outcome.kind, error or reason, outcome.traceback)
            changes.tell(job, clean_error(outcome.kind, 200) or "Bury", text, _story(outcome), name, like)
            changes.end(
                job, State.DEAD, name, settled_epoch=job.epoch, reason=clean_error(reason, 200), error=text
            )
        case Cancelled(reason=reason):
            why = None if reason is None else clean_error(reason, 200)
            changes.end(job, State.CANCELLED, name, settled_epoch=job.epoch, reason=why)
        case Crashed(error=error):
            words = clean_error(error) or f"the process that ran it vanished; worker {job.worker} lives"
            changes.crash(
                job, name, words, max_crashes=max_crashes, like=error, settled_epoch=job.epoch, outcome=name
            )
        case _:
            assert_never(outcome)


def _decide_failure(changes: Changes, job: Held, kind: str, fail: Fail) -> None:
    text = clean_error(fail.error)
    like = fingerprint(kind, fail.kind, fail.error, fail.traceback)
    changes.tell(job, clean_error(fail.kind, 200) or "Error", text, _story(fail), "fail", like)
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


def _story(told: Fail | Bury) -> str | None:
    return None if told.traceback is None else clean_error(told.traceback, MAX_TRACEBACK)
