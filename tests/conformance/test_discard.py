"""discard, restore: people give up dead jobs, and may change their minds."""

from __future__ import annotations

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.states import STATES, job_in, take

DEAD = tenure.Filter(states=["dead"])


def state(q: tenure.Queue, job_id: str) -> str:
    job = q.get(job_id)
    return "gone" if job is None else job.state.value


def test_a_dead_job_that_is_discarded_ends_as_cancelled_now(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = job_in(cq, "dead")
    clock.advance("90d")
    assert cq.discard(DEAD) == (1, 0, None)
    job = cq.get(job_id)
    assert job is not None
    assert (job.state, job.reason, job.finished_at) == ("cancelled", "discarded: buried", clock.now)
    assert job.error is not None


def test_what_was_discarded_goes_when_cancelled_jobs_go_and_not_before(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job_id = job_in(cq, "dead")
    clock.advance("90d")
    cq.discard(DEAD)
    assert cq.retain(cancelled="7d") == 0
    clock.advance("8d")
    assert cq.retain(cancelled="7d") == 1
    assert state(cq, job_id) == "gone"


@pytest.mark.parametrize("outcome", [tenure.Fail("no"), tenure.Bury("poison")], ids=["fail", "bury"])
def test_a_discarded_job_is_dead_again_as_it_was(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    job_id = q.enqueue("k", max_attempts=1).id
    [claim] = q.claim(kinds=["k"])
    q.settle(claim, outcome)
    before = q.get(job_id)
    q.discard(DEAD)
    assert q.restore(tenure.Filter(ids=[job_id])) == (1, 0, None)
    after = q.get(job_id)
    assert before is not None
    assert after is not None
    assert (after.state, after.reason, after.error) == ("dead", before.reason, before.error)
    assert q.history(job_id)
    assert q.pulse().dead == {"default": 1}
    assert q.replay(job_id) == "replayed"


@pytest.mark.parametrize("other", [s for s in STATES if s != "dead"])
def test_no_other_job_is_discarded(q: tenure.Queue, other: str) -> None:
    job_id = job_in(q, other)
    assert q.discard(tenure.Filter(ids=[job_id])).changed == 0
    assert state(q, job_id) == other


def test_a_discarded_job_is_as_it_was_although_it_was_replayed_meanwhile(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job_id = job_in(cq, "dead")
    before = cq.get(job_id)
    clock.advance("1h")
    cq.discard(DEAD)
    one = tenure.Filter(ids=[job_id])
    assert cq.replay(job_id) == "replayed"
    assert cq.unreplay(one) == (1, 0, None)
    assert state(cq, job_id) == "cancelled"
    assert cq.restore(one) == (1, 0, None)
    assert cq.get(job_id) == before
    assert cq.restore(one) == (0, 0, None)


def test_a_job_that_was_discarded_and_ran_again_is_not_restored(q: tenure.Queue) -> None:
    job_id = job_in(q, "dead")
    q.discard(DEAD)
    q.replay(job_id)
    assert q.settle(take(q, job_id), tenure.Cancelled())
    assert q.restore(tenure.Filter(ids=[job_id])) == (0, 0, None)
    assert state(q, job_id) == "cancelled"


@pytest.mark.parametrize("reason", ["discarded by hand", "discarded", "discarded: by hand"])
def test_what_was_cancelled_otherwise_is_not_restored(q: tenure.Queue, reason: str) -> None:
    job_id = q.enqueue("k").id
    q.cancel(job_id, reason)
    assert q.restore(tenure.Filter(ids=[job_id])) == (0, 0, None)
    assert state(q, job_id) == "cancelled"


def test_both_are_bounded_and_go_on_where_they_stopped(q: tenure.Queue) -> None:
    made = [job_in(q, "dead") for _ in range(5)]
    changed, after = list[str](), None
    for _ in range(3):
        done = q.discard(DEAD, limit=2, after=after)
        assert done.changed == len(done.ids)
        changed, after = [*changed, *sorted(done.ids)], done.after
    assert (changed, after) == (made, None)
    assert q.discard(DEAD).ids == ()
    first = q.restore(tenure.Filter(), limit=2)
    assert (first.changed, first.after) == (2, made[1])
    assert q.restore(tenure.Filter(), after=first.after) == (3, 0, None)
    assert {state(q, one) for one in made} == {"dead"}


def test_a_discarded_job_can_be_started_anew(q: tenure.Queue) -> None:
    job_id = job_in(q, "dead")
    q.discard(DEAD)
    assert q.replay(job_id) == "replayed"
    assert state(q, job_id) == "ready"
