"""replay for later, and unreplay: people start finished jobs anew at a time, and may change their minds until a worker comes."""

from __future__ import annotations

from datetime import timedelta

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place
from tests.support.states import drain, job_in, look, take

FINISHED = ["done", "dead", "cancelled"]
EVERY = tenure.Filter()


@pytest.mark.parametrize("state", FINISHED)
@pytest.mark.parametrize("way", ["run_at", "delay"])
def test_a_job_replayed_for_a_time_is_scheduled_for_it_under_the_same_id(
    cq: tenure.Queue, clock: MovedClock, state: str, way: str
) -> None:
    job_id = job_in(cq, state)
    due = clock.now + timedelta(hours=1)
    told = cq.replay(job_id, run_at=due) if way == "run_at" else cq.replay(job_id, delay="1h")
    assert told == "replayed"
    assert (look(cq, job_id).state, look(cq, job_id).run_at) == ("scheduled", due)
    assert (look(cq, job_id).attempt, look(cq, job_id).finished_at) == (0, None)
    clock.advance("59m")
    assert cq.claim() == []
    clock.advance("1m")
    assert [claim.id for claim in cq.claim()] == [job_id]


def test_a_time_that_is_over_means_now(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = job_in(cq, "dead")
    assert cq.replay(job_id, run_at=clock.now - timedelta(hours=1)) == "replayed"
    assert (look(cq, job_id).state, look(cq, job_id).run_at) == ("ready", clock.now)


def test_many_are_replayed_for_a_time_and_their_ids_are_told(cq: tenure.Queue, clock: MovedClock) -> None:
    made = [job_in(cq, "dead", f"k{n}") for n in range(3)]
    told = cq.replay_many(tenure.Filter(states=["dead"]), limit=2, delay="10m")
    assert (told.changed, told.conflicts, sorted(told.ids)) == (2, 0, made[:2])
    assert [look(cq, job_id).state for job_id in made] == ["scheduled", "scheduled", "dead"]
    clock.advance("10m")
    assert sorted(drain(cq)) == made[:2]


def test_a_time_and_a_delay_together_are_refused(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = job_in(cq, "dead")
    with pytest.raises(tenure.FieldError, match="delay"):
        cq.replay(job_id, run_at=clock.now, delay="1h")
    assert look(cq, job_id).state == "dead"


def test_a_job_of_a_group_replayed_for_later_holds_up_none_of_the_others(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    first = job_in(cq, "dead", group="g")
    second = cq.enqueue("k", group="g").id
    assert cq.replay(first, delay="1h") == "replayed"
    assert drain(cq) == [second]
    clock.advance("1h")
    assert drain(cq) == [first]


@pytest.mark.parametrize("state", FINISHED)
@pytest.mark.parametrize("delay", [None, "1h"], ids=["now", "later"])
def test_a_replay_that_nobody_has_claimed_is_undone_and_the_job_is_as_it_was(
    cq: tenure.Queue, clock: MovedClock, state: str, delay: str | None
) -> None:
    job_id = job_in(cq, state, unique="u", tags=["red"])
    before, history = look(cq, job_id), cq.history(job_id)
    clock.advance("1h")
    assert cq.replay(job_id, delay=delay) == "replayed"
    assert cq.unreplay(tenure.Filter(ids=[job_id])) == tenure.Bulk(1, 0, None)
    assert look(cq, job_id) == before
    assert cq.history(job_id) == history
    assert cq.claim() == []
    assert cq.enqueue("k", unique="u").inserted


def test_all_that_a_job_had_told_comes_back(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k", expires_in="1h", max_attempts=2).id
    take(cq, job_id)
    clock.advance("31s")
    claim = take(cq, job_id)
    cq.progress(claim, 0.5, 'half "way" ☃')
    cq.settle(claim, tenure.Bury("no 'use'", error="line\nline\t\\"))
    done = cq.enqueue("k", max_attempts=9).id
    cq.settle(take(cq, done), tenure.Done({"sum": [1, 2.5, 'ü"\\']}))
    before = [look(cq, one) for one in (job_id, done)]
    assert cq.replay_many(EVERY).changed == 2
    assert cq.unreplay(EVERY) == tenure.Bulk(2, 0, None)
    assert [look(cq, one) for one in (job_id, done)] == before


@pytest.mark.parametrize("end", ["running", "released", "done"])
def test_a_job_that_was_claimed_since_stays_where_it_is_and_is_told(q: tenure.Queue, end: str) -> None:
    job_id, other = job_in(q, "dead"), job_in(q, "dead", "other")
    q.replay(job_id)
    q.replay(other)
    claim = take(q, job_id)
    if end != "running":
        q.settle(claim, tenure.Release() if end == "released" else tenure.Done())
    before = look(q, job_id)
    told = q.unreplay(tenure.Filter(ids=[job_id, other]))
    assert (told.changed, told.conflicts) == (1, 0 if end == "done" else 1)
    assert (look(q, job_id), look(q, other).state) == (before, "dead")


def test_what_was_never_replayed_or_has_ended_again_is_left_alone(q: tenure.Queue) -> None:
    fresh = q.enqueue("k").id
    job_id = job_in(q, "done", "other")
    q.replay(job_id)
    q.cancel(job_id)
    before = [look(q, one) for one in (fresh, job_id)]
    assert q.unreplay(EVERY) == tenure.Bulk(0, 1, None)
    assert [look(q, one) for one in (fresh, job_id)] == before


def test_it_is_undone_as_far_as_the_limit_and_then_the_rest(q: tenure.Queue) -> None:
    made = [job_in(q, "dead", f"k{n}") for n in range(5)]
    q.replay_many(EVERY)
    first = q.unreplay(EVERY, limit=2)
    assert first == tenure.Bulk(2, 0, made[1])
    assert q.unreplay(EVERY, after=first.after) == tenure.Bulk(3, 0, None)
    assert {look(q, job_id).state for job_id in made} == {"dead"}
    assert q.replay_many(EVERY).changed == 5


def test_the_slot_of_a_group_goes_to_the_next_when_a_replay_is_undone(q: tenure.Queue) -> None:
    first = job_in(q, "dead", group="g")
    q.replay(first)
    second = q.enqueue("k", group="g").id
    assert look(q, second).state == "waiting"
    assert q.unreplay(tenure.Filter(ids=[first])).changed == 1
    assert (look(q, first).state, look(q, second).state) == ("dead", "ready")


def test_a_second_replay_can_be_undone_and_then_the_first_life_is_over(q: tenure.Queue) -> None:
    job_id = q.enqueue("k", max_attempts=1).id
    for words in ("first", "second"):
        q.settle(take(q, job_id), tenure.Fail(words))
        before = look(q, job_id)
        q.replay(job_id)
        assert q.unreplay(tenure.Filter(ids=[job_id])).changed == 1
        assert look(q, job_id) == before
        q.replay(job_id)
    assert (look(q, job_id).state, len(q.history(job_id))) == ("ready", 2)


def test_nothing_of_it_is_kept_once_the_job_has_ended_again(q: tenure.Queue, place: Place) -> None:
    for end in (tenure.Done(), tenure.Done({"n": 1}), tenure.Bury("no")):
        job_id = job_in(q, "dead")
        q.replay(job_id)
        q.settle(take(q, job_id), end)
    assert place.sql("SELECT id FROM tenure.jobs WHERE was IS NOT NULL") == []


def test_a_death_whose_replay_is_undone_is_told_of_once(q: tenure.Queue) -> None:
    q.hook("k", "apologise")
    job_id = q.enqueue("k", max_attempts=1).id
    q.settle(take(q, job_id), tenure.Fail("no"))
    q.replay(job_id)
    q.unreplay(tenure.Filter(ids=[job_id]))
    assert q.count(tenure.Filter(kinds=["apologise"])).total == 1
