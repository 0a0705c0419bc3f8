"""The fence: (id, epoch) decides who may change a job, and who lost it is told so."""

from __future__ import annotations

import pytest

import tenure
from tests.support.claims import OUTCOMES, every_outcome, overtake, seen, start
from tests.support.clock import MovedClock
from tests.support.places import Place


@every_outcome
def test_a_worker_that_lost_its_claim_settles_nothing(
    place: Place, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    q, old, new = overtake(place, clock)
    before = seen(q, new.id), q.history(new.id)
    assert before[0].worker == "second"
    assert not q.settle(old, outcome)
    assert (seen(q, new.id), q.history(new.id)) == before
    assert q.settle(new, tenure.Done("mine"))
    assert (seen(q, new.id).state, seen(q, new.id).result) == ("done", "mine")


@pytest.mark.parametrize("lost_first", [True, False], ids=["lost first", "lost last"])
def test_settled_together_the_claim_that_stands_keeps_its_own_result(
    place: Place, clock: MovedClock, lost_first: bool
) -> None:
    q, old, new = overtake(place, clock)
    both: list[tuple[tenure.Claim, tenure.Outcome]] = [(old, tenure.Done("lost")), (new, tenure.Done("mine"))]
    stands = q.settle_many(both if lost_first else both[::-1])
    assert stands == ([False, True] if lost_first else [True, False])
    assert seen(q, new.id).result == "mine"


@every_outcome
def test_a_claim_that_was_taken_back_settles_nothing(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    old = start(cq, worker="w")
    clock.advance("1m")
    cq.beat("w")
    assert cq.reclaim() == 1
    before = seen(cq, old.id)
    assert not cq.settle(old, outcome)
    assert (before.state, seen(cq, old.id)) == ("ready", before)


def test_a_worker_that_lost_its_claim_renews_nothing(place: Place, clock: MovedClock) -> None:
    q, old, new = overtake(place, clock)
    before = seen(q, new.id)
    clock.advance("5s")
    assert q.renew([old]) == tenure.Renewed(frozenset(), frozenset(), frozenset([old.id]))
    assert seen(q, new.id) == before


def test_a_worker_that_lost_its_claim_reports_no_progress(place: Place, clock: MovedClock) -> None:
    q, old, new = overtake(place, clock)
    assert not q.progress(old, 0.5, "mine")
    job = seen(q, new.id)
    assert (job.progress, job.progress_note) == (None, None)


@every_outcome
def test_an_expired_lease_that_nobody_took_back_may_still_be_settled(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = start(cq)
    clock.advance("1h")
    assert cq.settle(claim, outcome)
    assert seen(cq, claim.id).state != "running"


@every_outcome
def test_repeating_ones_own_settle_answers_as_the_first_did(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = start(cq)
    assert cq.settle(claim, outcome)
    after = seen(cq, claim.id), cq.history(claim.id)
    clock.advance("5s")
    assert cq.settle(claim, outcome)
    assert (seen(cq, claim.id), cq.history(claim.id)) == after


@every_outcome
def test_repeating_ones_own_settle_of_many_answers_as_the_first_did(
    q: tenure.Queue, outcome: tenure.Outcome
) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", group=group) for group in (None, "g")])
    settles = [(claim, outcome) for claim in q.claim(limit=2)]
    assert q.settle_many(settles) == [True, True]
    assert q.settle_many(settles) == [True, True]


@pytest.mark.parametrize("name", ["fail", "snooze", "release"])
def test_repeating_a_settle_while_the_job_runs_again_changes_nothing(q: tenure.Queue, name: str) -> None:
    first = start(q, worker="first")
    q.settle(first, OUTCOMES[name])
    [second] = q.claim(worker="second")
    before = seen(q, second.id)
    assert q.settle(first, OUTCOMES[name])
    assert (before.worker, seen(q, second.id)) == ("second", before)


@pytest.mark.parametrize("kind", ["Error", "Crash", "Bury"])
def test_repeating_a_failure_after_the_job_ended_elsewhere_answers_as_the_first_did(
    q: tenure.Queue, kind: str
) -> None:
    failure = tenure.Fail("boom", retry_in=0, kind=kind)
    first = start(q)
    q.settle(first, failure)
    [second] = q.claim()
    q.settle(second, tenure.Done())
    before = seen(q, first.id), q.history(first.id)
    assert q.settle(first, failure)
    assert (seen(q, first.id), q.history(first.id)) == before


@pytest.mark.parametrize("first", OUTCOMES)
def test_a_settled_claim_takes_no_other_outcome(q: tenure.Queue, first: str) -> None:
    claim = start(q)
    assert q.settle(claim, OUTCOMES[first])
    after = seen(q, claim.id), q.history(claim.id)
    others = {n: o for n, o in OUTCOMES.items() if type(o) is not type(OUTCOMES[first])}
    answers = {name: q.settle(claim, outcome) for name, outcome in others.items()}
    assert answers == dict.fromkeys(answers, False)
    assert (seen(q, claim.id), q.history(claim.id)) == after


@every_outcome
def test_a_claim_on_a_purged_job_settles_nothing(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    claim = start(q)
    q.settle(claim, tenure.Done())
    assert q.purge(tenure.Filter(states=["done"])) == 1
    assert not q.settle(claim, outcome)
    assert q.get(claim.id) is None
    assert q.history(claim.id) == []


@every_outcome
def test_a_claim_on_a_purged_job_settles_no_later_job(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    old = start(q)
    q.settle(old, tenure.Done())
    q.purge(tenure.Filter(states=["done"]))
    new = start(q)
    before = seen(q, new.id)
    assert not q.settle(old, outcome)
    assert seen(q, new.id) == before


def test_a_claim_on_a_purged_job_renews_no_later_job(cq: tenure.Queue, clock: MovedClock) -> None:
    old = start(cq)
    cq.settle(old, tenure.Done())
    cq.purge(tenure.Filter(states=["done"]))
    new = start(cq)
    before = seen(cq, new.id)
    clock.advance("5s")
    assert cq.renew([old]) == tenure.Renewed(frozenset(), frozenset(), frozenset([old.id]))
    assert seen(cq, new.id) == before


def test_a_released_claim_is_lost_to_renew_and_progress(q: tenure.Queue) -> None:
    claim = start(q)
    q.settle(claim, tenure.Release())
    before = seen(q, claim.id)
    assert q.renew([claim]).lost == {claim.id}
    assert not q.progress(claim, 1)
    assert seen(q, claim.id) == before


@pytest.mark.parametrize("name", [n for n in OUTCOMES if n != "bury"])
def test_a_claim_from_before_a_replay_settles_nothing_in_the_new_life(q: tenure.Queue, name: str) -> None:
    old = start(q)
    q.settle(old, tenure.Bury())
    assert q.replay(old.id) == "replayed"
    ready = seen(q, old.id)
    assert not q.settle(old, OUTCOMES[name])
    assert (ready.state, seen(q, old.id)) == ("ready", ready)
    [new] = q.claim()
    running = seen(q, old.id)
    assert not q.settle(old, OUTCOMES[name])
    assert (new.id, running.state, seen(q, old.id)) == (old.id, "running", running)


def test_repeating_ones_own_settle_after_a_replay_leaves_the_new_life_alone(q: tenure.Queue) -> None:
    old = start(q)
    q.settle(old, tenure.Bury())
    q.replay(old.id)
    q.claim()
    before = seen(q, old.id)
    q.settle(old, tenure.Bury())
    assert (before.state, seen(q, old.id)) == ("running", before)


@pytest.mark.parametrize("name", ["done", "cancelled"])
def test_repeating_ones_own_settle_after_the_next_life_has_ended_answers_as_the_first_did(
    q: tenure.Queue, name: str
) -> None:
    old = start(q)
    q.settle(old, OUTCOMES[name])
    q.replay(old.id)
    [new] = q.claim()
    q.settle(new, tenure.Bury())
    before = seen(q, old.id)
    assert q.settle(old, OUTCOMES[name])
    assert not q.settle(old, tenure.Fail("another end"))
    assert seen(q, old.id) == before


@every_outcome
def test_stale_claims_among_fresh_ones_are_told_apart(
    place: Place, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    q, stale, taken = overtake(place, clock)
    fresh = start(q)
    before = seen(q, taken.id)
    assert q.settle_many([(stale, outcome), (fresh, outcome)]) == [False, True]
    assert seen(q, taken.id) == before
    assert seen(q, fresh.id).state != "running"


@every_outcome
def test_a_stale_and_a_fresh_claim_on_one_job_are_told_apart(
    place: Place, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    q, stale, fresh = overtake(place, clock)
    assert q.settle_many([(stale, outcome), (fresh, outcome)]) == [False, True]
    assert seen(q, fresh.id).state != "running"


@pytest.mark.parametrize(
    ("one", "other"), [("done", "bury"), ("fail", "bury"), ("bury", "fail"), ("snooze", "release")]
)
def test_one_claim_settled_two_ways_in_one_call_ends_one_way(q: tenure.Queue, one: str, other: str) -> None:
    claim = start(q)
    answers = q.settle_many([(claim, OUTCOMES[one]), (claim, OUTCOMES[other])])
    assert sorted(answers) == [False, True]
    assert seen(q, claim.id).outcome == (one if answers[0] else other)


def test_the_same_settle_twice_in_one_call_counts_once(q: tenure.Queue) -> None:
    claim = start(q)
    failure = tenure.Fail("boom", retry_in=0)
    assert q.settle_many([(claim, failure), (claim, failure)]) == [True, True]
    assert (seen(q, claim.id).attempt, len(q.history(claim.id))) == (1, 1)


def test_the_epoch_grows_at_every_claim(q: tenure.Queue) -> None:
    claim = start(q)
    epochs = [0, claim.epoch]
    for outcome in (OUTCOMES["fail"], OUTCOMES["snooze"]):
        q.settle(claim, outcome)
        [claim] = q.claim()
        epochs.append(claim.epoch)
    assert epochs == sorted(set(epochs))
    assert seen(q, claim.id).epoch == claim.epoch


def test_the_epoch_grows_when_a_claim_is_taken_back(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    clock.advance("1m")
    cq.reclaim()
    assert seen(cq, claim.id).epoch > claim.epoch


def test_the_epoch_grows_when_a_claim_is_released(q: tenure.Queue) -> None:
    claim = start(q)
    q.settle(claim, tenure.Release())
    assert seen(q, claim.id).epoch > claim.epoch


def test_a_replay_never_lowers_the_epoch(q: tenure.Queue) -> None:
    claim = start(q)
    q.settle(claim, tenure.Bury())
    q.replay(claim.id)
    assert seen(q, claim.id).epoch >= claim.epoch
    [again] = q.claim()
    assert again.epoch > claim.epoch
