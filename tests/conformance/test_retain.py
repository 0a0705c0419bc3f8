"""retain: finished jobs are kept for as long as the policy says, then deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place
from tests.support.states import STATES, job_in, take


@pytest.mark.parametrize("state", ["done", "cancelled", "dead"])
def test_finished_jobs_older_than_asked_are_deleted_and_younger_ones_kept(
    cq: tenure.Queue, clock: MovedClock, state: str
) -> None:
    old = job_in(cq, state)
    clock.advance("5d")
    young = job_in(cq, state)
    clock.advance("5d")
    policy: dict[str, Any] = {state: "7d"}
    assert cq.retain(**policy) == 1
    assert cq.get(old) is None
    assert cq.get(young) is not None


def test_age_is_counted_from_the_end_and_not_from_the_enqueue(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    clock.advance("30d")
    cq.settle(take(cq, job_id), tenure.Done())
    clock.advance("6d")
    assert cq.retain(done="7d") == 0
    clock.advance("2d")
    assert cq.retain(done="7d") == 1


def test_dead_jobs_are_kept_unless_asked(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = job_in(cq, "dead")
    clock.advance("3650d")
    assert cq.retain(done="1s", cancelled="1s") == 0
    assert cq.get(job_id) is not None


@pytest.mark.parametrize("state", [s for s in STATES if s not in {"done", "dead", "cancelled"}])
def test_unfinished_jobs_are_never_deleted(cq: tenure.Queue, clock: MovedClock, state: str) -> None:
    job_id = job_in(cq, state)
    clock.advance("3650d")
    assert cq.retain(done="1s", cancelled="1s", dead="1s") == 0
    assert cq.get(job_id) is not None


@pytest.mark.parametrize("off", [None, 0, "0s", timedelta(0)])
def test_zero_and_none_turn_retention_off(cq: tenure.Queue, clock: MovedClock, off: Any) -> None:
    made = {job_in(cq, state) for state in ("done", "cancelled", "dead")}
    clock.advance("3650d")
    assert cq.retain(done=off, cancelled=off, dead=off) == 0
    assert {job.id for job in cq.list()} == made


@pytest.mark.parametrize("state", ["done", "cancelled", "dead"])
@pytest.mark.parametrize("bad", [-1, "-1h", timedelta(seconds=-1)])
def test_a_negative_age_is_refused_and_nothing_is_deleted(
    cq: tenure.Queue, clock: MovedClock, state: str, bad: Any
) -> None:
    job_id = job_in(cq, state)
    clock.advance("1d")
    policy: dict[str, Any] = {"done": "1h", "cancelled": "1h", "dead": "1h", state: bad}
    with pytest.raises(tenure.FieldError, match=f"{state}: "):
        cq.retain(**policy)
    assert cq.get(job_id) is not None


def test_each_state_has_its_own_age(cq: tenure.Queue, clock: MovedClock) -> None:
    for state in ("done", "cancelled", "dead"):
        job_in(cq, state)
    clock.advance("5d")
    assert cq.retain(done="7d", cancelled="1d", dead="30d") == 1
    assert {job.state for job in cq.list()} == {"done", "dead"}


def test_retention_can_be_for_one_queue(cq: tenure.Queue, clock: MovedClock) -> None:
    job_in(cq, "done", queue="mail")
    other = job_in(cq, "done", queue="other")
    clock.advance("5d")
    assert cq.retain(done="1d", queue="mail") == 1
    assert [job.id for job in cq.list()] == [other]


def test_retention_is_bounded_and_tells_how_many(cq: tenure.Queue, clock: MovedClock) -> None:
    for state in ("done", "done", "done", "cancelled", "cancelled", "dead"):
        job_in(cq, state)
    clock.advance("5d")
    assert [cq.retain(done="1d", cancelled="1d", dead="1d", limit=4) for _ in range(3)] == [4, 2, 0]


def test_a_pending_job_in_front_hides_no_old_job_behind_it(cq: tenure.Queue, clock: MovedClock) -> None:
    pending = cq.enqueue("pending").id
    old = job_in(cq, "done")
    clock.advance("5d")
    young = cq.enqueue("young").id
    assert cq.retain(done="1d") == 1
    assert cq.get(old) is None
    assert [job.id for job in cq.list()] == [young, pending]


def test_a_job_stored_while_the_clock_was_ahead_keeps_no_other(cq: tenure.Queue, clock: MovedClock) -> None:
    clock.advance("3650d")
    ahead = [cq.enqueue("ahead").id, job_in(cq, "done")]
    clock.advance("-3650d")
    old = job_in(cq, "done")
    clock.advance("5d")
    assert cq.retain(done="1d") == 1
    assert cq.get(old) is None
    assert sorted(job.id for job in cq.list()) == sorted(ahead)


def test_all_that_belongs_to_a_deleted_job_goes_with_it(
    cq: tenure.Queue, clock: MovedClock, place: Place
) -> None:
    request = tenure.Request(b"body", {"x": "y"})
    gone, kept = cq.enqueue("a", request=request).id, cq.enqueue("b", request=request).id
    cq.settle(take(cq, gone), tenure.Bury())
    clock.advance("5d")
    cq.settle(take(cq, kept), tenure.Bury())
    assert cq.retain(dead="1d") == 1
    assert [str(row[0]) for row in place.sql("SELECT job_id FROM tenure.attempts")] == [kept]
    assert [str(row[0]) for row in place.sql("SELECT job_id FROM tenure.requests")] == [kept]


def test_unique_periods_that_are_over_are_forgotten(
    cq: tenure.Queue, clock: MovedClock, place: Place
) -> None:
    cq.enqueue("k", unique="short", unique_for="1h")
    kept = cq.enqueue("k", unique="long", unique_for="1d").id
    clock.advance("2h")
    cq.retain(done="1d")
    assert [str(row[0]) for row in place.sql("SELECT job_id FROM tenure.ledger")] == [kept]


def test_a_unique_period_outlives_the_deleted_job(cq: tenure.Queue, clock: MovedClock) -> None:
    first = cq.enqueue("k", unique="u", unique_for="30d").id
    cq.settle(take(cq, first), tenure.Done())
    clock.advance("5d")
    assert cq.retain(done="1d") == 1
    assert cq.enqueue("k", unique="u", unique_for="30d") == tenure.Enqueued(first, inserted=False)
