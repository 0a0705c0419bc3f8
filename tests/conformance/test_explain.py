"""explain: why is this job not running?"""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.states import STATES, job_in, take


def test_an_unknown_job_is_explained_as_unknown(q: tenure.Queue) -> None:
    told = q.explain("01900000-0000-7000-8000-000000000000")
    assert (told.code, told.job) == ("unknown", None)
    assert "No job has this id" in str(told)


@pytest.mark.parametrize("state", STATES)
def test_a_job_in_any_state_is_explained_by_that_state_and_shown(q: tenure.Queue, state: str) -> None:
    job_id = job_in(q, state)
    told = q.explain(job_id)
    assert told.code == state
    assert told.reasons
    assert told.job == q.get(job_id)


def test_a_dead_job_is_explained_with_its_reason_and_last_error(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = job_in(cq, "dead")
    clock.advance("2h")
    told = str(cq.explain(job_id))
    assert "dead since 2h" in told
    assert "Reason: buried." in told
    assert "Last error: a bad day" in told
    assert "replay" in told


def test_a_done_job_is_not_told_to_be_replayed(q: tenure.Queue) -> None:
    assert "replay" not in str(q.explain(job_in(q, "done")))


def test_a_cancelled_job_is_explained_with_the_reason_it_was_given(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    q.cancel(job_id, "the order was withdrawn")
    told = q.explain(job_id)
    assert told.code == "cancelled"
    assert "Reason: the order was withdrawn." in str(told)


def test_a_running_job_is_explained_with_its_worker_and_attempt(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    cq.claim(worker="w1")
    clock.advance("10s")
    told = cq.explain(job_id)
    assert told.code == "running"
    assert "on worker w1 since 10s, attempt 1" in str(told)


def test_a_job_that_crashed_is_explained_as_run_apart(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    cq.claim()
    clock.advance("1m")
    cq.reclaim()
    told = cq.explain(job_id)
    assert told.code == "ready"
    assert "crashed once: it is run apart" in str(told)


def test_a_suspect_is_explained_as_run_apart(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    cq.claim(started=False)
    clock.advance("1m")
    cq.reclaim()
    cq.claim(started=False)
    told = cq.explain(job_id)
    assert told.code == "running"
    assert "nobody knows whether it had started" in str(told)
    assert "crashed" not in str(told)


def test_a_running_job_asked_to_cancel_is_explained_so(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = job_in(cq, "running")
    cq.cancel(job_id)
    clock.advance("5s")
    assert "asked to cancel 5s ago" in str(cq.explain(job_id))


def test_a_job_whose_lease_ran_out_is_explained_as_overdue(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    cq.claim(lease="30s")
    clock.advance("40s")
    told = cq.explain(job_id)
    assert told.code == "overdue"
    assert "ran out 10s ago" in str(told)


def test_a_delayed_job_is_explained_with_when_it_is_due(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k", delay="10m").id
    clock.advance("3m")
    cq.beat("w1")
    told = cq.explain(job_id)
    assert (told.code, str(told)) == ("scheduled", "It is due in 7m.")


def test_a_due_job_nobody_has_promoted_yet_is_explained_so(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k", delay="10m").id
    clock.advance("11m")
    told = cq.explain(job_id)
    assert told.code == "scheduled"
    assert "due 1m ago: the next claim" in str(told)


def test_a_waiting_retry_is_explained_with_the_attempt_and_its_error(cq: tenure.Queue) -> None:
    job_id = cq.enqueue("k", max_attempts=4).id
    cq.settle(take(cq, job_id), tenure.Fail("no route to host", retry_in="2m"))
    told = cq.explain(job_id)
    assert told.code == "scheduled"
    assert "due in 2m" in str(told)
    assert "attempt 1 of 4 failed: no route to host" in str(told)


def test_a_job_held_by_its_group_is_explained_with_who_holds_it(q: tenure.Queue) -> None:
    head, second, third = (q.enqueue("k", group="g").id for _ in range(3))
    take(q, head)
    told = q.explain(third)
    assert told.code == "waiting"
    assert "'g'" in str(told)
    assert f"{head} (running)" in str(told)
    assert second not in str(told)


def test_a_ready_job_of_a_paused_queue_is_explained_as_paused(q: tenure.Queue) -> None:
    job_id = q.enqueue("k", queue="mail").id
    q.pause("mail")
    told = q.explain(job_id)
    assert told.code == "paused"
    assert "'mail'" in str(told)


@pytest.mark.parametrize(
    "takes", [{"kinds": ["other"]}, {"queues": ["other"]}, {"kinds": ["k"], "queues": ["other"]}]
)
def test_a_job_that_no_living_worker_takes_is_explained_so(q: tenure.Queue, takes: dict[str, Any]) -> None:
    job_id = q.enqueue("k", queue="mail").id
    q.beat("w1", **takes)
    told = q.explain(job_id)
    assert told.code == "no_worker"
    assert "'k'" in str(told)
    assert "'mail'" in str(told)


@pytest.mark.parametrize("takes", [{}, {"kinds": ["other", "k"]}, {"queues": ["mail"]}])
def test_a_ready_job_that_a_living_worker_takes_is_explained_as_ready(
    q: tenure.Queue, takes: dict[str, Any]
) -> None:
    job_id = q.enqueue("k", queue="mail").id
    q.beat("w1", kinds=["other"])
    q.beat("w2", **takes)
    assert q.explain(job_id).code == "ready"


def test_a_worker_that_has_not_been_seen_lately_does_not_count(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k").id
    cq.beat("w1", kinds=["other"])
    clock.advance("1m")
    told = cq.explain(job_id)
    assert told.code == "ready"
    assert "No worker has reported itself lately" in str(told)


def test_a_worker_that_said_goodbye_does_not_count(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    q.beat("w1", kinds=["other"])
    q.leave("w1")
    assert q.explain(job_id).code == "ready"


def test_a_ready_job_is_explained_with_how_many_stand_in_front_of_it(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue("other kind")
    cq.enqueue("k", queue="other queue")
    cq.enqueue("k", priority=-1)
    clock.advance("1s")
    job_id = cq.enqueue("k").id
    cq.enqueue("k")
    cq.enqueue("k", priority=1)
    assert "It is ready; 2 jobs of its queue" in str(cq.explain(job_id))


def test_the_next_job_has_nobody_in_front_of_it(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    q.enqueue("k")
    assert "It is ready; 0 jobs of its queue" in str(q.explain(job_id))


@pytest.mark.parametrize("state", ["scheduled", "waiting"])
def test_a_job_that_is_not_ready_yet_is_told_what_will_stand_in_its_way_then(
    q: tenure.Queue, state: str
) -> None:
    job_id = job_in(q, state, queue="mail")
    assert "No worker has reported itself lately" in str(q.explain(job_id))
    q.beat("w1", kinds=["holder"])
    assert "No live worker takes kind 'k' from queue 'mail'; 1 worker lives." in str(q.explain(job_id))
    q.beat("w2", kinds=["k"])
    assert not {"worker", "paused"} & set(str(q.explain(job_id)).split())
    q.pause("mail")
    told = q.explain(job_id)
    assert told.code == state
    assert str(told).count("Queue 'mail' is paused since") == 1


def test_a_job_behind_a_head_that_cannot_run_is_told_why_the_head_does_not(q: tenure.Queue) -> None:
    head = q.enqueue("h", queue="slow", group="g").id
    behind = q.enqueue("k", queue="fast", group="g").id
    q.beat("w1", queues=["fast"])
    assert "No live worker takes kind 'h' from queue 'slow'" in str(q.explain(behind))
    q.beat("w2")
    q.pause("slow")
    assert f"{head} (ready). Queue 'slow' is paused since" in str(q.explain(behind))
    q.resume("slow")
    take(q, head)
    q.pause("slow")
    assert "paused" not in str(q.explain(behind))


@pytest.mark.parametrize("state", ["scheduled", "waiting", "ready"])
def test_a_job_past_its_expiry_is_told_to_be_ended(cq: tenure.Queue, clock: MovedClock, state: str) -> None:
    job_id = job_in(cq, state, expires_in="10m")
    assert cq.explain(job_id).code == state
    clock.advance("12m")
    told = cq.explain(job_id)
    assert told.code == "expired"
    assert "It expired 2m ago" in str(told)
    assert "ends it as cancelled" in str(told)
    assert cq.expire() == 1
    assert cq.explain(job_id).code == "cancelled"


def test_a_tried_job_past_its_expiry_is_told_to_end_as_dead(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k", expires_in="10m").id
    cq.settle(take(cq, job_id), tenure.Fail("no", retry_in="5m"))
    clock.advance("10m")
    assert "ends it as dead" in str(cq.explain(job_id))
