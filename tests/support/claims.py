"""Jobs in the hands of workers: the few steps that most tests of claims begin with."""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place

__all__ = ["OUTCOMES", "every_outcome", "overtake", "seen", "start"]

OUTCOMES: dict[str, tenure.Outcome] = {
    "done": tenure.Done({"sent": 1}),
    "done with nothing to tell": tenure.Done(),
    "fail": tenure.Fail("no route to host", retry_in=0),
    "snooze": tenure.Snooze(0),
    "release": tenure.Release(),
    "bury": tenure.Bury("hopeless"),
    "cancelled": tenure.Cancelled("not wanted"),
    "crashed": tenure.Crashed("killed by signal 11"),
}
"""One of each. Those that give the job back let it be claimed again at once."""

every_outcome = pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES.keys())


def start(q: tenure.Queue, *, worker: str | None = None, **options: Any) -> tenure.Claim:
    """Enqueue a job and claim it; it must be the only one that is ready."""
    enqueued = q.enqueue("k", **options)
    [claim] = q.claim(worker=worker)
    assert claim.id == enqueued.id
    return claim


def seen(q: tenure.Queue, job_id: str) -> tenure.JobSeen:
    """The job as it stands; it must be there."""
    job = q.get(job_id)
    assert job is not None
    return job


def overtake(place: Place, clock: MovedClock) -> tuple[tenure.Queue, tenure.Claim, tenure.Claim]:
    """A job whose first worker lives but lost its lease, and that runs again on a second: (queue, old claim, new claim)."""
    q = place.open(clock=clock)
    old = start(q, worker="first")
    clock.advance("1m")
    q.beat("first")
    [new] = place.open(clock=clock).claim(worker="second")
    assert new.id == old.id
    return q, old, new
