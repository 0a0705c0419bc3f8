"""counts: how many jobs stand where."""

from __future__ import annotations

import tenure
from tests.support.states import STATES, job_in

ZEROS = dict.fromkeys(STATES, 0)


def test_an_empty_store_counts_nothing(q: tenure.Queue) -> None:
    assert q.counts() == {}


def test_every_state_is_counted_exactly(q: tenure.Queue) -> None:
    for state in STATES:
        for n in range(2):
            job_in(q, state, f"{state}-{n}")
    expected = {**dict.fromkeys(STATES, 2), "ready": 3, "waiting": 3}
    # The two who wait made two holders of one group: the first is ready, the second waits.
    assert q.counts() == {"default": expected}


def test_states_without_jobs_are_counted_as_zero(q: tenure.Queue) -> None:
    q.enqueue("k")
    assert q.counts() == {"default": {**ZEROS, "ready": 1}}


def test_every_queue_is_counted_by_itself(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", queue=name) for name in ("b", "a", "b")])
    assert q.counts() == {"a": {**ZEROS, "ready": 1}, "b": {**ZEROS, "ready": 2}}


def test_only_the_queues_asked_for_are_counted(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", queue=name) for name in ("a", "b", "c")])
    assert q.counts(["a", "c"]) == {"a": {**ZEROS, "ready": 1}, "c": {**ZEROS, "ready": 1}}


def test_a_queue_asked_for_that_has_no_jobs_is_all_zeros(q: tenure.Queue) -> None:
    q.enqueue("k")
    assert q.counts(["never seen"]) == {"never seen": ZEROS}


def test_a_paused_queue_without_jobs_is_counted_with_zeros(q: tenure.Queue) -> None:
    q.pause("quiet")
    assert q.counts() == {"quiet": ZEROS}


def test_counts_follow_a_job_through_its_states(q: tenure.Queue) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    assert q.counts() == {"default": {**ZEROS, "running": 1}}
    q.settle(claim, tenure.Done())
    assert q.counts() == {"default": {**ZEROS, "done": 1}}
    q.purge(tenure.Filter())
    assert q.counts() == {}


def test_a_cap_above_the_number_of_jobs_counts_exactly(q: tenure.Queue) -> None:
    for state in STATES:
        job_in(q, state, state)
    assert q.counts(cap=10) == q.counts()


def test_a_cap_counts_no_more_than_it_says_and_never_more_than_there_are(q: tenure.Queue) -> None:
    for n in range(5):
        job_in(q, "done", f"done-{n}")
    q.enqueue_many([tenure.NewJob(kind="k", queue=name) for name in ("default", "other") * 5])
    exact, capped = q.counts(), q.counts(cap=3)
    assert all(
        count <= exact[name][state] for name, states in capped.items() for state, count in states.items()
    )
    assert sum(states["done"] for states in capped.values()) == 3
    assert sum(states["ready"] for states in capped.values()) == 3
