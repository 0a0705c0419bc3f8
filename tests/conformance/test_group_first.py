"""The first job of an empty group is ready as soon as it is stored: exactly one, and the right one."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import tenure
from tests.support.claiming import at_once
from tests.support.places import Place


def made(n: int, group: str = "g", **options: Any) -> tenure.NewJob:
    return tenure.NewJob(kind="k", payload=n, group=group, **options)


def ready(q: tenure.Queue) -> list[Any]:
    return sorted(job.payload for job in q.list(limit=500) if job.state == "ready")


def test_of_a_bulk_the_first_of_each_group_is_ready(q: tenure.Queue, place: Place) -> None:
    q.enqueue_many([made(n, f"g{n % 3}") for n in range(12)])
    assert ready(q) == [0, 1, 2]
    assert place.sql("SELECT count(*) FROM tenure.jobs WHERE held IS NOT NULL AND state = 'ready'") == [(3,)]
    assert [claim.job.payload for claim in q.claim(10)] == [0, 1, 2]
    assert q.claim(10) == []


def test_of_a_bulk_the_most_urgent_of_a_group_is_ready(q: tenure.Queue) -> None:
    q.enqueue_many([made(0), made(1, priority=5), made(2, priority=5), made(3, priority=-1)])
    assert ready(q) == [1]


@pytest.mark.parametrize(
    ("other", "expected"),
    [({"delay": "1h"}, [1]), ({"delay": 0}, [0]), ({"group_limit": 3}, [0, 1, 2])],
    ids=["due later", "due by a delay of nothing", "three at a time"],
)
def test_jobs_of_several_sorts_in_one_group_are_decided_about_together(
    cq: tenure.Queue, other: dict[str, Any], expected: list[int]
) -> None:
    cq.enqueue_many([made(0, **other), made(1), made(2)])
    assert ready(cq) == expected


def test_behind_one_that_holds_the_slot_all_wait(q: tenure.Queue) -> None:
    q.enqueue_many([made(0)])
    q.enqueue_many([made(1, priority=9), made(2, priority=9)])
    assert ready(q) == [0]
    [claim] = q.claim(5)
    assert q.enqueue_job(made(3, priority=9)).inserted
    assert ready(q) == []
    assert q.settle(claim, tenure.Done())
    assert ready(q) == [1]


def test_where_the_first_is_a_duplicate_the_next_is_ready(q: tenure.Queue) -> None:
    holder = q.enqueue("k", unique="u")
    answers = q.enqueue_many([made(0, unique="u"), made(1), made(2)])
    assert [answer.inserted for answer in answers] == [False, True, True]
    assert answers[0].id == holder.id
    assert q.get(answers[1].id).state == "ready"  # type: ignore[union-attr]
    assert q.get(answers[2].id).state == "waiting"  # type: ignore[union-attr]


def test_of_many_who_enqueue_into_an_empty_group_at_once_one_job_is_ready(place: Place) -> None:
    queues = [place.open() for _ in range(8)]
    at_once([partial(queue.enqueue_many, [made(n, f"g{n}") for n in range(5)]) for queue in queues])
    claimed = [claim for _ in range(3) for claim in queues[0].claim(100)]
    assert sorted(claim.job.payload for claim in claimed) == [0, 1, 2, 3, 4]
    for claim in claimed:
        assert queues[0].settle(claim, tenure.Done())
    again = [claim for _ in range(3) for claim in queues[0].claim(100)]
    assert sorted(claim.job.payload for claim in again) == [0, 1, 2, 3, 4]
