"""history: a job's failed attempts and crashes."""

from __future__ import annotations

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.states import look, take


def test_a_new_job_has_no_history(q: tenure.Queue) -> None:
    assert q.history(q.enqueue("k").id) == []


def test_an_unknown_job_has_no_history(q: tenure.Queue) -> None:
    assert q.history("01900000-0000-7000-8000-000000000000") == []


def test_a_failed_attempt_is_told_with_all_that_is_known_of_it(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    clock.advance("1m")
    started = clock.now
    [claim] = cq.claim(worker="w1")
    clock.advance("5s")
    cq.settle(claim, tenure.Fail("no route", kind="OSError", traceback="Traceback: here"))
    assert cq.history(job_id) == [
        tenure.Attempt(
            attempt=1,
            epoch=claim.epoch,
            worker="w1",
            started_at=started,
            finished_at=clock.now,
            error_kind="OSError",
            message="no route",
            traceback="Traceback: here",
        )
    ]


def test_failed_attempts_are_told_oldest_first(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    for n in range(3):
        cq.settle(take(cq, job_id), tenure.Fail(f"failure {n}", retry_in="1m"))
        clock.advance("1m")
    story = cq.history(job_id)
    assert [(row.attempt, row.message) for row in story] == [
        (1, "failure 0"),
        (2, "failure 1"),
        (3, "failure 2"),
    ]
    assert story[0].epoch < story[1].epoch < story[2].epoch
    assert story[0].finished_at < story[1].finished_at < story[2].finished_at


def test_a_failure_made_of_an_exception_keeps_its_type_and_traceback(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    with pytest.raises(LookupError) as caught:
        raise LookupError("nobody home")
    q.settle(take(q, job_id), tenure.Fail.of(caught.value))
    [row] = q.history(job_id)
    assert (row.error_kind, row.message) == ("LookupError", "nobody home")
    assert row.traceback is not None
    assert 'raise LookupError("nobody home")' in row.traceback


def test_the_attempt_a_job_died_of_is_in_its_history(q: tenure.Queue) -> None:
    job_id = q.enqueue("k", max_attempts=1).id
    q.settle(take(q, job_id), tenure.Fail("the last straw"))
    assert look(q, job_id).state == "dead"
    assert [row.message for row in q.history(job_id)] == ["the last straw"]


def test_a_burial_is_in_the_history(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    q.settle(take(q, job_id), tenure.Bury("malformed", "no such field: to"))
    assert [(row.error_kind, row.message) for row in q.history(job_id)] == [("Bury", "no such field: to")]


def test_a_crash_is_in_the_history_with_the_worker_that_vanished(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    started = clock.now
    [claim] = cq.claim(worker="w1", lease="30s")
    clock.advance("31s")
    assert cq.reclaim() == 1
    [row] = cq.history(job_id)
    assert (row.error_kind, row.worker, row.attempt, row.epoch) == ("Crash", "w1", 1, claim.epoch)
    assert (row.started_at, row.finished_at) == (started, clock.now)
    assert "w1" in row.message


@pytest.mark.parametrize(
    "outcome", [tenure.Done(), tenure.Snooze("1m"), tenure.Release(), tenure.Cancelled()]
)
def test_an_attempt_that_did_not_fail_writes_no_row(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    job_id = q.enqueue("k").id
    assert q.settle(take(q, job_id), outcome)
    assert q.history(job_id) == []


def test_history_outlives_a_success(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    cq.settle(take(cq, job_id), tenure.Fail("first try", retry_in="1m"))
    clock.advance("1m")
    cq.settle(take(cq, job_id), tenure.Done())
    assert [row.message for row in cq.history(job_id)] == ["first try"]


def test_a_settle_of_a_lost_claim_adds_nothing_to_the_history(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    [late] = cq.claim(started=False)
    clock.advance("31s")
    take(cq, job_id)
    assert not cq.settle(late, tenure.Fail("too late"))
    assert cq.history(job_id) == []
