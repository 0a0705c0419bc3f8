"""Crashes: counted when somebody saw one or a worker vanished, taken back when that worker returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import tenure
from tests.support.claiming import at_once
from tests.support.claims import every_outcome, seen, start
from tests.support.clock import MovedClock
from tests.support.places import Place

NOTHING: frozenset[tenure.JobId] = frozenset()
Speak = Callable[[tenure.Queue, tenure.Claim], object]
WAYS: dict[str, Speak] = {
    "settle": lambda q, claim: q.settle(claim, tenure.Done()),
    "settle with a failure": lambda q, claim: q.settle(claim, tenure.Fail("late")),
    "settle of many": lambda q, claim: q.settle_many([(claim, tenure.Done())]),
    "renew": lambda q, claim: q.renew([claim]),
}
every_way = pytest.mark.parametrize("speak", WAYS.values(), ids=WAYS.keys())


def vanish(q: tenure.Queue, clock: MovedClock, worker: str = "w") -> tenure.Claim:
    """A worker claims the one ready job, starts it and is not heard of; the job is taken back, which is a crash."""
    [claim] = q.claim(worker=worker)
    clock.advance("1m")
    assert q.reclaim() == 1
    return claim


def suspect(q: tenure.Queue, clock: MovedClock) -> tenure.Claim:
    """A claim, for a buffer, on a job that waited in the buffer of a worker that vanished."""
    q.enqueue("k")
    q.claim(started=False)
    clock.advance("1m")
    q.reclaim()
    [claim] = q.claim(started=False)
    assert claim.job.suspect
    return claim


# Crashed: somebody saw the process go.


def test_a_job_settled_as_crashed_is_ready_at_once_with_its_attempt_given_back(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    claim = start(cq, worker="w")
    due = claim.job.run_at
    clock.advance("5s")
    assert cq.settle(claim, tenure.Crashed("killed by signal 11"))
    job = seen(cq, claim.id)
    assert (job.state, job.attempt, job.crashes, job.run_at, job.suspect) == ("ready", 0, 1, due, False)
    assert (job.worker, job.lease_until) == (None, None)
    [row] = cq.history(claim.id)
    assert (row.error_kind, row.message, row.worker, row.epoch, row.attempt) == (
        "Crash", "killed by signal 11", "w", claim.epoch, 1,
    )  # fmt: skip
    [again] = cq.claim()
    assert (again.id, again.apart) == (claim.id, True)


def test_a_crash_without_a_story_says_that_the_worker_lives(q: tenure.Queue) -> None:
    claim = start(q, worker="w7")
    q.settle(claim, tenure.Crashed())
    [row] = q.history(claim.id)
    assert "w7 lives" in row.message


def test_a_job_settled_as_crashed_for_the_third_time_is_dead(cq: tenure.Queue) -> None:
    job = cq.enqueue("k", max_attempts=1)
    for _ in range(3):
        [claim] = cq.claim()
        assert cq.settle(claim, tenure.Crashed("out of memory"))
    dead = seen(cq, job.id)
    assert (dead.state, dead.reason, dead.crashes, dead.attempt) == ("dead", "poison", 3, 0)
    assert dead.error is not None
    assert "out of memory" in dead.error


def test_crashes_that_were_seen_and_crashes_that_were_concluded_add_up(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job = cq.enqueue("k")
    vanish(cq, clock)
    for _ in range(2):
        [claim] = cq.claim()
        cq.settle(claim, tenure.Crashed())
    assert (seen(cq, job.id).state, seen(cq, job.id).reason) == ("dead", "poison")


@pytest.mark.parametrize(("most", "state"), [(1, "dead"), (2, "ready")])
def test_how_many_crashes_are_too_many_is_a_setting_of_the_queue(place: Place, most: int, state: str) -> None:
    q = place.open(max_crashes=most)
    claim = start(q)
    q.settle(claim, tenure.Crashed())
    assert seen(q, claim.id).state == state


def test_a_job_asked_to_cancel_and_settled_as_crashed_is_cancelled(q: tenure.Queue) -> None:
    claim = start(q)
    q.cancel(claim.id)
    assert q.settle(claim, tenure.Crashed("gone"))
    job = seen(q, claim.id)
    assert (job.state, job.crashes, [row.error_kind for row in q.history(claim.id)]) == (
        "cancelled",
        1,
        ["Crash"],
    )


@pytest.mark.parametrize("most", [1, 3])
def test_settling_as_crashed_again_answers_as_the_first_did_and_counts_once(place: Place, most: int) -> None:
    q = place.open(max_crashes=most)
    claim = start(q)
    assert q.settle(claim, tenure.Crashed("gone"))
    before = seen(q, claim.id)
    assert q.settle(claim, tenure.Crashed("gone"))
    assert not q.settle(claim, tenure.Done())
    assert seen(q, claim.id) == before
    q.claim()
    assert q.settle(claim, tenure.Crashed("gone"))
    assert seen(q, claim.id).crashes == 1


def test_a_crashed_job_keeps_its_place_in_its_group(q: tenure.Queue) -> None:
    first, second = (q.enqueue("k", group="g").id for _ in range(2))
    [claim] = q.claim()
    q.settle(claim, tenure.Crashed())
    assert (seen(q, first).state, seen(q, second).state) == ("ready", "waiting")


# Doubt: what is not known of a job that waited.


@pytest.mark.parametrize("outcome", [tenure.Fail("no", retry_in=0), tenure.Crashed()], ids=str)
def test_a_suspect_that_ran_is_suspect_no_more(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = suspect(cq, clock)
    assert cq.settle(claim, outcome)
    assert not seen(cq, claim.id).suspect


@pytest.mark.parametrize("outcome", [tenure.Release(), tenure.Snooze("1s")], ids=str)
def test_a_suspect_that_was_given_back_unstarted_is_suspect_still(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = suspect(cq, clock)
    assert cq.settle(claim, outcome)
    assert seen(cq, claim.id).suspect
    clock.advance("1s")
    [again] = cq.claim(started=False)
    assert again.apart


@pytest.mark.parametrize("outcome", [tenure.Release(), tenure.Snooze(0)], ids=str)
def test_a_suspect_that_is_known_to_have_started_is_suspect_no_more(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = suspect(cq, clock)
    cq.renew([claim], started=[claim])
    assert cq.settle(claim, outcome)
    assert not seen(cq, claim.id).suspect


def test_a_job_released_from_a_buffer_is_under_no_doubt(q: tenure.Queue) -> None:
    q.enqueue("k")
    [claim] = q.claim(started=False)
    q.settle(claim, tenure.Release())
    assert not seen(q, claim.id).suspect
    [again] = q.claim(started=False)
    assert not again.apart


@pytest.mark.parametrize(
    "outcome", [tenure.Done(), tenure.Done(1), tenure.Bury(), tenure.Cancelled()], ids=str
)
def test_a_finished_job_is_under_no_doubt_nor_is_its_replay(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = suspect(cq, clock)
    cq.settle(claim, outcome)
    assert not seen(cq, claim.id).suspect
    cq.replay(claim.id)
    assert not seen(cq, claim.id).suspect
    [again] = cq.claim(started=False)
    assert not again.apart


# Absolution: the worker was only away.


@every_way
def test_a_worker_that_comes_back_takes_its_crash_with_it(
    cq: tenure.Queue, clock: MovedClock, speak: Speak
) -> None:
    job = cq.enqueue("k")
    lost = vanish(cq, clock, "w1")
    before = seen(cq, job.id)
    assert before.crashes == 1
    speak(cq, lost)
    after = seen(cq, job.id)
    assert (after.crashes, after.state, after.attempt, after.epoch) == (0, "ready", 0, before.epoch)
    [row] = cq.history(job.id)
    assert (row.error_kind, row.worker, row.epoch) == ("LeaseLost", "w1", lost.epoch)
    assert "came back" in row.message


def test_who_comes_back_is_told_that_the_claim_is_lost(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k") for _ in range(3)])
    one, two, three = cq.claim(3)
    clock.advance("1m")
    cq.reclaim()
    assert cq.renew([one]) == tenure.Renewed(NOTHING, NOTHING, frozenset([one.id]))
    assert cq.settle(two, tenure.Done()) is False
    assert cq.settle_many([(three, tenure.Done())]) == [False]
    assert [seen(cq, c.id).crashes for c in (one, two, three)] == [0, 0, 0]


@every_way
def test_who_comes_back_changes_nothing_but_the_crash_of_a_job_that_runs_elsewhere(
    cq: tenure.Queue, clock: MovedClock, speak: Speak
) -> None:
    cq.enqueue("k", {"n": 1})
    lost = vanish(cq, clock)
    [held] = cq.claim(worker="second")
    before = seen(cq, held.id)
    speak(cq, lost)
    after = seen(cq, held.id)
    assert after.crashes == 0
    assert {n: v for n in before.__struct_fields__ if (v := getattr(before, n)) != getattr(after, n)} == {
        "crashes": 1
    }
    assert cq.settle(held, tenure.Done("mine"))
    assert seen(cq, held.id).result == "mine"


@every_outcome
def test_the_crash_of_a_job_that_ended_elsewhere_is_taken_back_too(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    cq.enqueue("k")
    lost = vanish(cq, clock)
    [held] = cq.claim(worker="second")
    cq.settle(held, outcome)
    before = seen(cq, held.id)
    cq.renew([lost])
    after = seen(cq, held.id)
    assert (after.state, after.outcome, after.crashes) == (before.state, before.outcome, before.crashes - 1)


@every_way
def test_a_crash_is_taken_back_once(cq: tenure.Queue, clock: MovedClock, speak: Speak) -> None:
    job = cq.enqueue("k")
    first = vanish(cq, clock, "w1")
    vanish(cq, clock, "w2")
    for _ in range(3):
        speak(cq, first)
    assert seen(cq, job.id).crashes == 1
    assert [row.error_kind for row in cq.history(job.id)] == ["LeaseLost", "Crash"]


def test_a_crash_that_many_take_back_at_once_is_taken_back_once(place: Place, clock: MovedClock) -> None:
    q = place.open(clock=clock)
    job = q.enqueue("k")
    first = vanish(q, clock, "w1")
    vanish(q, clock, "w2")
    queues = [place.open(clock=clock) for _ in range(4)]
    assert at_once([partial(q.settle, first, tenure.Done()) for q in queues]) == [False] * 4
    assert seen(q, job.id).crashes == 1


def test_all_that_a_worker_lost_comes_back_with_it(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k") for _ in range(30)])
    claims = cq.claim(30)
    clock.advance("1m")
    cq.reclaim()
    assert len(cq.renew(claims).lost) == 30
    assert {seen(cq, c.id).crashes for c in claims} == {0}


def test_several_crashes_of_one_job_are_taken_back_together(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k")
    lost = [vanish(cq, clock, "w1"), vanish(cq, clock, "w2")]
    assert cq.settle_many([(c, tenure.Done()) for c in lost]) == [False, False]
    assert seen(cq, job.id).crashes == 0


def test_a_job_that_died_of_a_crash_that_was_none_is_ready_again(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k", {"n": 1}, max_attempts=5, expires_in="1d")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Fail("no", retry_in=0))
    lost = [vanish(cq, clock, f"w{n}") for n in range(3)]
    dead = seen(cq, job.id)
    assert (dead.state, dead.reason) == ("dead", "poison")
    assert not cq.settle(lost[1], tenure.Done())
    back = seen(cq, job.id)
    assert (back.state, back.crashes, back.attempt, back.reason, back.finished_at) == (
        "ready",
        2,
        1,
        None,
        None,
    )
    assert (back.expires_at, back.payload) == (dead.expires_at, {"n": 1})
    [again] = cq.claim()
    assert (again.id, again.job.attempt, again.apart) == (job.id, 2, True)
    assert cq.settle(again, tenure.Done())


def test_a_job_of_a_group_that_died_unjustly_takes_its_turn(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k", group="g")
    lost = [vanish(cq, clock) for _ in range(3)]
    cq.renew(lost[:1])
    assert [c.id for c in cq.claim()] == [job.id]


def test_a_dead_job_whose_unique_slot_is_taken_stays_dead(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k", unique="u")
    lost = [vanish(cq, clock) for _ in range(3)]
    other = cq.enqueue("k", unique="u")
    assert other.inserted
    assert not cq.settle(lost[2], tenure.Done())
    dead = seen(cq, job.id)
    assert (dead.state, dead.reason, dead.crashes) == ("dead", "poison", 2)
    assert seen(cq, other.id).state == "ready"


def test_a_job_that_died_of_enough_other_crashes_stays_dead(
    place: Place, cq: tenure.Queue, clock: MovedClock
) -> None:
    patient = place.open(clock=clock, max_crashes=4)
    job = patient.enqueue("k")
    lost = [vanish(patient, clock) for _ in range(4)]
    assert not cq.settle(lost[0], tenure.Done())
    dead = seen(cq, job.id)
    assert (dead.state, dead.reason, dead.crashes) == ("dead", "poison", 3)


def test_a_job_that_died_of_something_else_stays_dead(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k")
    lost = vanish(cq, clock)
    [held] = cq.claim()
    cq.settle(held, tenure.Bury("hopeless"))
    cq.renew([lost])
    dead = seen(cq, held.id)
    assert (dead.state, dead.reason, dead.crashes) == ("dead", "hopeless", 0)


@every_way
def test_a_crash_that_somebody_saw_is_never_taken_back(
    cq: tenure.Queue, clock: MovedClock, speak: Speak
) -> None:
    claim = start(cq, worker="w")
    cq.settle(claim, tenure.Crashed("killed"))
    speak(cq, claim)
    [row] = cq.history(claim.id)
    assert (seen(cq, claim.id).crashes, row.error_kind, row.message) == (1, "Crash", "killed")


@every_way
def test_a_crash_that_a_parent_told_of_is_never_taken_back(
    cq: tenure.Queue, clock: MovedClock, speak: Speak
) -> None:
    claim = start(cq, worker="w")
    assert cq.vanished("w", started=[(claim.id, claim.epoch)]) == 1
    speak(cq, claim)
    assert (seen(cq, claim.id).crashes, [r.error_kind for r in cq.history(claim.id)]) == (1, ["Crash"])


def test_who_comes_back_to_say_that_the_process_is_gone_takes_nothing_back(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job = cq.enqueue("k")
    lost = vanish(cq, clock)
    assert not cq.settle(lost, tenure.Crashed("killed"))
    assert (seen(cq, job.id).crashes, [r.error_kind for r in cq.history(job.id)]) == (1, ["Crash"])


def test_a_crash_of_a_life_that_is_over_is_not_taken_from_the_next(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job = cq.enqueue("k")
    old = [vanish(cq, clock) for _ in range(3)]
    assert cq.replay(job.id) == "replayed"
    vanish(cq, clock)
    assert cq.settle_many([(c, tenure.Done()) for c in old]) == [False] * 3
    assert seen(cq, job.id).crashes == 1


def test_a_claim_lost_without_a_crash_absolves_nobody(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq, worker="w")
    clock.advance("1m")
    cq.beat("w")
    cq.reclaim()
    vanish(cq, clock, "other")
    assert not cq.settle(claim, tenure.Done())
    assert seen(cq, claim.id).crashes == 1
