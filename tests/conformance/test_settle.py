"""settle: what each outcome makes of a job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import tenure
from tests.support.claims import OUTCOMES, seen, start
from tests.support.clock import MovedClock
from tests.support.places import Place


def test_a_done_job_keeps_its_result(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    ended = clock.advance("5s")
    assert cq.settle(claim, tenure.Done({"id": [1, "é"]}))
    job = seen(cq, claim.id)
    assert (job.state, job.result, job.finished_at, job.attempt) == ("done", {"id": [1, "é"]}, ended, 1)


def test_done_with_nothing_to_tell_keeps_no_result(q: tenure.Queue) -> None:
    claim = start(q)
    assert q.settle(claim, tenure.Done())
    job = seen(q, claim.id)
    assert (job.state, job.result, job.result_text) == ("done", None, None)


@pytest.mark.parametrize("result", [0, False, "", [], {}, 0.0], ids=repr)
def test_a_falsy_result_is_a_result(q: tenure.Queue, result: Any) -> None:
    claim = start(q)
    assert q.settle(claim, tenure.Done(result))
    kept = seen(q, claim.id).result
    assert (kept, type(kept)) == (result, type(result))


def test_a_result_of_64_kib_is_kept(q: tenure.Queue) -> None:
    claim = start(q)
    assert q.settle(claim, tenure.Done("x" * (65_536 - 2)))
    assert seen(q, claim.id).result == "x" * (65_536 - 2)


def test_done_clears_the_last_error(q: tenure.Queue) -> None:
    first = start(q)
    q.settle(first, tenure.Fail("boom", retry_in=0))
    [second] = q.claim()
    assert second.job.error == "boom"
    assert q.settle(second, tenure.Done())
    assert seen(q, first.id).error is None


def test_done_keeps_the_history_of_failed_attempts(q: tenure.Queue) -> None:
    q.settle(start(q), tenure.Fail("boom", retry_in=0))
    [second] = q.claim()
    assert q.settle(second, tenure.Done())
    assert [a.message for a in q.history(second.id)] == ["boom"]


def test_a_finished_job_is_not_claimed_again(cq: tenure.Queue, clock: MovedClock) -> None:
    for outcome in (tenure.Done(), tenure.Bury(), tenure.Cancelled()):
        assert cq.settle(start(cq), outcome)
    clock.advance("10d")
    assert cq.claim(limit=10) == []


def test_a_failed_job_keeps_its_error_and_the_attempt(q: tenure.Queue) -> None:
    claim = start(q)
    assert q.settle(claim, tenure.Fail("no route to host"))
    job = seen(q, claim.id)
    assert (job.state, job.error, job.attempt, job.worker, job.lease_until) == (
        "scheduled", "no route to host", 1, None, None,
    )  # fmt: skip


def test_a_failed_attempt_is_a_row_in_the_history(cq: tenure.Queue, clock: MovedClock) -> None:
    began = clock.now
    claim = start(cq, worker="w1")
    ended = clock.advance("3s")
    cq.settle(claim, tenure.Fail("no route to host", kind="OSError", traceback="Traceback: …"))
    assert cq.history(claim.id) == [
        tenure.Attempt(
            attempt=1, epoch=claim.epoch, worker="w1", started_at=began, finished_at=ended, error_kind="OSError",
            message="no route to host", traceback="Traceback: …",
        )
    ]  # fmt: skip


def test_the_history_tells_failed_attempts_oldest_first(q: tenure.Queue) -> None:
    claim = start(q)
    q.settle(claim, tenure.Fail("one", retry_in=0))
    for word in ("two", "three"):
        [again] = q.claim()
        q.settle(again, tenure.Fail(word, retry_in=0))
    assert [(a.attempt, a.message) for a in q.history(claim.id)] == [(1, "one"), (2, "two"), (3, "three")]


def test_a_failed_job_waits_as_long_as_its_failure_says(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    cq.settle(claim, tenure.Fail("boom", retry_in="90s"))
    assert seen(cq, claim.id).run_at == clock.at("90s")
    clock.advance("89s")
    assert cq.claim() == []
    clock.advance("1s")
    assert [c.id for c in cq.claim()] == [claim.id]


def test_a_failed_job_waits_by_default_a_minute_doubling_up_to_an_hour(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    claim = start(cq, max_attempts=20)
    waits = []
    for _ in range(8):
        cq.settle(claim, tenure.Fail("boom"))
        waits.append((seen(cq, claim.id).run_at - clock.now) // timedelta(seconds=1))
        clock.advance("1h")
        [claim] = cq.claim()
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]


def test_no_attempt_number_overflows_the_wait(cq: tenure.Queue, place: Place, clock: MovedClock) -> None:
    job = cq.enqueue("k", max_attempts=2_147_483_647)
    place.sql("UPDATE tenure.jobs SET attempt = 2147483000")
    [claim] = cq.claim()
    assert cq.settle(claim, tenure.Fail("boom"))
    assert seen(cq, job.id).run_at == clock.at("1h")


def test_a_failed_job_with_no_wait_is_ready_at_once(q: tenure.Queue) -> None:
    claim = start(q)
    q.settle(claim, tenure.Fail("boom", retry_in=0))
    assert seen(q, claim.id).state == "ready"
    [again] = q.claim()
    assert (again.id, again.job.attempt) == (claim.id, 2)


def test_a_job_that_failed_max_attempts_times_is_dead(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq, max_attempts=2)
    cq.settle(claim, tenure.Fail("first", retry_in=0))
    [again] = cq.claim()
    ended = clock.advance("5s")
    assert cq.settle(again, tenure.Fail("last", retry_in=0))
    job = seen(cq, claim.id)
    assert (job.state, job.reason, job.error, job.attempt, job.finished_at) == (
        "dead",
        "failed",
        "last",
        2,
        ended,
    )
    assert [a.message for a in cq.history(claim.id)] == ["first", "last"]


def test_a_job_with_one_attempt_is_dead_at_its_first_failure(q: tenure.Queue) -> None:
    claim = start(q, max_attempts=1)
    q.settle(claim, tenure.Fail("boom", retry_in="1h"))
    assert seen(q, claim.id).state == "dead"


def test_a_failure_made_of_an_exception_keeps_its_kind_and_traceback(q: tenure.Queue) -> None:
    claim = start(q)
    try:
        [].pop()
    except IndexError as error:
        q.settle(claim, tenure.Fail.of(error, retry_in="10s"))
    [attempt] = q.history(claim.id)
    assert (attempt.error_kind, attempt.message) == ("IndexError", "pop from empty list")
    assert attempt.traceback is not None
    assert "Traceback (most recent call last)" in attempt.traceback
    assert "[].pop()" in attempt.traceback
    assert seen(q, claim.id).error == "pop from empty list"


def test_an_exception_without_a_text_is_told_by_its_name(q: tenure.Queue) -> None:
    claim = start(q)
    q.settle(claim, tenure.Fail.of(KeyboardInterrupt()))
    assert seen(q, claim.id).error == "KeyboardInterrupt()"


def test_a_snoozed_job_waits_and_gets_its_attempt_back(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    assert cq.settle(claim, tenure.Snooze("5m"))
    job = seen(cq, claim.id)
    assert (job.state, job.run_at, job.attempt, job.worker) == ("scheduled", clock.at("5m"), 0, None)
    clock.advance("5m")
    [again] = cq.claim()
    assert (again.id, again.job.attempt) == (claim.id, 1)


def test_a_job_may_be_snoozed_more_often_than_max_attempts(q: tenure.Queue) -> None:
    claim = start(q, max_attempts=1)
    for _ in range(4):
        assert q.settle(claim, tenure.Snooze(0))
        [claim] = q.claim()
    assert (seen(q, claim.id).attempt, q.history(claim.id)) == (1, [])


def test_a_released_job_is_ready_at_once_and_gets_its_attempt_back(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    claim = start(cq)
    due = seen(cq, claim.id).run_at
    clock.advance("10s")
    assert cq.settle(claim, tenure.Release())
    job = seen(cq, claim.id)
    assert (job.state, job.attempt, job.run_at, job.worker, job.lease_until) == ("ready", 0, due, None, None)
    assert [c.id for c in cq.claim()] == [claim.id]


def test_giving_back_takes_nothing_off_failed_attempts(q: tenure.Queue) -> None:
    q.settle(start(q), tenure.Fail("boom", retry_in=0))
    [second] = q.claim()
    q.settle(second, tenure.Release())
    job = seen(q, second.id)
    assert (job.attempt, job.error) == (1, "boom")


@pytest.mark.parametrize("outcome", [tenure.Release(), tenure.Snooze(0)], ids=["release", "snooze"])
def test_an_attempt_given_back_is_never_below_zero(
    q: tenure.Queue, place: Place, outcome: tenure.Outcome
) -> None:
    claim = start(q)
    place.sql("UPDATE tenure.jobs SET attempt = 0")
    assert q.settle(claim, outcome)
    assert seen(q, claim.id).attempt == 0


def test_a_buried_job_is_dead_now_whatever_attempts_were_left(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq, max_attempts=5)
    ended = clock.advance("5s")
    assert cq.settle(claim, tenure.Bury("no such user", error="404 for user 7"))
    job = seen(cq, claim.id)
    assert (job.state, job.reason, job.error, job.attempt, job.finished_at) == (
        "dead", "no such user", "404 for user 7", 1, ended,
    )  # fmt: skip
    assert [(a.attempt, a.message) for a in cq.history(claim.id)] == [(1, "404 for user 7")]


def test_a_worker_may_end_a_job_as_cancelled(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    ended = clock.advance("5s")
    assert cq.settle(claim, tenure.Cancelled("the user left"))
    job = seen(cq, claim.id)
    assert (job.state, job.reason, job.finished_at) == ("cancelled", "the user left", ended)


def test_one_settle_of_many_takes_every_outcome(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", payload=name) for name in OUTCOMES])
    claims = {c.job.payload: c for c in q.claim(limit=10)}
    assert q.settle_many([(claims[name], outcome) for name, outcome in OUTCOMES.items()]) == [True] * 8
    assert {name: str(seen(q, claims[name].id).state) for name in OUTCOMES} == {
        "done": "done", "done with nothing to tell": "done", "fail": "ready", "snooze": "ready", "release": "ready", "bury": "dead", "cancelled": "cancelled",
        "crashed": "ready",
    }  # fmt: skip


def test_settling_nothing_answers_nothing(q: tenure.Queue) -> None:
    assert q.settle_many([]) == []


def test_six_hundred_claims_are_settled_in_one_call(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(600)])
    claims = q.claim(limit=600)
    turns: list[tenure.Outcome] = [tenure.Done(), tenure.Fail("boom"), tenure.Bury()]
    assert q.settle_many([(c, turns[c.job.payload % 3]) for c in claims]) == [True] * 600
    found = q.counts()["default"]
    assert (found["done"], found["scheduled"], found["dead"], found["running"]) == (200, 200, 200, 0)


@pytest.mark.parametrize(
    ("outcome", "field"),
    [
        ("done", "outcome"),
        (None, "outcome"),
        (tenure.Done, "outcome"),
        (tenure.Done(object()), "result"),
        (tenure.Done({"a": [float("nan")]}), "result.a[0]"),
        (tenure.Done("x" * 65_536), "result"),
        (tenure.Fail("boom", retry_in="-1s"), "retry_in"),
        (tenure.Fail("boom", retry_in="soon"), "retry_in"),
        (tenure.Snooze("-1s"), "delay"),
    ],
    ids=[
        "text",
        "none",
        "class",
        "object",
        "nan",
        "too-big",
        "negative-wait",
        "no-duration",
        "negative-snooze",
    ],
)
def test_an_outcome_that_cannot_be_is_refused_and_the_claim_stands(
    q: tenure.Queue, outcome: Any, field: str
) -> None:
    claim = start(q)
    before = seen(q, claim.id)
    with pytest.raises(tenure.FieldError) as caught:
        q.settle(claim, outcome)
    assert caught.value.field == field
    assert seen(q, claim.id) == before


def test_only_claims_can_be_settled(q: tenure.Queue) -> None:
    claim = start(q)
    with pytest.raises(tenure.FieldTypeError) as caught:
        q.settle(claim.id, tenure.Done())  # type: ignore[arg-type]
    assert caught.value.field == "claim"
    assert seen(q, claim.id).state == "running"


def test_one_bad_outcome_among_many_settles_none(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k") for _ in range(2)])
    good, bad = q.claim(limit=2)
    with pytest.raises(tenure.PayloadError):
        q.settle_many([(good, tenure.Done()), (bad, tenure.Done(object()))])
    assert {seen(q, c.id).state for c in (good, bad)} == {tenure.State.RUNNING}


class Gone(tenure.Bury):
    """One of the user's own."""


class Later(tenure.Fail):
    """Another."""


class Kept(tenure.Done):
    """A third."""


class Back(tenure.Release):
    """And a fourth."""


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Gone("why"), "dead"),
        (Later("why", retry_in="0s"), "ready"),
        (Kept({"n": 1}), "done"),
        (Back(), "ready"),
    ],
    ids=["bury", "fail", "done", "release"],
)
def test_an_outcome_of_a_class_of_ones_own_is_what_it_was_made_of(
    q: tenure.Queue, outcome: tenure.Outcome, state: str
) -> None:
    job = q.enqueue("k").id
    [claim] = q.claim()
    assert q.settle(claim, outcome)
    seen = q.get(job)
    assert seen is not None
    assert seen.state == state
