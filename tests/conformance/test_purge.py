"""purge: people delete finished jobs."""

from __future__ import annotations

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place
from tests.support.states import STATES, job_in, take

FINISHED = ["done", "dead", "cancelled"]


@pytest.mark.parametrize("state", FINISHED)
def test_a_finished_job_that_matches_is_deleted(q: tenure.Queue, state: str) -> None:
    job_id = job_in(q, state)
    assert q.purge(tenure.Filter(states=[state])) == 1
    assert q.get(job_id) is None


@pytest.mark.parametrize("state", [s for s in STATES if s not in FINISHED])
def test_an_unfinished_job_is_never_purged(q: tenure.Queue, state: str) -> None:
    job_id = job_in(q, state)
    asked = [tenure.Filter(), tenure.Filter(ids=[job_id]), tenure.Filter(states=[state])]
    assert [q.purge(which) for which in asked] == [0, 0, 0]
    assert q.get(job_id) is not None


def test_only_the_jobs_that_match_are_purged(q: tenure.Queue) -> None:
    gone = job_in(q, "dead", "a", tenant="acme")
    kept = {
        job_in(q, "dead", "a"),
        job_in(q, "dead", "b", tenant="acme"),
        job_in(q, "done", "a", tenant="acme"),
    }
    assert q.purge(tenure.Filter(states=["dead"], kinds=["a"], tenant="acme")) == 1
    assert {job.id for job in q.list()} == kept
    assert q.get(gone) is None


def test_jobs_that_ended_long_ago_can_be_purged_by_age(cq: tenure.Queue, clock: MovedClock) -> None:
    job_in(cq, "dead", "old")
    clock.advance("2d")
    young = job_in(cq, "dead", "young")
    assert cq.purge(tenure.Filter(older_than="1d")) == 1
    assert [job.id for job in cq.list()] == [young]


def test_purge_is_bounded_oldest_first_and_tells_how_many(q: tenure.Queue) -> None:
    made = [job_in(q, "done") for _ in range(5)]
    assert q.purge(tenure.Filter(), limit=2) == 2
    assert [job.id for job in q.list()] == made[:1:-1]
    assert [q.purge(tenure.Filter(), limit=2) for _ in range(3)] == [2, 1, 0]


def test_all_that_belongs_to_a_purged_job_goes_with_it(q: tenure.Queue, place: Place) -> None:
    request = tenure.Request(b"body", {"x": "y"})
    gone, kept = q.enqueue("a", request=request).id, q.enqueue("b", request=request).id
    for job_id in (gone, kept):
        q.settle(take(q, job_id), tenure.Bury())
    assert q.purge(tenure.Filter(ids=[gone])) == 1
    assert [str(row[0]) for row in place.sql("SELECT job_id FROM tenure.attempts")] == [kept]
    assert [str(row[0]) for row in place.sql("SELECT job_id FROM tenure.requests")] == [kept]


def test_what_is_no_filter_is_refused(q: tenure.Queue) -> None:
    kept = job_in(q, "dead")
    with pytest.raises(tenure.FieldTypeError, match="which: must be a Filter"):
        q.purge({"states": ["dead"]})  # type: ignore[arg-type]
    assert q.get(kept) is not None
