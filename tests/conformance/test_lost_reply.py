"""A lost reply: what was committed although nobody was told is asked again, and happens once.

Every store runs a plan that may be repeated anew, with `again` saying that an earlier try may have been committed. Here the
first try is committed and its answer thrown away, on every store; over a real wire see tests/faults/test_lost_reply.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

import tenure
from tenure.client.verbs import Call
from tests.support.clock import MovedClock

T = TypeVar("T")


def twice(q: tenure.Queue, call: Call[T], between: Callable[[], Any] | None = None) -> T:
    """Run the call, lose its answer, let others do something, and ask again as a store does; the second answer."""
    q._store.run(lambda _: call.make(False))
    if between is not None:
        between()
    return q._store.run(lambda _: call.make(True))


def all_jobs(q: tenure.Queue) -> list[tenure.JobSeen]:
    return q.list(limit=500)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unique": "a"},
        {"unique": "a", "unique_for": "1h"},
        {"group": "g"},
        {"request": tenure.Request(b"body", {"a": "b"})},
        {"delay": "1h"},
    ],
    ids=["plain", "unique", "for a period", "grouped", "request", "delayed"],
)
def test_an_enqueue_asked_again_is_stored_once_and_answers_inserted(
    q: tenure.Queue, options: dict[str, Any]
) -> None:
    answer = twice(q, q._verbs.enqueue("k", **options))
    assert answer.inserted
    assert [job.id for job in all_jobs(q)] == [answer.id]
    assert q.request(answer.id) == options.get("request")


@pytest.mark.parametrize("count", [3, 60, 600])
def test_many_jobs_asked_again_are_stored_once_and_answer_inserted(q: tenure.Queue, count: int) -> None:
    answers = twice(q, q._verbs.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(count)]))
    assert all(answer.inserted for answer in answers)
    assert q.counts()["default"]["ready"] == count
    assert [q.get(answers[n].id).payload for n in (0, count - 1)] == [0, count - 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("many", [False, True], ids=["enqueue", "enqueue_many"])
@pytest.mark.parametrize("unique", [None, "a"])
def test_a_job_that_was_done_before_it_was_asked_again_is_not_enqueued_again(
    q: tenure.Queue, unique: str | None, many: bool
) -> None:
    def work_it_off() -> None:
        [claim] = q.claim()
        assert q.settle(claim, tenure.Done())

    if many:
        [answer] = twice(q, q._verbs.enqueue_many([tenure.NewJob(kind="k", unique=unique)]), work_it_off)
    else:
        answer = twice(q, q._verbs.enqueue("k", unique=unique), work_it_off)
    assert answer.inserted
    assert [(job.id, job.state) for job in all_jobs(q)] == [(answer.id, "done")]


def test_a_job_that_was_done_and_whose_slot_went_to_another_still_answers_inserted(q: tenure.Queue) -> None:
    taken: list[tenure.Enqueued] = []

    def pass_the_slot_on() -> None:
        [claim] = q.claim()
        q.settle(claim, tenure.Done())
        taken.append(q.enqueue("k", unique="a"))

    answer = twice(q, q._verbs.enqueue("k", unique="a"), pass_the_slot_on)
    assert answer.inserted
    assert taken[0].inserted
    assert {job.id: job.state for job in all_jobs(q)} == {answer.id: "done", taken[0].id: "ready"}


def test_a_job_unique_for_a_period_is_not_enqueued_again_even_when_its_row_is_gone(q: tenure.Queue) -> None:
    def work_it_off_and_forget_it() -> None:
        [claim] = q.claim()
        q.settle(claim, tenure.Done())
        assert q.purge(tenure.Filter(states=["done"])) == 1

    answer = twice(q, q._verbs.enqueue("k", unique="a", unique_for="1h"), work_it_off_and_forget_it)
    assert answer.inserted
    assert all_jobs(q) == []


def test_a_duplicate_asked_again_is_a_duplicate_again(q: tenure.Queue) -> None:
    first = q.enqueue("k", unique="a")
    period = q.enqueue("k", unique="b", unique_for="1h")
    assert twice(q, q._verbs.enqueue("k", unique="a")) == tenure.Enqueued(first.id, inserted=False)
    again = twice(q, q._verbs.enqueue("k", unique="b", unique_for="1h"))
    assert again == tenure.Enqueued(period.id, inserted=False)
    assert len(all_jobs(q)) == 2


def test_an_enqueue_asked_again_that_was_never_done_is_stored(q: tenure.Queue) -> None:
    call = q._verbs.enqueue("k", "kept", unique="a")
    answer = q._store.run(lambda _: call.make(True))
    assert answer.inserted
    assert [(job.id, job.payload) for job in all_jobs(q)] == [(answer.id, "kept")]


OUTCOMES = [
    tenure.Done({"n": 1}),
    tenure.Fail("oops", 0),
    tenure.Snooze(0),
    tenure.Release(),
    tenure.Bury("useless"),
    tenure.Cancelled("asked"),
    tenure.Crashed("killed"),
]
each_outcome = pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda o: type(o).__name__)


@each_outcome
@pytest.mark.parametrize("group", [None, "g"])
def test_a_settle_asked_again_answers_true_and_happened_once(
    cq: tenure.Queue, outcome: tenure.Outcome, group: str | None
) -> None:
    cq.enqueue("k", group=group)
    [claim] = cq.claim()
    after_one: list[tenure.JobSeen | None] = []
    assert twice(cq, cq._verbs.settle(claim, outcome), lambda: after_one.append(cq.get(claim.id))) is True
    assert cq.get(claim.id) == after_one[0]
    assert len(cq.history(claim.id)) == isinstance(outcome, tenure.Fail | tenure.Bury | tenure.Crashed)


@pytest.mark.parametrize("outcome", OUTCOMES[1:4], ids=lambda o: type(o).__name__)
def test_a_settle_asked_again_answers_true_although_the_job_went_on_meanwhile(
    cq: tenure.Queue, outcome: tenure.Outcome
) -> None:
    cq.enqueue("k")
    [claim] = cq.claim()

    def go_on() -> None:
        [other] = cq.claim()
        assert cq.settle(other, tenure.Done())

    assert twice(cq, cq._verbs.settle(claim, outcome), go_on) is True
    job = cq.get(claim.id)
    assert job is not None
    assert job.state == "done"


def test_settles_of_many_asked_again_answer_as_they_did(cq: tenure.Queue) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k") for _ in range(4)])
    done, failed, released, lost = cq.claim(4)
    cq.settle(lost, tenure.Bury())
    pairs: list[tuple[tenure.Claim, tenure.Outcome]] = [
        (done, tenure.Done()),
        (failed, tenure.Fail()),
        (released, tenure.Release()),
        (lost, tenure.Done()),
    ]
    assert twice(cq, cq._verbs.settle_many(pairs)) == [True, True, True, False]


def test_a_claim_whose_reply_was_lost_is_taken_back_after_its_lease(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    answer = cq.enqueue("k")
    cq.beat("w")
    assert twice(cq, cq._verbs.claim(worker="w")) == []
    clock.advance("31s")
    cq.beat("w")
    [claim] = cq.claim(worker="w")
    assert (claim.id, claim.job.attempt, claim.job.crashes) == (answer.id, 1, 0)


def test_a_cancel_asked_again_changes_nothing_more(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k")
    after_one: list[tenure.JobSeen | None] = []
    twice(cq, cq._verbs.cancel(answer.id, "no need"), lambda: after_one.append(cq.get(answer.id)))
    job = cq.get(answer.id)
    assert job is not None
    assert (job.state, job.reason) == ("cancelled", "no need")
    assert job == after_one[0]
