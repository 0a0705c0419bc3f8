"""More laws: those about outcomes, about the line, and about what is done to jobs from outside (pause, expiry, a worker gone)."""

from __future__ import annotations

from typing import Final

from tests.proof.model.words import PENDING, Job, in_line
from tests.proof.model.world import Step, World

__all__ = [
    "a_claim_takes_the_first_in_line",
    "a_paused_queue_rests",
    "an_expired_job_is_ended_and_not_run",
    "an_outcome_is_what_it_says",
    "who_is_gone_loses_all_and_nobody_else",
]

_ENDS: Final = {"done": "done", "bury": "dead", "cancelled": "cancelled"}
_BACK: Final = {"snooze": "scheduled", "release": "ready"}


def an_outcome_is_what_it_says(before: World, step: Step, after: World) -> bool:
    """Done is done, buried is dead, cancelled is cancelled; what is put off or given back is, unless it was asked to cancel."""
    if step.verb != "settle" or step.held is None or step.said is None or not before.fresh(step.held):
        return True
    was, now, past = before.model.jobs[step.job], after.model.jobs[step.job].state, after.past[step.job]
    if step.said in _ENDS:
        return now == _ENDS[step.said]
    if was.cancel_at is not None:
        return now == "cancelled"
    if step.said == "fail":
        over = past.fails >= was.ask.max_attempts or _over(past.expires, after)
        return now == ("dead" if over else "scheduled")
    return now == _BACK[step.said] if step.said in _BACK else now in ("ready", "dead")


def a_paused_queue_rests(before: World, step: Step, after: World) -> bool:
    """Nothing is handed out from a queue that somebody paused and nobody resumed."""
    return not any(m.cause == "claim" and _queue(after, m.job) in before.paused for m in step.moves)


def a_claim_takes_the_first_in_line(before: World, step: Step, after: World) -> bool:
    """Whoever claims is handed the first job that is ready in a queue that is not paused; nothing only if there is none."""
    if step.verb != "claim":
        return True
    free = [j for j in after.model.jobs.values() if j.state == "ready" and _may_run(after, j)]
    taken = [after.model.jobs[m.job] for m in step.moves if m.cause == "claim"]
    return len(taken) == 1 and all(in_line(taken[0]) < in_line(j) for j in free) if taken else not free


def an_expired_job_is_ended_and_not_run(before: World, step: Step, after: World) -> bool:
    """Past its expiry a pending job is never handed out and `expire` ends it: as dead if it was tried; none ends before."""
    for move in step.moves:
        past, job = before.past[move.job], before.model.jobs.get(move.job)
        if move.cause == "claim" and _over(past.expires, after):
            return False
        if move.cause != "expire" or job is None:
            continue
        tried = past.fails > 0 or job.crashes > 0
        known = past.begun or past.returned
        if (
            not _over(past.expires, before)
            or (tried and move.now != "dead")
            or (not known and move.now == "dead")
        ):
            return False
    left = [
        n for n, j in after.model.jobs.items() if j.state in PENDING and _over(after.past[n].expires, after)
    ]
    return step.verb != "expire" or not left


def who_is_gone_loses_all_and_nobody_else(before: World, step: Step, after: World) -> bool:
    """Of a worker that was seen to go, everything is taken back at once; what it had started has crashed once, the rest has not."""
    if step.verb != "vanished":
        return not any(move.cause == "vanished" for move in step.moves)
    mine = before.runs(step.worker)
    if sorted(mine) != sorted(move.job for move in step.moves if move.cause == "vanished"):
        return False
    crashed = step.said is not None
    return all(after.model.jobs[j].crashes == before.model.jobs[j].crashes + crashed for j in mine)


def _over(moment: int | None, world: World) -> bool:
    return moment is not None and moment <= world.model.now


def _queue(world: World, job: str) -> str:
    return world.scene.jobs[job].queue


def _may_run(world: World, job: Job) -> bool:
    return job.ask.queue not in world.paused and not _over(world.past[job.id].expires, world)
