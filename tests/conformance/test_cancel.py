"""cancel: a pending job ends at once, a running one is asked."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

import tenure
from tests.support.claims import OUTCOMES, seen, start
from tests.support.clock import MovedClock

GIVES_BACK = pytest.mark.parametrize(
    "outcome",
    [tenure.Fail("boom"), tenure.Snooze("1h"), tenure.Release()],
    ids=["fail", "snooze", "release"],
)


@pytest.mark.parametrize("state", ["ready", "scheduled", "waiting"])
def test_a_pending_job_is_cancelled_at_once(cq: tenure.Queue, clock: MovedClock, state: str) -> None:
    options: dict[str, Any] = {"ready": {}, "scheduled": {"delay": "1h"}, "waiting": {"group": "g"}}[state]
    cq.enqueue("other", group="g")
    job = cq.enqueue("k", **options)
    assert seen(cq, job.id).state == state
    clock.advance("5s")
    assert cq.cancel(job.id) == "cancelled"
    ended = seen(cq, job.id)
    assert (ended.state, ended.reason, ended.finished_at) == ("cancelled", "cancelled", clock.now)
    clock.advance("2h")
    assert cq.claim(limit=10, kinds=["k"]) == []


def test_a_job_that_waits_for_its_retry_is_cancelled_and_keeps_its_error(q: tenure.Queue) -> None:
    claim = start(q)
    q.settle(claim, tenure.Fail("boom"))
    assert q.cancel(claim.id) == "cancelled"
    job = seen(q, claim.id)
    assert (job.state, job.error, job.attempt) == ("cancelled", "boom", 1)


def test_a_cancelled_job_keeps_the_reason(q: tenure.Queue) -> None:
    job = q.enqueue("k")
    q.cancel(job.id, "the user left")
    assert seen(q, job.id).reason == "the user left"


def test_an_unknown_job_is_told_as_unknown(q: tenure.Queue) -> None:
    assert q.cancel(str(uuid4())) == "unknown"


@pytest.mark.parametrize("name", ["done", "bury", "cancelled"])
def test_a_finished_job_is_told_as_finished_and_left_alone(q: tenure.Queue, name: str) -> None:
    claim = start(q)
    q.settle(claim, OUTCOMES[name])
    before = seen(q, claim.id)
    assert q.cancel(claim.id) == "finished"
    assert seen(q, claim.id) == before


def test_a_job_cancelled_twice_is_finished_at_the_second_time(q: tenure.Queue) -> None:
    job = q.enqueue("k")
    assert [q.cancel(job.id, "first"), q.cancel(job.id, "second")] == ["cancelled", "finished"]
    assert seen(q, job.id).reason == "first"


@pytest.mark.parametrize("spell", [UUID, str.upper], ids=["uuid", "upper-case"])
def test_an_id_may_be_spelled_otherwise(q: tenure.Queue, spell: Any) -> None:
    job = q.enqueue("k")
    assert q.cancel(spell(job.id)) == "cancelled"
    assert seen(q, job.id).state == "cancelled"


@pytest.mark.parametrize("wrong", ["", "job-1", 7, None], ids=repr)
def test_what_is_no_id_is_refused(q: tenure.Queue, wrong: Any) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        q.cancel(wrong)
    assert caught.value.field == "id"


def test_a_running_job_is_asked_and_goes_on(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    clock.advance("5s")
    assert cq.cancel(claim.id) == "asked"
    job = seen(cq, claim.id)
    assert (job.state, job.cancel_asked_at, job.epoch) == ("running", clock.now, claim.epoch)


def test_a_worker_sees_at_its_next_renew_that_it_is_asked(q: tenure.Queue) -> None:
    claim = start(q)
    assert q.renew([claim]).cancelling == frozenset()
    q.cancel(claim.id)
    assert q.renew([claim]).cancelling == {claim.id}


def test_asking_twice_keeps_the_first_asking(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    first = clock.now
    assert cq.cancel(claim.id, "first") == "asked"
    clock.advance("5s")
    assert cq.cancel(claim.id, "second") == "asked"
    assert seen(cq, claim.id).cancel_asked_at == first
    cq.settle(claim, tenure.Release())
    assert seen(cq, claim.id).reason == "first"


def test_a_job_asked_to_cancel_that_ends_done_is_done(q: tenure.Queue) -> None:
    claim = start(q)
    q.cancel(claim.id)
    assert q.settle(claim, tenure.Done("made it"))
    job = seen(q, claim.id)
    assert (job.state, job.result, job.reason) == ("done", "made it", None)


@GIVES_BACK
def test_a_job_asked_to_cancel_that_would_run_again_is_cancelled(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = start(cq)
    cq.cancel(claim.id)
    assert cq.settle(claim, outcome)
    assert (seen(cq, claim.id).state, seen(cq, claim.id).finished_at) == ("cancelled", clock.now)
    clock.advance("1d")
    assert cq.claim() == []


@GIVES_BACK
def test_a_job_cancelled_while_it_ran_keeps_the_reason(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    claim = start(q)
    q.cancel(claim.id, "the user left")
    q.settle(claim, outcome)
    assert seen(q, claim.id).reason == "the user left"


def test_a_job_cancelled_when_it_was_taken_back_keeps_the_reason(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    cq.cancel(claim.id, "the user left")
    clock.advance("1m")
    cq.reclaim()
    assert (seen(cq, claim.id).state, seen(cq, claim.id).reason) == ("cancelled", "the user left")


@GIVES_BACK
def test_repeating_a_settle_that_cancelled_answers_as_the_first_did(
    q: tenure.Queue, outcome: tenure.Outcome
) -> None:
    claim = start(q)
    q.cancel(claim.id)
    assert q.settle(claim, outcome)
    assert q.settle(claim, outcome)


def test_a_job_asked_to_cancel_whose_last_attempt_fails_is_cancelled_not_dead(q: tenure.Queue) -> None:
    claim = start(q, max_attempts=1)
    q.cancel(claim.id)
    q.settle(claim, tenure.Fail("boom"))
    job = seen(q, claim.id)
    assert (job.state, job.error, [a.message for a in q.history(claim.id)]) == ("cancelled", "boom", ["boom"])


def test_a_cancelled_job_frees_its_unique_slot(q: tenure.Queue) -> None:
    first = q.enqueue("k", unique="u")
    assert not q.enqueue("k", unique="u").inserted
    q.cancel(first.id)
    assert q.enqueue("k", unique="u").inserted


def test_a_running_job_holds_its_unique_slot_until_it_is_really_cancelled(q: tenure.Queue) -> None:
    claim = start(q, unique="u")
    q.cancel(claim.id)
    assert not q.enqueue("k", unique="u").inserted
    q.settle(claim, tenure.Release())
    assert q.enqueue("k", unique="u").inserted


def test_a_cancelled_job_lets_the_next_of_its_group_go(q: tenure.Queue) -> None:
    first = q.enqueue("k", group="g")
    second = q.enqueue("k", group="g")
    assert seen(q, second.id).state == "waiting"
    q.cancel(first.id)
    assert [c.id for c in q.claim(limit=5)] == [second.id]


@GIVES_BACK
def test_a_job_cancelled_while_it_ran_lets_the_next_of_its_group_go(
    q: tenure.Queue, outcome: tenure.Outcome
) -> None:
    claim = start(q, group="g")
    second = q.enqueue("k", group="g")
    q.cancel(claim.id)
    q.settle(claim, outcome)
    assert [c.id for c in q.claim(limit=5)] == [second.id]


def test_a_waiting_job_that_is_cancelled_frees_nobody(q: tenure.Queue) -> None:
    first, second, third = (q.enqueue("k", group="g") for _ in range(3))
    q.cancel(second.id)
    assert [seen(q, j.id).state for j in (first, third)] == ["ready", "waiting"]


def test_a_replayed_job_is_not_asked_to_cancel_any_more(q: tenure.Queue) -> None:
    claim = start(q)
    q.cancel(claim.id)
    q.settle(claim, tenure.Release())
    q.replay(claim.id)
    [again] = q.claim()
    assert q.renew([again]) == tenure.Renewed(frozenset([claim.id]), frozenset(), frozenset())
