"""Why handlers ran as often as they did: each run of a job has a claim of its own, and each but the last a reason.

The epoch tells claims apart. It grows by one at each claim, and by one more when a claim is taken away; so a claim ended in the
job's end, in a failure, a crash or a lost lease that history tells of, in a snooze, or it was taken away without a word, and then
nobody can have run the epoch after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import tenure
from tests.proof.notes import Effect

__all__ = ["Lost", "Runs", "check_runs", "nobody"]

_NOT_FAILED = ("Crash", "LeaseLost")


Lost = Callable[[str], int]
"""How many claims a worker can have lost at most without a word of it in history: of jobs it had run and not settled, say."""


def nobody(_worker: str) -> int:
    """No worker lost any."""
    return 0


class Runs(NamedTuple):
    """Runs that are all accounted for."""

    doubled: int
    """Those that were not the first of their job."""
    taken_away: int
    """Those whose claim was lost without a word about it."""


def check_runs(
    q: tenure.Queue, jobs: Mapping[str, tenure.JobSeen], effects: Iterable[Effect], *, lost: Lost
) -> Runs:
    """Raise for a run without a reason and for a job that is done without a run.

    No worker lost more claims unseen than `lost` says of it.
    """
    ran: dict[str, dict[int, Effect]] = {}
    for effect in effects:
        assert effect.job in jobs, f"job {effect.job} has run, and is not there"
        claims = ran.setdefault(effect.job, {})
        assert effect.epoch not in claims, f"epoch {effect.epoch} of {_name(jobs[effect.job])} ran twice"
        claims[effect.epoch] = effect
    unseen = [effect for job_id, job in jobs.items() for effect in _of_one(q, job, ran.get(job_id, {}))]
    for worker, times in Counter(effect.worker for effect in unseen).items():
        mine = [effect for effect in unseen if effect.worker == worker]
        assert times <= lost(worker), f"{times} runs of {worker} ended without a reason: {mine[:3]}"
    return Runs(sum(map(len, ran.values())) - len(ran), len(unseen))


def _of_one(q: tenure.Queue, job: tenure.JobSeen, ran: Mapping[int, Effect]) -> list[Effect]:
    """The runs of this job of whose end nobody tells."""
    if job.state == "done":
        end = ran.get(job.epoch)
        assert end is not None, f"{_name(job)} is done at epoch {job.epoch}, and ran at {sorted(ran)}"
        assert end.said == "done", f"{_name(job)} is done, and its handler said {end.said}"
        if len(ran) == 1 and not job.crashes:
            return []
    told: dict[int, str] = {attempt.epoch: attempt.error_kind for attempt in q.history(job.id)}
    _check_story(job, Counter(told.values()))
    unseen = []
    for epoch, effect in sorted(ran.items()):
        assert epoch <= job.epoch, f"{_name(job)} ran at epoch {epoch}, and was claimed up to {job.epoch}"
        if epoch in told or effect.said == "snooze" or epoch == job.epoch:
            continue
        assert epoch + 1 not in ran, f"{_name(job)} ran at {epoch} and again at {epoch + 1}, without a reason"
        unseen.append(effect)
    return unseen


def _check_story(job: tenure.JobSeen, told: Counter[str]) -> None:
    """What history tells agrees with what the job counts."""
    assert job.crashes == told["Crash"], f"{_name(job)} has {job.crashes} crashes, and history {told}"
    if job.state == "dead" and job.reason == "failed":
        failures = sum(n for kind, n in told.items() if kind not in _NOT_FAILED)
        assert failures == job.attempt >= job.max_attempts, (
            f"{_name(job)} died of {failures} failures: {told}"
        )


def _name(job: tenure.JobSeen) -> str:
    return f"job {job.id} ({job.kind})"
