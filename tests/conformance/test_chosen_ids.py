"""Ids that a caller chose: who stores one and who comes second are told so, however close they come."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

import pytest

import tenure
from tests.support.claiming import at_once, wait_until_blocked
from tests.support.places import Place
from tests.support.states import look


def late(q: tenure.Queue, job_id: str, n: int) -> tenure.Enqueued:
    return q.enqueue(f"k{n}", n, id=job_id, request=tenure.Request(str(n).encode(), {}))


def test_of_many_who_store_one_id_at_once_one_is_told_that_it_did(place: Place) -> None:
    queues = [place.open() for _ in range(4)]
    for _ in range(10):
        mine = str(uuid4())
        answers = at_once([partial(late, q, mine, n) for n, q in enumerate(queues)])
        assert {a.id for a in answers} == {mine}
        [first] = [n for n, a in enumerate(answers) if a.inserted]
        assert look(queues[0], mine).payload == first
        assert queues[0].request(mine) == tenure.Request(str(first).encode(), {})


@pytest.mark.parametrize("group", [None, "g"], ids=["alone", "grouped"])
def test_who_waits_for_another_with_its_id_is_told_that_it_was_there(
    own_place: Place, group: str | None
) -> None:
    q, mine = own_place.open(), str(uuid4())
    job = tenure.NewJob(kind="second", id=mine, group=group, request=tenure.Request(b"second", {}))
    with ThreadPoolExecutor(1) as pool:
        with own_place.transaction() as own:
            assert own.queue.enqueue("first", id=mine).inserted
            waiting = pool.submit(
                q.enqueue_many,
                [tenure.NewJob(kind="other"), job, job, tenure.NewJob(kind="third", group=group)],
            )
            wait_until_blocked(own_place, waiting)
        answers = waiting.result(60)
    assert [a.inserted for a in answers] == [True, False, False, True]
    assert answers[1].id == answers[2].id == mine
    assert (look(q, mine).kind, q.request(mine)) == ("first", None)
    assert {c.job.kind for c in q.claim(5)} == {"first", "other", "third"}


@pytest.mark.parametrize("group", [None, "g"], ids=["alone", "grouped"])
def test_a_job_that_ended_while_another_with_its_id_waited_for_a_slot_is_not_run_again(
    own_place: Place, group: str | None
) -> None:
    q, quick, mine = own_place.open(), own_place.open(), str(uuid4())
    jobs = [
        tenure.NewJob(kind="other", unique="slot"), tenure.NewJob(kind="again", id=mine, group=group),
        tenure.NewJob(kind="third", group=group),
    ]  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(LookupError), own_place.transaction() as own:
            own.queue.enqueue("other", unique="slot")
            waiting = pool.submit(q.enqueue_many, jobs)
            wait_until_blocked(own_place, waiting)
            if own_place.store == "postgres":
                run_at_once(quick, mine)
            raise LookupError
        answers = waiting.result(60)
    first = own_place.store != "postgres"  # in a file nobody comes between
    assert [a.inserted for a in answers] == [True, first, True]
    assert answers[1].id == mine
    assert look(q, mine).kind == ("again" if first else "quick")
    claims = q.claim(5)
    assert {c.job.kind for c in claims} == {"other", "again" if first else "third"} | (
        {"third"} if group is None else set()
    )
    assert q.settle_many([(c, tenure.Done()) for c in claims]) == [True] * len(claims)


def run_at_once(q: tenure.Queue, job_id: str) -> None:
    q.enqueue("quick", id=job_id)
    [claim] = q.claim(kinds=["quick"])
    assert q.settle(claim, tenure.Done())


def test_of_several_with_one_id_the_first_that_finds_its_key_free_is_stored(q: tenure.Queue) -> None:
    mine = str(uuid4())
    held = q.enqueue("k", unique="a", unique_for="1h").id
    taken = q.enqueue("k", unique="b").id
    answers = q.enqueue_many(
        [
            tenure.NewJob(kind="k", payload=0, id=mine, unique="a", unique_for="1h"),
            tenure.NewJob(kind="k", payload=1),
            tenure.NewJob(kind="k", payload=2, id=mine, unique="b"),
            tenure.NewJob(kind="k", payload=3, id=mine, unique="c", unique_for="1h"),
            tenure.NewJob(kind="k", payload=4, id=mine, unique="d", unique_for="1h"),
        ]
    )
    assert [(a.id, a.inserted) for a in answers if a is not answers[1]] == [
        (held, False), (taken, False), (mine, True), (mine, False)
    ]  # fmt: skip
    assert look(q, mine).payload == 3
    assert not q.enqueue("k", unique="c", unique_for="1h").inserted
    assert q.enqueue(
        "k", unique="d", unique_for="1h"
    ).inserted  # it was not taken for a job that is not there


def test_of_several_with_one_key_the_first_is_stored_whatever_their_ids(q: tenure.Queue) -> None:
    low, high = sorted(str(uuid4()) for _ in range(2))
    first, second = q.enqueue_many(
        [tenure.NewJob(kind="k", payload=n, id=i, unique="slot") for n, i in enumerate((high, low))]
    )
    assert (first, second) == ((high, True), (high, False))
    assert look(q, high).payload == 0


def test_one_behind_another_of_its_id_comes_before_those_behind_it(q: tenure.Queue) -> None:
    mine, other = (str(uuid4()) for _ in range(2))
    held = q.enqueue("k", unique="a").id
    answers = q.enqueue_many(
        [tenure.NewJob(kind="k", id=i, unique=u) for i, u in ((mine, "a"), (mine, "b"), (other, "b"))]
    )
    assert answers == [(held, False), (mine, True), (mine, False)]


@pytest.mark.parametrize("level", ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_an_id_is_chosen_where_ends_are_seen_and_refused_elsewhere(own_place: Place, level: str) -> None:
    q, mine = own_place.open(), str(uuid4())
    blind = own_place.store == "postgres" and not level.startswith("READ")
    with own_place.transaction() as own:
        if own_place.store == "postgres":
            own.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        if blind:
            with pytest.raises(
                tenure.FieldError,
                match=f"^id: cannot be chosen .* {level.lower()}.*{mine}.*; use a .* unique=",
            ):
                own.queue.enqueue("k", id=mine)
        assert own.queue.enqueue("k", unique="a").inserted
        assert blind or own.queue.enqueue("k", id=mine).inserted
    assert (q.get(mine) is None) == blind
    assert len(q.claim(5)) == 2 - blind
