"""G8: higher priority first, then earlier run_at, then arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import tenure
from tests.support.claiming import claim_all, ids, payloads
from tests.support.clock import MovedClock
from tests.support.places import Place

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LIMITS = pytest.mark.parametrize("limit", [1, 2, 7, 1_000])


def mixed(n: int) -> list[tenure.NewJob]:
    """Jobs of several queues, kinds, priorities and due times, in no order; each carries its place in arrival."""
    return [
        tenure.NewJob(
            kind=f"k{i * 7 % 3}",
            queue=f"q{i * 5 % 4}",
            priority=i * 11 % 5 - 2,
            run_at=LONG_AGO + timedelta(seconds=i * 13 % 6),
            payload=i,
        )
        for i in range(n)
    ]


def in_order(jobs: list[tenure.NewJob]) -> list[int]:
    """The places in arrival of jobs, in the order that claims must hand them out."""
    assert all(job.run_at is not None for job in jobs)
    return [job.payload for job in sorted(jobs, key=lambda j: (-j.priority, j.run_at, j.payload))]


def test_jobs_are_claimed_in_the_order_they_arrived(q: tenure.Queue) -> None:
    arrived = [q.enqueue("k").id for _ in range(10)]
    assert ids(claim_all(q)) == arrived


def test_a_batch_is_claimed_in_its_own_order(q: tenure.Queue) -> None:
    answers = q.enqueue_many([tenure.NewJob(kind="k")] * 120)
    assert ids(claim_all(q, 50)) == ids(answers)


def test_higher_priority_goes_first(q: tenure.Queue) -> None:
    for priority in (0, -5, 10, 3, -300, 300):
        q.enqueue("k", priority, priority=priority)
    assert payloads(claim_all(q)) == [300, 10, 3, 0, -5, -300]


def test_at_one_priority_the_earlier_due_goes_first(q: tenure.Queue) -> None:
    for hours in (3, 1, 2, 0):
        q.enqueue("k", hours, run_at=LONG_AGO + timedelta(hours=hours))
    assert payloads(claim_all(q)) == [0, 1, 2, 3]


def test_at_one_priority_and_due_time_arrival_decides(q: tenure.Queue) -> None:
    arrived = [q.enqueue("k", run_at=LONG_AGO).id for _ in range(5)]
    assert ids(claim_all(q)) == arrived


def test_priority_stands_before_due_time(q: tenure.Queue) -> None:
    low = q.enqueue("k", run_at=LONG_AGO)
    high = q.enqueue("k", priority=1)
    assert ids(claim_all(q)) == [high.id, low.id]


def test_a_job_due_in_the_past_goes_before_one_enqueued_first(q: tenure.Queue) -> None:
    now = q.enqueue("k")
    past = q.enqueue("k", run_at=LONG_AGO)
    assert ids(claim_all(q)) == [past.id, now.id]


@LIMITS
def test_order_is_exact_over_kinds_queues_and_priorities(q: tenure.Queue, limit: int) -> None:
    jobs = mixed(120)
    q.enqueue_many(jobs)
    assert payloads(claim_all(q, limit)) == in_order(jobs)


@LIMITS
def test_order_is_exact_among_the_named_queues_and_kinds(q: tenure.Queue, limit: int) -> None:
    jobs = mixed(120)
    q.enqueue_many(jobs)
    wanted = [job for job in jobs if job.queue in {"q1", "q3"} and job.kind in {"k0", "k2"}]
    assert payloads(claim_all(q, limit, queues=["q3", "q1"], kinds=["k2", "k0"])) == in_order(wanted)


def test_bulk_and_single_enqueues_stand_in_one_line(q: tenure.Queue) -> None:
    jobs = mixed(120)
    q.enqueue_many(jobs[:60])
    for job in jobs[60:65]:
        q.enqueue(job.kind, job.payload, queue=job.queue, priority=job.priority, run_at=job.run_at)
    q.enqueue_many(jobs[65:70])
    for job in jobs[70:75]:
        q.enqueue(job.kind, job.payload, queue=job.queue, priority=job.priority, run_at=job.run_at)
    q.enqueue_many(jobs[75:])
    assert payloads(claim_all(q, 4)) == in_order(jobs)


def test_with_more_lanes_than_the_limit_the_best_jobs_come_first(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=f"k{i}", payload=i, run_at=LONG_AGO) for i in range(40)])
    assert payloads(claim_all(q, 3)) == list(range(40))


def test_one_claim_takes_from_several_priorities_in_order(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", payload=p, priority=p) for p in (1, 2, 3) for _ in range(2)])
    assert payloads(q.claim(5)) == [3, 3, 2, 2, 1]


def test_a_higher_priority_job_enqueued_between_claims_is_next(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k")] * 10)
    q.claim(2)
    for kind, priority in (("k", 1), ("k", 5), ("other", 3), ("k", 1)):
        urgent = q.enqueue(kind, priority=priority)
        assert ids(q.claim()) == [urgent.id]


def test_a_higher_priority_job_of_another_queue_object_is_next(place: Place) -> None:
    claimer, producer = place.open(), place.open()
    producer.enqueue_many([tenure.NewJob(kind="k")] * 5)
    claimer.claim()
    urgent = producer.enqueue("k", priority=9)
    assert ids(claimer.claim()) == [urgent.id]


def test_a_lower_priority_job_enqueued_between_claims_is_last(q: tenure.Queue) -> None:
    first = q.enqueue_many([tenure.NewJob(kind="k")] * 3)
    q.claim()
    low = q.enqueue("k", priority=-1)
    same = q.enqueue("k")
    assert ids(claim_all(q)) == [first[1].id, first[2].id, same.id, low.id]


def test_a_released_job_goes_back_to_its_place(cq: tenure.Queue) -> None:
    answers = cq.enqueue_many([tenure.NewJob(kind="k")] * 4)
    [first, second] = cq.claim(2)
    cq.settle(second, tenure.Release())
    cq.settle(first, tenure.Release())
    assert ids(claim_all(cq)) == ids(answers)


def test_a_job_taken_back_from_a_vanished_worker_goes_back_to_its_place(
    place: Place, cq: tenure.Queue, clock: MovedClock
) -> None:
    answers = cq.enqueue_many([tenure.NewJob(kind="k")] * 3)
    place.open(clock=clock).claim()
    clock.advance("31s")
    assert ids(claim_all(cq)) == ids(answers)


def test_scheduled_jobs_are_claimed_in_the_order_they_are_due(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", payload=m, delay=f"{m}m") for m in (5, 1, 4, 2, 3)])
    clock.advance("10m")
    assert payloads(claim_all(cq)) == [1, 2, 3, 4, 5]


def test_a_scheduled_job_of_higher_priority_goes_first_once_it_is_due(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    low = cq.enqueue_many([tenure.NewJob(kind="k")] * 3)
    high = cq.enqueue("k", priority=1, delay="1m")
    assert ids(cq.claim(lease="1h")) == [low[0].id]
    clock.advance("1m")
    assert ids(claim_all(cq)) == [high.id, low[1].id, low[2].id]


def test_a_failed_job_waits_behind_those_due_before_its_retry(cq: tenure.Queue, clock: MovedClock) -> None:
    failed = cq.enqueue("k")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Fail("no", retry_in="2m"))
    clock.advance("1m")
    before = cq.enqueue("k")
    clock.advance("2m")
    after = cq.enqueue("k")
    assert ids(claim_all(cq)) == [before.id, failed.id, after.id]
