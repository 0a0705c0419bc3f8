"""list: jobs that match a filter, newest first."""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.states import STATES, job_in, take


def ids(jobs: list[tenure.JobSeen]) -> list[tenure.JobId]:
    return [job.id for job in jobs]


def pages(q: tenure.Queue, limit: int, which: tenure.Filter | None = None) -> list[tenure.JobId]:
    """All pages, one after the other."""
    seen: list[tenure.JobId] = []
    while page := q.list(which, limit=limit, before=seen[-1] if seen else None):
        assert len(page) <= limit
        assert not {*ids(page)} & {*seen}
        seen += ids(page)
    return seen


def test_an_empty_store_lists_nothing(q: tenure.Queue) -> None:
    assert q.list() == []


def test_jobs_are_listed_newest_first(q: tenure.Queue) -> None:
    made = [q.enqueue("k").id for _ in range(4)]
    assert ids(q.list()) == made[::-1]


def test_finished_and_pending_jobs_are_listed_in_one_order(q: tenure.Queue) -> None:
    made = [
        job_in(q, state, f"{state}-{n}")
        for n in range(2)
        for state in ("done", "scheduled", "dead", "running")
    ]
    assert ids(q.list()) == made[::-1]


def test_a_listed_job_is_told_as_get_tells_it(q: tenure.Queue) -> None:
    for state in STATES:
        job_in(q, state, state, tags=["t"], meta={"a": "b"})
    jobs = q.list()
    assert len(jobs) == len(STATES) + 1
    assert jobs == [q.get(job.id) for job in jobs]


def test_no_more_than_the_limit_are_listed(q: tenure.Queue) -> None:
    made = [q.enqueue("k").id for _ in range(5)]
    assert ids(q.list(limit=2)) == [made[4], made[3]]


@pytest.mark.parametrize("limit", [1, 3, 4, 12, 100])
def test_pages_cover_every_job_exactly_once(q: tenure.Queue, limit: int) -> None:
    made = [a.id for a in q.enqueue_many(tenure.NewJob(kind="k") for _ in range(12))]
    q.settle_many((claim, tenure.Done()) for claim in q.claim(5))
    assert pages(q, limit) == made[::-1]


def test_pages_of_a_filter_cover_every_match_exactly_once(q: tenure.Queue) -> None:
    made = [a.id for a in q.enqueue_many(tenure.NewJob(kind="ab"[n % 2]) for n in range(12))]
    assert pages(q, 4, tenure.Filter(kinds=["b"])) == made[1::2][::-1]


def test_pages_cover_every_job_exactly_once_while_jobs_move_between_states(cq: tenure.Queue) -> None:
    made = [a.id for a in cq.enqueue_many(tenure.NewJob(kind="k") for _ in range(30))]
    outcomes: list[tenure.Outcome] = [tenure.Done(), tenure.Bury(), tenure.Release(), tenure.Snooze("1h")]
    seen: list[tenure.JobId] = []
    while page := cq.list(limit=4, before=seen[-1] if seen else None):
        assert not {*ids(page)} & {*seen}
        seen += ids(page)
        cq.settle_many(zip(cq.claim(4), outcomes, strict=False))
        cq.replay_many(tenure.Filter(states=["dead"]))
    assert seen == made[::-1]
    assert {job.state for job in cq.list()} == {"ready", "scheduled", "done"}


def test_a_job_enqueued_between_two_pages_shifts_nothing(q: tenure.Queue) -> None:
    made = [q.enqueue("k").id for _ in range(4)]
    first = ids(q.list(limit=2))
    q.enqueue("k")
    assert first + ids(q.list(limit=2, before=first[-1])) == made[::-1]


@pytest.mark.parametrize("state", STATES)
def test_states_narrow_the_list(q: tenure.Queue, state: str) -> None:
    made = {s: job_in(q, s, s, queue="mine") for s in STATES}
    assert ids(q.list(tenure.Filter(states=[state], queues=["mine"]))) == [made[state]]


def test_pending_stands_for_scheduled_waiting_and_ready(q: tenure.Queue) -> None:
    made = {s: job_in(q, s, s, queue="mine") for s in STATES}
    found = ids(q.list(tenure.Filter(states=["pending"], queues=["mine"])))
    assert set(found) == {made["scheduled"], made["waiting"], made["ready"]}


def test_an_unknown_state_is_refused(q: tenure.Queue) -> None:
    with pytest.raises(tenure.FieldError, match=r"states: must be among .*, got 'failed'"):
        q.list(tenure.Filter(states=["failed"]))


PARENT = "01900000-0000-7000-8000-000000000001"
FIELDS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"kind": "a"}, {"kind": "b"}, {"kinds": ["a", "c"]}),
    ({"queue": "a"}, {"queue": "b"}, {"queues": ["a", "c"]}),
    ({"tags": ["x", "red"]}, {"tags": ["redder", "re"]}, {"tag": "red"}),
    ({"group": "g", "group_limit": 2}, {"group": "h", "group_limit": 2}, {"group": "g"}),
    ({"tenant": "acme"}, {"tenant": "acme2"}, {"tenant": "acme"}),
    ({"flow": "f1"}, {"flow": "f2"}, {"flow": "f1"}),
    ({"parent": PARENT}, {"parent": PARENT[:-1] + "2"}, {"parent": PARENT}),
]


@pytest.mark.parametrize(
    ("mine", "other", "asked"), FIELDS, ids=[next(iter(asked)) for _, _, asked in FIELDS]
)
def test_a_field_of_the_filter_narrows_the_list(
    q: tenure.Queue, mine: dict[str, Any], other: dict[str, Any], asked: dict[str, Any]
) -> None:
    plain: dict[str, Any] = {"kind": "z", "queue": "z"}
    finished = job_in(q, "done", **{**plain, **mine})
    job_in(q, "done", **{**plain, **other})
    pending = q.enqueue(**{**plain, **mine}).id
    q.enqueue(**{**plain, **other})
    q.enqueue(**plain)
    assert ids(q.list(tenure.Filter(**asked))) == [pending, finished]


def test_ids_narrow_the_list(q: tenure.Queue) -> None:
    done, dead, ready = job_in(q, "done"), job_in(q, "dead"), q.enqueue("k").id
    q.enqueue("k")
    assert ids(q.list(tenure.Filter(ids=[done, ready]))) == [ready, done]
    assert ids(q.list(tenure.Filter(ids=[dead]))) == [dead]


def test_a_part_of_the_last_error_narrows_the_list(q: tenure.Queue) -> None:
    retried, dead, other = (q.enqueue(kind).id for kind in "abc")
    q.settle(take(q, retried), tenure.Fail("100% down: no route to host", retry_in="1h"))
    q.settle(take(q, dead), tenure.Bury("buried", "down: no route to host, 100% sure"))
    q.settle(take(q, other), tenure.Fail("1000 times no", retry_in="1h"))
    q.enqueue("k")
    assert ids(q.list(tenure.Filter(error="no route"))) == [dead, retried]
    assert ids(q.list(tenure.Filter(error="100% down"))) == [retried]


def test_pending_jobs_are_as_old_as_their_enqueue(cq: tenure.Queue, clock: MovedClock) -> None:
    old = cq.enqueue("k", delay="1d").id
    clock.advance("2h")
    young = cq.enqueue("k").id
    clock.advance("30m")
    assert ids(cq.list(tenure.Filter(older_than="1h"))) == [old]
    assert ids(cq.list(tenure.Filter(newer_than="1h"))) == [young]
    assert ids(cq.list(tenure.Filter(older_than="10m", newer_than="1d"))) == [young, old]


def test_finished_jobs_are_as_old_as_their_end(cq: tenure.Queue, clock: MovedClock) -> None:
    early, late = cq.enqueue("a").id, cq.enqueue("b").id
    cq.settle(take(cq, early), tenure.Done())
    clock.advance("2h")
    cq.settle(take(cq, late), tenure.Bury())
    clock.advance("30m")
    assert ids(cq.list(tenure.Filter(older_than="1h"))) == [early]
    assert ids(cq.list(tenure.Filter(newer_than="1h"))) == [late]


def test_every_part_of_a_filter_narrows(q: tenure.Queue) -> None:
    both = job_in(q, "done", "a", tenant="acme", tags=["t"])
    job_in(q, "done", "a", tenant="acme")
    job_in(q, "done", "a", tags=["t"])
    job_in(q, "dead", "a", tenant="acme", tags=["t"])
    job_in(q, "done", "b", tenant="acme", tags=["t"])
    assert ids(q.list(tenure.Filter(states=["done"], kinds=["a"], tenant="acme", tag="t"))) == [both]


@pytest.mark.parametrize(
    "which",
    [
        {"states": []}, {"kinds": []}, {"ids": []}, {"kinds": ["nobody"]}, {"tag": "t"}, {"group": "g"}, {"tenant": "x"},
        {"flow": "f"}, {"parent": PARENT}, {"error": "e"}, {"ids": [PARENT]}, {"older_than": "1h"},
    ],
    ids=str,
)  # fmt: skip
def test_a_filter_that_matches_nothing_lists_nothing(q: tenure.Queue, which: dict[str, Any]) -> None:
    job_in(q, "done")
    q.enqueue("k")
    assert q.list(tenure.Filter(**which)) == []


def test_a_filter_may_be_given_generators(q: tenure.Queue) -> None:
    wanted = [q.enqueue("a").id, q.enqueue("b").id]
    q.enqueue("c")
    which = tenure.Filter(kinds=(kind for kind in ("a", "b")), ids=iter(wanted))
    assert [job.id for job in q.list(which)] == wanted[::-1]
    assert [job.id for job in q.list(which)] == wanted[::-1]


def test_what_runs_is_told_of_the_longest_at_it_first_and_so_many_of_each_worker(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    assert cq.running() == []
    ran: list[str] = []
    for worker in ("a", "b", "a", "a"):
        cq.enqueue("k", priority=len(ran))  # the later it is made, the sooner it would run
        [claim] = cq.claim(worker=worker, lease="1h")
        ran.append(claim.id)
        clock.advance("1s")
    done = cq.enqueue("done").id
    [claim] = cq.claim()
    assert (claim.id, cq.settle(claim, tenure.Done())) == (done, True)
    cq.enqueue("ready")
    assert ids(cq.running()) == ran
    assert ids(cq.running(limit=2)) == ran[:2]
    assert ids(cq.running(each=1)) == ran[:2]
    assert ids(cq.running(each=2)) == ran[:3]
    first = cq.running()[0]
    assert first == cq.get(ran[0])
    for name in ("limit", "each"):
        with pytest.raises(tenure.FieldError, match=name):
            cq.running(**{name: 0})
