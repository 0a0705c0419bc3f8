"""promote: jobs become ready when they are due."""

from __future__ import annotations

from datetime import timedelta

import tenure
from tests.support.claiming import claim_all, ids, job_of
from tests.support.clock import MovedClock
from tests.support.places import Place


def test_promote_makes_due_jobs_ready_and_says_how_many(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", delay=f"{m}m") for m in (1, 2, 3, 60)])
    clock.advance("3m")
    assert cq.promote() == 3
    counts = cq.counts()["default"]
    assert (counts["ready"], counts["scheduled"]) == (3, 1)


def test_promote_with_nothing_due_moves_nothing(cq: tenure.Queue) -> None:
    answer = cq.enqueue("k", delay="1m")
    assert cq.promote() == 0
    assert job_of(cq, answer.id).state == "scheduled"


def test_promote_moves_no_more_than_its_limit(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", delay="1m")] * 5)
    clock.advance("1m")
    assert [cq.promote(limit=2) for _ in range(4)] == [2, 2, 1, 0]


def test_a_bounded_promote_takes_the_longest_due_first(cq: tenure.Queue, clock: MovedClock) -> None:
    last = cq.enqueue("k", delay="2m")
    first = cq.enqueue("k", delay="1m")
    clock.advance("5m")
    cq.promote(limit=1)
    assert (job_of(cq, first.id).state, job_of(cq, last.id).state) == ("ready", "scheduled")


def test_promote_leaves_attempt_and_epoch_alone(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", delay="1m")
    clock.advance("1m")
    cq.promote()
    job = job_of(cq, answer.id)
    assert (job.state, job.attempt, job.epoch, job.run_at) == ("ready", 0, 0, clock.now)


def test_a_job_is_not_claimed_before_it_is_due(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", run_at=clock.at("1m"))
    clock.advance(timedelta(seconds=60) - timedelta(microseconds=1))
    assert cq.claim() == []
    clock.advance(timedelta(microseconds=1))
    assert ids(cq.claim()) == [answer.id]


def test_a_claim_promotes_by_itself(cq: tenure.Queue, clock: MovedClock) -> None:
    answers = cq.enqueue_many([tenure.NewJob(kind="k", delay=f"{m}m") for m in (1, 2, 3)])
    clock.advance("2m")
    assert ids(cq.claim(10)) == ids(answers[:2])


def test_a_claim_promotes_although_ready_jobs_are_enough(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k")] * 3)
    due = cq.enqueue("k", delay="1m", priority=1)
    clock.advance("1m")
    assert ids(cq.claim(1)) == [due.id]


def test_claims_promote_however_many_are_due(cq: tenure.Queue, clock: MovedClock) -> None:
    answers = cq.enqueue_many([tenure.NewJob(kind="k", delay="1m")] * 1_200)
    clock.advance("1m")
    assert sorted(ids(claim_all(cq, 400))) == sorted(ids(answers))


def test_many_jobs_of_the_future_do_not_stand_in_front_of_ready_ones(cq: tenure.Queue) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", delay="1h", priority=9)] * 700)
    answer = cq.enqueue("k")
    assert ids(cq.claim(10)) == [answer.id]


def test_jobs_of_foreign_kinds_that_are_due_do_not_hold_up_the_known_ones(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue_many([tenure.NewJob(kind="foreign", delay="1m")] * 700)
    answer = cq.enqueue("known", delay="2m")
    clock.advance("2m")
    assert ids([*cq.claim(kinds=["known"]), *cq.claim(kinds=["known"])]) == [answer.id]


def test_a_waiting_retry_is_scheduled_and_promoted_when_it_is_due(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    answer = cq.enqueue("k")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Fail("no", retry_in="10m"))
    job = job_of(cq, answer.id)
    assert (job.state, job.run_at) == ("scheduled", clock.at("10m"))
    assert cq.promote() == 0
    clock.advance("10m")
    assert cq.promote() == 1
    assert job_of(cq, answer.id).state == "ready"


def test_a_snoozed_job_is_promoted_when_its_nap_is_over(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Snooze("10m"))
    assert cq.promote() == 0
    clock.advance("10m")
    assert (cq.promote(), job_of(cq, answer.id).state) == (1, "ready")


def test_a_job_promoted_by_one_queue_object_is_found_by_another(
    place: Place, cq: tenure.Queue, clock: MovedClock
) -> None:
    other = place.open(clock=clock)
    assert other.claim() == []
    answer = cq.enqueue("k", delay="1m")
    clock.advance("1m")
    assert cq.promote() == 1
    assert ids(other.claim()) == [answer.id]


def test_promoted_jobs_of_a_group_are_ready_up_to_its_limit(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", delay="1m", group="g", group_limit=2)] * 3)
    clock.advance("1m")
    cq.promote()
    counts = cq.counts()["default"]
    assert (counts["ready"], counts["waiting"], counts["scheduled"]) == (2, 1, 0)
