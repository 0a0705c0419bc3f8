"""Expiry: a job that nobody needs any more is not run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import tenure
from tests.support.claiming import claim_all, ids, job_of
from tests.support.clock import MovedClock
from tests.support.places import Place

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def test_expires_in_counts_from_the_enqueue(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    assert job_of(cq, answer.id).expires_at == clock.at("10m")


def test_a_job_is_claimed_as_usual_before_its_expiry(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_at=clock.at("10m"))
    clock.advance("9m")
    assert ids(cq.claim()) == [answer.id]


def test_a_job_that_never_started_is_cancelled(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    clock.advance("11m")
    assert cq.claim() == []
    job = job_of(cq, answer.id)
    assert (job.state, job.reason, job.attempt, job.finished_at) == ("cancelled", "expired", 0, clock.now)


def test_expire_ends_pending_jobs_past_their_expiry_and_tells_how_many(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    jobs = [tenure.NewJob(kind="k", expires_in="10m", delay="1h" if n % 2 else None) for n in range(5)]
    answers = cq.enqueue_many([*jobs, tenure.NewJob(kind="k", expires_in="1h"), tenure.NewJob(kind="k")])
    assert cq.expire() == 0
    clock.advance("10m")
    assert [cq.expire(limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert [job_of(cq, a.id).state.value for a in answers] == ["cancelled"] * 5 + ["ready"] * 2


def test_promote_ends_no_job_and_makes_none_ready_past_its_expiry(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    answer = cq.enqueue("k", delay="10m", expires_in="10m")
    clock.advance("11m")
    assert cq.promote() == 0
    assert job_of(cq, answer.id).state == "scheduled"
    assert (cq.expire(), job_of(cq, answer.id).state) == (1, "cancelled")


def test_a_scheduled_job_expires_before_it_is_due(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", delay="1h", expires_in="10m")
    clock.advance("11m")
    cq.claim()
    job = job_of(cq, answer.id)
    assert (job.state, job.reason) == ("cancelled", "expired")


def test_a_job_that_waits_in_its_group_expires(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k", group="g")
    behind = cq.enqueue("k", group="g", expires_in="10m")
    clock.advance("11m")
    cq.claim()
    job = job_of(cq, behind.id)
    assert (job.state, job.reason) == ("cancelled", "expired")


def test_a_job_already_tried_is_dead(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Fail("no", retry_in="20m"))
    clock.advance("11m")
    assert cq.claim() == []
    job = job_of(cq, answer.id)
    assert (job.state, job.reason, job.attempt, job.error) == ("dead", "expired", 1, "no")


def test_a_job_whose_worker_vanished_is_dead_at_its_expiry(
    place: Place, cq: tenure.Queue, clock: MovedClock
) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    place.open(clock=clock).claim()
    clock.advance("1m")
    assert cq.reclaim() == 1
    clock.advance("10m")
    assert cq.claim() == []
    job = job_of(cq, answer.id)
    assert (job.state, job.reason, job.crashes) == ("dead", "expired", 1)


def test_a_job_taken_back_after_its_expiry_is_not_run_again(
    place: Place, cq: tenure.Queue, clock: MovedClock
) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    place.open(clock=clock).claim()
    clock.advance("11m")
    assert claim_all(cq) == cq.claim() == []
    job = job_of(cq, answer.id)
    assert (job.state, job.reason) == ("dead", "expired")


def test_a_job_lost_in_a_buffer_never_started(place: Place, cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    place.open(clock=clock).claim(started=False)
    clock.advance("11m")
    assert claim_all(cq) == cq.claim() == []
    job = job_of(cq, answer.id)
    assert (job.state, job.reason) == ("cancelled", "expired")


@pytest.mark.parametrize("filters", [{}, {"queues": ["default"], "kinds": ["k"]}], ids=["all", "named"])
def test_an_expired_job_is_never_handed_out_although_ready_ones_are(
    q: tenure.Queue, filters: dict[str, Any]
) -> None:
    q.enqueue_many([tenure.NewJob(kind="k")] * 2)
    q.claim(**filters)
    expired = q.enqueue("k", expires_at=LONG_AGO, priority=1)
    also = q.enqueue("k", expires_at=LONG_AGO, run_at=LONG_AGO)
    last = q.enqueue("k")
    claimed = ids(claim_all(q, **filters))
    assert (len(claimed), claimed[-1]) == (2, last.id)
    assert {job_of(q, answer.id).state for answer in (expired, also)} == {"cancelled"}


def test_more_expired_jobs_than_one_sweep_ends_are_not_handed_out_either(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", expires_in="10m", priority=1)] * 1_200)
    answer = cq.enqueue("k")
    clock.advance("11m")
    assert ids(cq.claim(1_000)) == [answer.id]
    assert [cq.claim() for _ in range(3)] == [[], [], []]
    assert cq.counts()["default"]["cancelled"] == 1_200


def test_a_running_job_past_its_expiry_may_still_be_done(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    [claim] = cq.claim(lease="1h")
    clock.advance("11m")
    assert cq.claim() == []
    assert job_of(cq, answer.id).state == "running"
    assert cq.settle(claim, tenure.Done()) is True
    assert job_of(cq, answer.id).state == "done"


def test_a_job_that_fails_after_its_expiry_is_dead_at_once(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    [claim] = cq.claim(lease="1h")
    clock.advance("11m")
    assert cq.settle(claim, tenure.Fail("too late")) is True
    job = job_of(cq, answer.id)
    assert (job.state, job.reason, job.error) == ("dead", "expired", "too late")


def test_a_finished_job_does_not_expire(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Done())
    clock.advance("11m")
    cq.claim()
    assert (job_of(cq, answer.id).state, job_of(cq, answer.id).reason) == ("done", None)


def test_an_expired_job_frees_its_unique_key(cq: tenure.Queue, clock: MovedClock) -> None:
    first = cq.enqueue("k", unique="u", expires_in="10m")
    clock.advance("11m")
    cq.claim()
    second = cq.enqueue("k", unique="u")
    assert (second.inserted, second.id != first.id) == (True, True)


def test_an_expired_head_wakes_its_group(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k", group="g", expires_in="10m")
    behind = cq.enqueue("k", group="g")
    assert job_of(cq, behind.id).state == "waiting"
    clock.advance("11m")
    assert ids(cq.claim()) == [behind.id]


def test_replay_forgets_the_expiry(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    clock.advance("11m")
    cq.claim()
    assert cq.replay(answer.id) == "replayed"
    clock.advance("1d")
    [claim] = cq.claim()
    assert (claim.id, claim.job.expires_at) == (answer.id, None)


def test_a_paused_queue_still_expires_its_jobs(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", expires_in="10m")
    cq.pause("default")
    clock.advance("11m")
    cq.claim()
    assert job_of(cq, answer.id).reason == "expired"
