"""renew: how a worker keeps what it holds, and learns what it lost."""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tests.support.claims import every_outcome, seen, start
from tests.support.clock import MovedClock
from tests.support.places import Place

NOTHING: frozenset[tenure.JobId] = frozenset()


def test_a_lease_is_half_a_minute_unless_told(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    assert (claim.job.lease_until, seen(cq, claim.id).lease_until) == (clock.at("30s"), clock.at("30s"))


def test_renew_pushes_the_lease_from_now(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    clock.advance("10s")
    assert cq.renew([claim]) == tenure.Renewed(frozenset([claim.id]), NOTHING, NOTHING)
    assert seen(cq, claim.id).lease_until == clock.at("30s")


def test_renew_takes_the_lease_it_is_given(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    cq.renew([claim], lease="5m")
    assert seen(cq, claim.id).lease_until == clock.at("5m")


def test_a_renewed_job_is_not_taken_back(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    for _ in range(10):
        clock.advance("20s")
        assert cq.renew([claim]).kept == {claim.id}
        assert cq.claim() == []
    assert cq.settle(claim, tenure.Done())


def test_renew_changes_nothing_but_the_lease(q: tenure.Queue) -> None:
    claim = start(q)
    before = seen(q, claim.id)
    q.renew([claim], lease="1h")
    after = seen(q, claim.id)
    assert (after.epoch, after.attempt, after.state, after.worker, after.started_at) == (
        before.epoch, before.attempt, before.state, before.worker, before.started_at,
    )  # fmt: skip


@every_outcome
def test_a_settled_claim_is_told_as_lost(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    claim = start(q)
    q.settle(claim, outcome)
    before = seen(q, claim.id)
    assert q.renew([claim]) == tenure.Renewed(NOTHING, NOTHING, frozenset([claim.id]))
    assert seen(q, claim.id) == before


def test_lost_claims_are_told_apart_from_held_ones(cq: tenure.Queue, clock: MovedClock) -> None:
    lost = start(cq)
    clock.advance("1m")
    cq.reclaim()
    cq.claim()
    held = start(cq)
    answer = cq.renew([lost, held], lease="1h")
    assert answer == tenure.Renewed(frozenset([held.id]), NOTHING, frozenset([lost.id]))
    assert (seen(cq, held.id).lease_until, seen(cq, lost.id).lease_until) == (clock.at("1h"), clock.at("30s"))


@pytest.mark.parametrize("newest_first", [False, True])
def test_of_two_claims_of_a_job_each_is_answered_for_itself(
    cq: tenure.Queue, clock: MovedClock, newest_first: bool
) -> None:
    lost = start(cq, worker="w1")
    clock.advance("1m")
    cq.reclaim()
    assert seen(cq, lost.id).crashes == 1
    [held] = cq.claim(worker="w2")
    both = [held, lost] if newest_first else [lost, held]
    job = frozenset([lost.id])
    assert cq.renew(both, lease="1h") == tenure.Renewed(job, NOTHING, job)
    assert (seen(cq, held.id).lease_until, seen(cq, held.id).crashes) == (clock.at("1h"), 0)
    assert cq.renew([held, held]) == tenure.Renewed(job, NOTHING, NOTHING)
    assert cq.settle(held, tenure.Done())
    assert cq.renew(both) == tenure.Renewed(NOTHING, NOTHING, job)


def test_a_job_asked_to_cancel_is_renewed_and_told(cq: tenure.Queue, clock: MovedClock) -> None:
    asked = start(cq)
    other = start(cq)
    cq.cancel(asked.id)
    clock.advance("10s")
    answer = cq.renew([asked, other])
    assert answer == tenure.Renewed(frozenset([asked.id, other.id]), frozenset([asked.id]), NOTHING)
    assert seen(cq, asked.id).lease_until == clock.at("30s")


def test_renewing_nothing_answers_nothing(q: tenure.Queue) -> None:
    assert q.renew([]) == tenure.Renewed(NOTHING, NOTHING, NOTHING)


def test_an_expired_lease_that_nobody_took_back_is_renewed(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    clock.advance("1h")
    assert cq.renew([claim]).kept == {claim.id}
    assert cq.reclaim() == 0
    assert seen(cq, claim.id).lease_until == clock.at("30s")


def test_one_renew_serves_six_hundred_claims(cq: tenure.Queue, place: Place, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k") for _ in range(600)])
    claims = cq.claim(limit=600)
    clock.advance("10s")
    assert cq.renew(claims) == tenure.Renewed(frozenset(c.id for c in claims), NOTHING, NOTHING)
    leases = place.sql(
        "SELECT count(*), count(DISTINCT lease_until) FROM tenure.jobs WHERE state = 'running'"
    )
    assert leases == [(600, 1)]
    clock.advance("25s")
    assert cq.reclaim() == 0


@pytest.mark.parametrize("named", ["id", "claim"])
def test_what_renew_is_told_has_started_crashes_with_its_worker(
    cq: tenure.Queue, clock: MovedClock, named: str
) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(2)])
    begun, waits = cq.claim(2, started=False)
    assert cq.renew([begun, waits], started=[begun.id if named == "id" else begun]).kept == {
        begun.id,
        waits.id,
    }
    clock.advance("1m")
    assert cq.reclaim() == 2
    jobs = seen(cq, begun.id), seen(cq, waits.id)
    assert [(job.crashes, job.suspect) for job in jobs] == [(1, False), (0, True)]


def test_what_has_started_stays_so_at_the_next_renew(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k")
    [claim] = cq.claim(started=False)
    cq.renew([claim], started=[claim])
    cq.renew([claim])
    clock.advance("1m")
    cq.reclaim()
    assert seen(cq, claim.id).crashes == 1


@pytest.mark.parametrize("claimed", [True, False])
def test_that_a_lost_claim_has_started_changes_nothing(
    cq: tenure.Queue, clock: MovedClock, claimed: bool
) -> None:
    cq.enqueue("k")
    [lost] = cq.claim(started=False)
    clock.advance("1m")
    cq.reclaim()
    if claimed:
        cq.claim(started=False)
    before = seen(cq, lost.id)
    assert cq.renew([lost], started=[lost]).lost == {lost.id}
    assert seen(cq, lost.id) == before
    assert before.suspect


@pytest.mark.parametrize(
    ("started", "error"),
    [
        (["0190a8c0-0000-7000-8000-000000000000"], tenure.FieldError),
        (["not an id"], tenure.FieldError),
        ([7], tenure.FieldTypeError),
        ("0190a8c0-0000-7000-8000-000000000000", tenure.FieldTypeError),
        (None, tenure.FieldTypeError),
    ],
    ids=["not among the claims", "no id", "a number", "text", "none"],
)
def test_what_cannot_have_started_is_refused(
    cq: tenure.Queue, clock: MovedClock, started: Any, error: type[tenure.FieldError]
) -> None:
    claim = start(cq)
    before = seen(cq, claim.id)
    clock.advance("5s")
    with pytest.raises(error) as caught:
        cq.renew([claim], started=started)
    assert caught.value.field == "started"
    assert seen(cq, claim.id) == before


def test_any_process_may_renew_a_claim(cq: tenure.Queue, place: Place, clock: MovedClock) -> None:
    claim = start(cq)
    assert place.open(clock=clock).renew([claim], lease="1h").kept == {claim.id}
    assert seen(cq, claim.id).lease_until == clock.at("1h")


@pytest.mark.parametrize("lease", [0, "-1s", "soon"])
def test_a_lease_that_cannot_be_is_refused(q: tenure.Queue, lease: str | int) -> None:
    claim = start(q)
    before = seen(q, claim.id)
    with pytest.raises(tenure.FieldError) as caught:
        q.renew([claim], lease=lease)
    assert caught.value.field == "lease"
    assert seen(q, claim.id) == before
