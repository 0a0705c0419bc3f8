"""claim by the store's own clock, where ready jobs are always enough: what becomes ready meanwhile is found all the same.

With a clock of the test's own a claim always does its chores. By the store's own it takes the quick way as long as that yields
enough, and looks up now and then. How long that takes is not told here: only that it ends.
"""

from __future__ import annotations

import time

import pytest

import tenure
from tests.support.claiming import ids, job_of
from tests.support.places import Place
from tests.support.workers import until

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def backlog(q: tenure.Queue) -> None:
    """Ready jobs, more than anybody claims, and met before."""
    q.enqueue_many([tenure.NewJob(kind="k")] * 5)
    work(q)


def work(q: tenure.Queue) -> tenure.Claim:
    """Take one job, end it, and put another in line, so that there are as many as before."""
    [claim] = q.claim()
    assert q.settle(claim, tenure.Done())
    q.enqueue("k")
    return claim


def work_until(q: tenure.Queue, job_id: str) -> tenure.Claim:
    """Work until this job is claimed; there is always another one that could be."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        claim = work(q)
        if claim.id == job_id:
            return claim
    pytest.fail(f"it was passed over for {PATIENCE} s: {q.explain(job_id)}")


def test_a_job_that_falls_due_is_claimed_though_others_are_always_ready(q: tenure.Queue) -> None:
    late = q.enqueue("k", delay="200ms", priority=9)
    assert work_until(q, late.id).job.attempt == 1


def test_a_retry_that_falls_due_is_claimed_though_others_are_always_ready(q: tenure.Queue) -> None:
    failed = q.enqueue("k", priority=9)
    [claim] = q.claim()
    assert claim.id == failed.id
    assert q.settle(claim, tenure.Fail("not yet", retry_in="200ms"))
    assert work_until(q, failed.id).job.attempt == 2


def test_a_job_whose_worker_fell_silent_is_claimed_though_others_are_always_ready(
    place: Place, q: tenure.Queue
) -> None:
    left = q.enqueue("k", priority=9)
    [lost] = place.open().claim(lease="200ms", worker="silent")
    assert lost.id == left.id
    again = work_until(q, left.id)
    assert again.epoch > lost.epoch
    assert again.job.crashes == 1


def test_a_hasty_claim_takes_what_it_finds_first_and_leaves_the_chores_to_the_next(q: tenure.Queue) -> None:
    q.claim(10)
    late = q.enqueue("k", delay="50ms", priority=9)
    until(lambda: q.next_due() == 0.0)
    first = q.enqueue("k")
    assert ids(q.claim(2, hasty=True)) == [first.id]
    assert job_of(q, late.id).state == "scheduled"
    second = q.enqueue("k")
    assert ids(q.claim(2)) == [late.id, second.id]


def test_a_hasty_claim_that_finds_nothing_does_the_chores(q: tenure.Queue) -> None:
    q.claim(10)
    late = q.enqueue("k", delay="50ms")
    until(lambda: q.next_due() == 0.0)
    assert ids(q.claim(hasty=True)) == [late.id]
