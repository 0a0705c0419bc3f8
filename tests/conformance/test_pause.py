"""pause and resume: a queue that hands out nothing, while what runs goes on."""

from __future__ import annotations

import pytest

import tenure
from tests.support.claiming import claim_all, ids, job_of, payloads
from tests.support.clock import MovedClock
from tests.support.places import Place


def test_a_paused_queue_hands_out_nothing_and_the_others_do(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", queue=name, payload=name) for name in ("a", "b", "c")])
    q.pause("b")
    assert payloads(claim_all(q)) == ["a", "c"]


def test_a_paused_queue_asked_for_by_name_hands_out_nothing(q: tenure.Queue) -> None:
    q.enqueue("k", queue="mail")
    q.pause("mail")
    assert q.claim(10, queues=["mail"]) == []
    assert q.claim(10, queues=["mail"], kinds=["k"]) == []


def test_a_pause_between_claims_is_heard_at_once(place: Place) -> None:
    claimer, person = place.open(), place.open()
    person.enqueue_many([tenure.NewJob(kind="k")] * 5)
    assert len(claimer.claim()) == 1
    person.pause("default")
    assert claimer.claim() == []


def test_a_resumed_queue_hands_out_what_waited_in_order(q: tenure.Queue) -> None:
    answers = q.enqueue_many([tenure.NewJob(kind="k")] * 3)
    q.pause("default")
    assert q.claim(10) == []
    assert q.resume("default") is True
    assert ids(q.claim(10)) == ids(answers)


def test_resuming_a_queue_that_is_not_paused_says_so(q: tenure.Queue) -> None:
    assert q.resume("default") is False
    q.pause("default")
    assert [q.resume("default"), q.resume("default")] == [True, False]


def test_pausing_twice_keeps_the_first_time(cq: tenure.Queue, clock: MovedClock) -> None:
    since = clock.now
    cq.pause("mail")
    clock.advance("1h")
    cq.pause("mail")
    assert cq.paused() == {"mail": since}


def test_a_queue_paused_anew_has_a_new_time(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.pause("mail")
    cq.resume("mail")
    clock.advance("1h")
    cq.pause("mail")
    assert cq.paused() == {"mail": clock.now}


def test_paused_lists_what_is_paused_now(cq: tenure.Queue, clock: MovedClock) -> None:
    for name in ("b", "a", "c"):
        cq.pause(name)
    cq.resume("c")
    assert list(cq.paused().items()) == [("a", clock.now), ("b", clock.now)]


def test_nothing_is_paused_at_first(q: tenure.Queue) -> None:
    assert q.paused() == {}


def test_a_pause_is_kept_in_the_store(place: Place) -> None:
    first = place.open()
    first.enqueue("k")
    first.pause("default")
    first.close()
    second = place.open()
    assert (list(second.paused()), second.claim()) == (["default"], [])


def test_jobs_can_be_enqueued_into_a_paused_queue(q: tenure.Queue) -> None:
    q.pause("mail")
    answers = [q.enqueue("k", queue="mail"), *q.enqueue_many([tenure.NewJob(kind="k", queue="mail")] * 2)]
    assert [job_of(q, answer.id).state for answer in answers] == ["ready"] * 3
    assert q.claim(10) == []
    q.resume("mail")
    assert ids(q.claim(10)) == ids(answers)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (tenure.Done(), "done"),
        (tenure.Fail("no"), "scheduled"),
        (tenure.Snooze("1m"), "scheduled"),
        (tenure.Release(), "ready"),
        (tenure.Bury(), "dead"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_running_jobs_of_a_paused_queue_settle(q: tenure.Queue, outcome: tenure.Outcome, state: str) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    q.pause("default")
    assert q.settle(claim, outcome) is True
    assert job_of(q, answer.id).state == state


def test_running_jobs_of_a_paused_queue_keep_their_leases(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k")
    [claim] = cq.claim()
    cq.pause("default")
    clock.advance("20s")
    assert cq.renew([claim]).kept == {claim.id}
    assert job_of(cq, claim.id).lease_until == clock.at("30s")


def test_a_job_released_into_a_paused_queue_is_not_handed_out(q: tenure.Queue) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    q.pause("default")
    q.settle(claim, tenure.Release())
    assert q.claim() == []


def test_a_job_taken_back_into_a_paused_queue_waits_for_resume(
    place: Place, cq: tenure.Queue, clock: MovedClock
) -> None:
    answer = cq.enqueue("k")
    place.open(clock=clock).claim()
    cq.pause("default")
    clock.advance("1m")
    assert cq.claim() == []
    assert job_of(cq, answer.id).state == "ready"
    cq.resume("default")
    assert ids(cq.claim()) == [answer.id]


def test_scheduled_jobs_of_a_paused_queue_become_ready_and_wait(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", delay="1m")
    cq.pause("default")
    clock.advance("1m")
    assert cq.claim() == []
    assert job_of(cq, answer.id).state == "ready"


def test_jobs_of_a_paused_queue_do_not_use_up_the_limit(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", queue="stopped", priority=9)] * 20)
    answers = q.enqueue_many([tenure.NewJob(kind="k", queue="open")] * 3)
    q.pause("stopped")
    assert ids(q.claim(2)) == ids(answers[:2])


def test_counts_show_a_paused_queue_with_zeros(q: tenure.Queue) -> None:
    q.pause("mail")
    assert q.counts() == {"mail": dict.fromkeys(tenure.State, 0)}
