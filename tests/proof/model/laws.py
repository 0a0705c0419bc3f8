"""The laws of the contract, each a sentence: checked at every step that a small world can take.

A law is given the world before a step, what happened, and the world after it. It judges by what is seen from outside (who was
handed which ticket, who was answered what), so that a model which fools itself does not fool the law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tests.proof.model.laws_around import (
    a_claim_takes_the_first_in_line,
    a_paused_queue_rests,
    an_expired_job_is_ended_and_not_run,
    an_outcome_is_what_it_says,
    who_is_gone_loses_all_and_nobody_else,
)
from tests.proof.model.words import MOVES, PENDING, STATES, Job, Outcome
from tests.proof.model.world import Held, Step, World

__all__ = ["LAWS", "Law", "broken_law"]

Law = Callable[[World, Step, World], bool]
_FAR = 1_000
_LOOPS = 6


def no_job_is_lost(before: World, step: Step, after: World) -> bool:
    """Every job whose enqueue was answered is there, in a state of the contract."""
    if not set(before.model.jobs) <= set(after.model.jobs):
        return False
    if step.verb == "enqueue" and step.answer == (step.job, True) and step.job not in after.model.jobs:
        return False
    return all(j.state in STATES for j in after.model.jobs.values())


def moves_are_those_of_the_contract(before: World, step: Step, after: World) -> bool:
    """A job goes from state to state only as the contract says that this verb moves it."""
    return all((move.was, move.now) in MOVES[move.cause] for move in step.moves)


def a_job_has_one_holder(before: World, step: Step, after: World) -> bool:
    """Nobody is handed a job while somebody else was told to have it, and has not given it up."""
    claimed = {move.job for move in step.moves if move.cause == "claim"}
    return not any(job in claimed and _has(before, held) for (job, _), held in before.held.items())


def a_lease_is_kept(before: World, step: Step, after: World) -> bool:
    """Nothing is reclaimed from a worker that was told to have it for longer."""
    reclaimed = {move.job for move in step.moves if move.cause == "reclaim"}
    holders = [h for (job, _), h in before.held.items() if job in reclaimed and before.fresh(h)]
    return not any(_has(before, held) for held in holders)


def a_lost_claim_changes_nothing(before: World, step: Step, after: World) -> bool:
    """Who lost the claim is told so and changes nothing; only a crash that was none is taken back."""
    if step.verb not in ("settle", "renew") or step.held is None or before.fresh(step.held):
        return True
    if step.held.said is not None and step.held.said == step.said:  # its own settle, said again
        return step.answer is True and not step.moves and _pictures(before) == _pictures(after)
    back = {move.job for move in step.moves if move.cause == "absolve"}
    poisoned = all(before.model.jobs[job].reason == "poison" for job in back)
    woken = {move.job for move in step.moves if move.cause == "admit"}
    same = all(
        _picture(j) == _picture(after.model.jobs[n])
        for n, j in before.model.jobs.items()
        if n not in back | woken
    )
    return step.answer in (False, "lost") and poisoned and same and (bool(back) or not woken)


def a_claim_that_stands_is_heard(before: World, step: Step, after: World) -> bool:
    """Who has the claim may settle and renew it, late too, as long as nobody took it back."""
    if step.verb not in ("settle", "renew") or step.held is None or not before.fresh(step.held):
        return True
    if step.verb == "settle":
        return step.answer is True
    job = after.model.jobs[step.job]
    return step.answer in ("kept", "asked") and job.lease_until == after.model.now + 1


def epochs_only_grow(before: World, step: Step, after: World) -> bool:
    """The epoch grows at every claim, and every time that a claim is taken away; it is never lowered."""
    for name, job in before.model.jobs.items():
        grows = [m for m in step.moves if m.job == name and (m.cause, m.now) in _GROWS]
        if after.model.jobs[name].epoch < job.epoch + len(grows):
            return False
    return True


def only_failures_burn_attempts(before: World, step: Step, after: World) -> bool:
    """A claim adds one to attempt, a failure keeps it; release, snooze and reclaim give it back. Failures are bounded."""
    return all(
        job.finished
        or job.attempt == after.past[name].fails + (job.state == "running") <= job.ask.max_attempts
        for name, job in after.model.jobs.items()
    )


def crashes_are_counted(before: World, step: Step, after: World) -> bool:
    """What is reclaimed from a worker that beats no more has crashed once; from one that beats it has not. Too many end it."""
    for move in step.moves:
        if move.cause == "reclaim":
            was, now = before.model.jobs[move.job], after.model.jobs[move.job]
            if now.crashes != was.crashes + (not before.beats(was.worker)):
                return False
    most = after.scene.max_crashes
    return all(job.finished or job.crashes < most for job in after.model.jobs.values())


def an_end_is_an_end(before: World, step: Step, after: World) -> bool:
    """A finished job stays as it is until somebody replays it, or it did not die of what was said it died of."""
    for name, job in before.model.jobs.items():
        now = after.model.jobs[name]
        causes = {move.cause for move in step.moves if move.job == name}
        if job.finished and now.state != job.state and not causes & {"replay", "absolve"}:
            return False
        if job.state in ("done", "cancelled") and "absolve" in causes:
            return False
    return True


def a_group_keeps_its_limit(before: World, step: Step, after: World) -> bool:
    """No more jobs of a group run, or have a slot, than its limit says."""
    return all(
        sum(j.state == "running" for j in jobs) <= jobs[0].ask.limit
        and sum(j.held for j in jobs) <= jobs[0].ask.limit
        for jobs in _groups(after)
    )


def a_strict_group_keeps_its_order(before: World, step: Step, after: World) -> bool:
    """Of a strict group that goes one at a time, nothing is claimed before what began earlier, or came earlier, has ended."""
    for move in step.moves:
        if move.cause != "claim":
            continue
        mine = before.model.jobs.get(move.job) or after.model.jobs[move.job]
        if mine.ask.group is None or mine.ask.order != "strict" or mine.ask.limit > 1:
            continue
        for other in before.model.jobs.values():
            if (
                other.id == mine.id
                or other.ask.group != mine.ask.group
                or after.model.jobs[other.id].finished
            ):
                continue
            came_back = before.past[other.id].returned or before.past[mine.id].returned
            if before.past[other.id].begun or (other.seq < mine.seq and not came_back):
                return False
    return True


def nobody_is_forgotten(before: World, step: Step, after: World) -> bool:
    """A job only waits while all slots of its group are taken."""
    return all(
        sum(j.held for j in jobs) >= jobs[0].ask.limit
        for jobs in _groups(after)
        if any(j.state == "waiting" for j in jobs)
    )


def a_key_is_in_flight_once(before: World, step: Step, after: World) -> bool:
    """Of a unique key one job is pending or running; a duplicate is told which, and inserted only if there is none."""
    flying = [
        (j.ask.kind, j.ask.unique) for j in after.model.jobs.values() if j.ask.unique and not j.finished
    ]
    if len(flying) != len(set(flying)):
        return False
    if step.verb != "enqueue" or not (key := before.scene.jobs[step.job].unique):
        return True
    there = [j.id for j in before.model.jobs.values() if j.ask.unique == key and not j.finished]
    return step.answer == ((there[0], False) if there else (step.job, True))


def a_cancel_is_heeded(before: World, step: Step, after: World) -> bool:
    """Cancelled at once if it is pending; once asked, a running job never goes back to the line."""
    for name, job in before.model.jobs.items():
        now = after.model.jobs[name]
        if job.state == "running" and job.cancel_at is not None and now.state in PENDING:
            return False
        if step.verb == "cancel" and step.job == name:
            asked = (
                "running" if job.state == "running" else "cancelled" if job.state in PENDING else job.state
            )
            if now.state != asked or (job.state == "running" and now.cancel_at is None):
                return False
    return True


def nobody_is_stuck(before: World, step: Step, after: World) -> bool:
    """From anywhere, a bare loop of claim and settle ends every job, once nothing is paused."""
    model = after.model.copy()
    for queue in after.paused:
        model.resume(queue)
    for _ in range(_LOOPS):
        if all(job.finished for job in model.jobs.values()):
            return True
        model.now += _FAR
        model.moves.clear()
        model.settle(*((ticket, Outcome("done")) for ticket in model.claim("Z", 9)))
    return all(job.finished for job in model.jobs.values())


LAWS: Final[tuple[Law, ...]] = (
    no_job_is_lost, a_lease_is_kept, a_job_has_one_holder, a_lost_claim_changes_nothing, a_claim_that_stands_is_heard,
    an_outcome_is_what_it_says, epochs_only_grow, only_failures_burn_attempts, crashes_are_counted, an_end_is_an_end, a_group_keeps_its_limit,
    a_strict_group_keeps_its_order, nobody_is_forgotten, a_key_is_in_flight_once, a_cancel_is_heeded,
    a_paused_queue_rests, an_expired_job_is_ended_and_not_run, a_claim_takes_the_first_in_line,
    who_is_gone_loses_all_and_nobody_else, moves_are_those_of_the_contract,
)  # fmt: skip
_GROWS: Final = {
    ("claim", "running"),
    ("release", "ready"),
    *((cause, end) for cause in ("reclaim", "vanished") for end in ("ready", "dead", "cancelled")),
}


def broken_law(before: World, step: Step, after: World, *, new: bool) -> Law | None:
    """The first law that this step breaks. Whether anybody is stuck is only asked where nobody has been before."""
    for law in LAWS:
        if not law(before, step, after):
            return law
    return nobody_is_stuck if new and not nobody_is_stuck(before, step, after) else None


def _has(world: World, held: Held) -> bool:
    """Whether a worker was told to have this job now, and has not ended that itself."""
    return held.said is None and held.until > world.model.now


def _picture(job: Job) -> tuple[object, ...]:
    return (
        job.state,
        job.attempt,
        job.epoch,
        job.held,
        job.lease_until,
        job.worker,
        job.run_at,
        job.cancel_at,
    )


def _pictures(world: World) -> list[tuple[object, ...]]:
    return [(*_picture(job), job.crashes) for job in world.model.jobs.values()]


def _groups(world: World) -> Iterator[list[Job]]:
    if not world.scene.grouped:
        return
    names = {job.ask.group for job in world.model.jobs.values()} - {None}
    yield from ([j for j in world.model.jobs.values() if j.ask.group == name] for name in names)
