"""A lost answer, by the verbs that people call: what was committed though nobody heard of it happens once, and is answered the same.

Here the store's own object loses the answer of whatever a verb asks it first, after the commit, by each of the three ways there
are: `run`, `insert` (a job without options) and `begin` (on an event loop). The plans beneath are held in test_lost_reply.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tenure
from tenure.newjob import BareParams
from tenure.store.base import Broken, Make
from tests.support.claiming import job_of
from tests.support.places import Place


class Losing:
    """A queue's store, which commits what it is asked next and loses the answer, once."""

    def __init__(self, q: tenure.Queue, patch: pytest.MonkeyPatch) -> None:
        self._store = q._store
        self._run, self._insert, self._begin = self._store.run, self._store.insert, self._store.begin
        self._armed, self.lost = False, list[str]()
        for name in ("run", "insert", "begin"):
            patch.setattr(self._store, name, getattr(self, name))

    def next(self) -> Losing:
        """Lose the next answer."""
        self._armed = True
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        assert not self._armed, "no answer was lost"

    def run(self, make: Make[Any], **options: Any) -> Any:
        answer = self._run(make, **options)
        return self._run(make, **{**options, "asked": True}) if self._loses("run") else answer

    def insert(self, job: BareParams) -> bool:
        return self._insert(job) and not self._loses("insert")

    def begin(self, make: Make[Any], tell: Callable[[Any], None], **options: Any) -> bool:
        def hear(answer: Any) -> None:
            lost = not isinstance(answer, BaseException) and self._loses("begin")
            tell(Broken(ConnectionError(), "the answer was lost", asked=True) if lost else answer)

        return self._begin(make, hear, **options)

    def _loses(self, way: str) -> bool:
        armed, self._armed = self._armed, False
        self.lost += [way] * armed
        return armed


@pytest.fixture
def losing(q: tenure.Queue, monkeypatch: pytest.MonkeyPatch) -> Losing:
    return Losing(q, monkeypatch)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "unique": {"unique": "a"},
    "for a period": {"unique": "a", "unique_for": "1h"},
    "grouped": {"group": "g"},
    "request": {"request": tenure.Request(b"body", {"a": "b"})},
    "delayed": {"delay": "1h"},
}
each_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@each_option
def test_an_enqueue_whose_answer_was_lost_is_stored_once_and_answers_inserted(
    place: Place, q: tenure.Queue, losing: Losing, options: dict[str, Any]
) -> None:
    with losing.next():
        answer = q.enqueue("k", {"n": 1}, **options)
    assert answer.inserted
    [job] = q.list()
    assert (job.id, job.payload) == (answer.id, {"n": 1})
    assert job.state == ("scheduled" if "delay" in options else "ready")
    assert q.request(answer.id) == options.get("request")
    shortest = "insert" if place.way == "sync" and not options else "run"
    assert losing.lost == ["begin" if place.way == "async" and q._store.on_loop else shortest]


@pytest.mark.parametrize("options", [OPTIONS["unique"], OPTIONS["for a period"]], ids=["unique", "period"])
def test_a_duplicate_whose_answer_was_lost_is_told_the_first_job(
    q: tenure.Queue, losing: Losing, options: dict[str, Any]
) -> None:
    first = q.enqueue("k", "first", **options)
    with losing.next():
        assert q.enqueue("k", "second", **options) == tenure.Enqueued(first.id, inserted=False)
    assert [job.payload for job in q.list()] == ["first"]


def test_a_schedule_run_now_whose_answer_was_lost_has_made_one_job_and_tells_it_once(
    q: tenure.Queue, losing: Losing
) -> None:
    q.schedule("s", "@yearly", "k")
    with losing.next():
        answer = q.run_schedule("s")
    assert answer.inserted
    assert [job.id for job in q.list()] == [answer.id]
    assert [list(one.made) for one in q.schedules()] == [[answer.id]]


@pytest.mark.parametrize("count", [3, 60])
@pytest.mark.parametrize("options", [{}, {"group": "g"}], ids=["plain", "grouped"])
def test_many_jobs_whose_answer_was_lost_are_stored_once_and_answer_inserted(
    q: tenure.Queue, losing: Losing, count: int, options: dict[str, Any]
) -> None:
    with losing.next():
        answers = q.enqueue_many([tenure.NewJob(kind="k", payload=n, **options) for n in range(count)])
    assert all(answer.inserted for answer in answers)
    jobs = {job.id: job.payload for job in q.list(limit=500)}
    assert jobs == {answer.id: n for n, answer in enumerate(answers)}


@pytest.mark.parametrize(
    ("outcome", "state", "attempts"),
    [(tenure.Done({"n": 1}), "done", 0), (tenure.Fail("oops", "1h"), "scheduled", 1)],
    ids=["Done", "Fail"],
)
def test_a_settle_whose_answer_was_lost_happened_once_and_is_true(
    q: tenure.Queue, losing: Losing, outcome: tenure.Outcome, state: str, attempts: int
) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    with losing.next():
        assert q.settle(claim, outcome) is True
    job = job_of(q, answer.id)
    assert (job.state, job.attempt, job.epoch) == (state, 1, claim.epoch)
    assert len(q.history(answer.id)) == attempts


def test_settles_of_many_whose_answer_was_lost_are_answered_as_they_were(
    q: tenure.Queue, losing: Losing
) -> None:
    q.enqueue_many([tenure.NewJob(kind="k") for _ in range(4)])
    done, failed, released, lost = q.claim(4)
    q.settle(lost, tenure.Bury())
    with losing.next():
        answers = q.settle_many(
            [
                (done, tenure.Done()),
                (failed, tenure.Fail("oops", "1h")),
                (released, tenure.Release()),
                (lost, tenure.Done()),
            ]
        )
    assert answers == [True, True, True, False]
    states = [job_of(q, claim.id).state for claim in (done, failed, released, lost)]
    assert states == ["done", "scheduled", "ready", "dead"]
    assert [len(q.history(claim.id)) for claim in (done, failed, released, lost)] == [0, 1, 0, 1]


@pytest.mark.parametrize("running", [False, True], ids=["pending", "running"])
def test_a_cancel_whose_answer_was_lost_happened_once_and_is_answered_as_it_was(
    q: tenure.Queue, losing: Losing, running: bool
) -> None:
    answer = q.enqueue("k")
    claims = q.claim() if running else []
    with losing.next():
        assert q.cancel(answer.id, "no need") == ("asked" if running else "cancelled")
    job = job_of(q, answer.id)
    assert job.state == ("running" if running else "cancelled")
    assert q.renew(claims).cancelling == {claim.id for claim in claims}


def test_a_cancel_of_what_somebody_has_cancelled_before_is_too_late(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    assert q.cancel(answer.id) == "cancelled"
    assert q.cancel(answer.id) == "finished"
