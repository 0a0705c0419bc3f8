"""Webhooks that come together: each with a period, a group and a request of its own, stored as they would be one by one."""

from __future__ import annotations

from typing import Any

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place


def hook(n: int, key: str, **options: Any) -> tenure.NewJob:
    given: dict[str, Any] = {
        "unique": key,
        "unique_for": "1h",
        "request": tenure.Request(f"body {n}".encode(), {"x-n": str(n)}),
    }
    return tenure.NewJob(kind="hook", payload=n, **(given | options))


def states(q: tenure.Queue) -> dict[Any, str]:
    return {job.payload: job.state for job in q.list(limit=500)}


def stored(place: Place) -> tuple[Any, ...]:
    """How many jobs, requests and periods there are."""
    [counts] = place.sql(
        "SELECT (SELECT count(*) FROM tenure.jobs), (SELECT count(*) FROM tenure.requests), (SELECT count(*) FROM tenure.ledger)"
    )
    return tuple(counts)


def test_redeliveries_among_many_store_nothing_and_name_the_first(q: tenure.Queue, place: Place) -> None:
    first = q.enqueue_many([hook(n, f"update {n}") for n in range(50)])
    again = q.enqueue_many([hook(1_000 + n, f"update {n}") for n in range(200)])
    assert [one.inserted for one in again] == [False] * 50 + [True] * 150
    assert [one.id for one in again[:50]] == [one.id for one in first]
    assert stored(place) == (200, 200, 200)
    assert {job.payload for job in q.list(limit=500)} == {*range(50), *range(1_050, 1_200)}
    request = q.request(again[150].id)
    assert request is not None
    assert request.body == b"body 1150"


def test_of_two_alike_in_one_batch_the_first_is_stored(q: tenure.Queue, place: Place) -> None:
    one, other, third = q.enqueue_many([hook(0, "a"), hook(1, "a"), hook(2, "b")])
    assert (one.inserted, other.inserted, third.inserted) == (True, False, True)
    assert other.id == one.id != third.id
    assert stored(place) == (2, 2, 2)


def test_those_without_a_period_or_without_a_request_come_along(q: tenure.Queue, place: Place) -> None:
    jobs = [
        hook(0, "a"),
        tenure.NewJob(kind="hook", payload=1, request=tenure.Request(b"", {})),
        tenure.NewJob(kind="hook", payload=2, unique="c", unique_for="1h"),
        tenure.NewJob(kind="hook", payload=3),
        tenure.NewJob(kind="hook", payload=4, delay="1h", tags=["x"], meta={"a": "b"}, tenant="t"),
    ]
    told = q.enqueue_many(jobs)
    assert all(one.inserted for one in told)
    assert stored(place) == (5, 2, 2)
    assert states(q) == {0: "ready", 1: "ready", 2: "ready", 3: "ready", 4: "scheduled"}
    late = q.get(told[4].id)
    assert late is not None
    assert (late.tags, late.meta, late.tenant) == (("x",), {"a": "b"}, "t")
    assert [q.request(one.id) is not None for one in told] == [True, True, False, False, False]
    assert not any(one.inserted for one in q.enqueue_many([jobs[0], jobs[2]]))


def test_where_the_first_of_a_group_is_a_redelivery_the_next_one_leads(q: tenure.Queue) -> None:
    q.enqueue_many([hook(0, "a")])
    q.enqueue_many([hook(1, "a", group="g"), hook(2, "b", group="g"), hook(3, "c", group="g")])
    assert states(q) == {0: "ready", 2: "ready", 3: "waiting"}


def test_groups_of_all_sorts_are_decided_about_as_they_would_be_one_by_one(q: tenure.Queue) -> None:
    q.enqueue_many([hook(0, "0", group="taken")])
    q.enqueue_many(
        [hook(1, "1", group="taken", priority=9), hook(2, "2", group="free"), hook(3, "3", group="free")]
    )
    assert states(q) == {0: "ready", 1: "waiting", 2: "ready", 3: "waiting"}
    q.enqueue_many([hook(4, "4", group="urgent"), hook(5, "5", group="urgent", priority=5)])
    q.enqueue_many([hook(6, "6", group="two", group_limit=2), hook(7, "7", group="two", group_limit=2)])
    q.enqueue_many([hook(8, "8", group="later", delay="1h"), hook(9, "9", group="later")])
    found = states(q)
    assert {n: found[n] for n in range(4, 10)} == {
        4: "waiting",
        5: "ready",
        6: "ready",
        7: "ready",
        8: "scheduled",
        9: "ready",
    }


def test_a_period_that_is_over_is_taken_anew(cq: tenure.Queue, clock: MovedClock, place: Place) -> None:
    [first] = cq.enqueue_many([hook(0, "a")])
    clock.advance("59m59s")
    [refused] = cq.enqueue_many([hook(1, "a")])
    clock.advance("1s")
    [taken, other] = cq.enqueue_many([hook(2, "a"), hook(3, "b")])
    assert (refused.inserted, refused.id) == (False, first.id)
    assert taken.inserted
    assert other.inserted
    assert stored(place) == (3, 3, 2)


def test_what_expires_does_so_by_the_stores_clock(cq: tenure.Queue, clock: MovedClock) -> None:
    told = cq.enqueue_many([hook(0, "a", expires_in="1m"), hook(1, "b", expires_in="1h")])
    clock.advance("2m")
    assert [claim.job.id for claim in cq.claim(5)] == [told[1].id]
