"""Why handlers ran as often as they did: each run of a job has a claim of its own, and each but the last a reason.

The epoch tells claims apart. It grows by one at each claim, and by one more when a claim is taken away; so a claim ended in the
job's end, in a failure, a crash or a lost lease that history tells of, in a snooze, or it was taken away without a word, and then
nobody can have run the epoch after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import tenure
from tests.proof.notes import Effect

__all__ = ["Runs", "check_runs"]

_NOT_FAILED = ("Crash", "LeaseLost")


class Runs(NamedTuple):
    """Runs that are all accounted for."""

    doubled: int
    """Those that were not the first of their job."""
    taken_away: int
    """Those whose claim was lost without a word about it."""


def check_runs(
    q: tenure.Queue, jobs: Mapping[str, tenure.JobSeen], effects: Iterable[Effect], *, lost: int
) -> Runs:
    """Raise for a run without a reason and for a job that is done without a run; no more than `lost` lost their claim unseen."""
    ran: dict[str, dict[int, Effect]] = {}
    for effect in effects:
        assert effect.job in jobs, f"job {effect.job} has run, and is not there"
        claims = ran.setdefault(effect.job, {})
        assert effect.epoch not in claims, f"epoch {effect.epoch} of {_name(jobs[effect.job])} ran twice"
        claims[effect.epoch] = effect
    unseen: list[str] = []
    for job_id, job in jobs.items():
        unseen += _of_one(q, job, ran.get(job_id, {}))
    assert len(unseen) <= lost, f"{len(unseen)} runs ended without a reason, not {lost}: {unseen[:3]}"
    return Runs(sum(map(len, ran.values())) - len(ran), len(unseen))


def _of_one(q: tenure.Queue, job: tenure.JobSeen, ran: Mapping[int, Effect]) -> list[str]:
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
        unseen.append(f"{_name(job)} at epoch {epoch}, in {effect.worker}")
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
