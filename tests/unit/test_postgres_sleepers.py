"""Who is told on PostgreSQL, and when: only sleepers, once a commit, never by a settle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import tenure
from tests.support.fresh import postgres_schema
from tests.support.watching import quiet, until


@pytest.fixture
def schema(postgres_url: str) -> Iterator[str]:
    with postgres_schema(postgres_url) as name:
        yield name


@pytest.fixture
def q(postgres_url: str, schema: str) -> Iterator[tenure.Queue]:
    with tenure.open(f"{postgres_url}?schema={schema}") as queue:
        yield queue


class Listener:
    """Somebody who hears the channel and looks at the tables."""

    def __init__(self, url: str, schema: str) -> None:
        self._schema = schema
        self._link = psycopg.connect(url, autocommit=True)
        self._link.execute(f'LISTEN "tenure_{schema}"'.encode())

    def heard(self) -> list[str]:
        """What was said since the last time: a statement of its own brings it all."""
        heard: list[str] = []

        def hear(said: psycopg.Notify) -> None:
            heard.append(said.payload)

        self._link.add_notify_handler(hear)
        self._link.execute("SELECT 1")
        self._link.remove_notify_handler(hear)
        return heard

    def sleepers(self) -> list[Any]:
        return self._link.execute(f'SELECT id, until FROM "{self._schema}".sleepers'.encode()).fetchall()

    def put(self, id: str, until: int) -> None:
        self._link.execute(
            f'INSERT INTO "{self._schema}".sleepers VALUES (%s, %s, %s)'.encode(),
            (id, f"tenure_{self._schema}", until),
        )

    def close(self) -> None:
        self._link.close()


@pytest.fixture
def listener(postgres_url: str, schema: str, q: tenure.Queue) -> Iterator[Listener]:
    made = Listener(postgres_url, schema)
    yield made
    made.close()


def work(q: tenure.Queue) -> None:
    q.enqueue("k")
    q.enqueue("k", priority=3, delay=0)
    q.enqueue_many([tenure.NewJob(kind="k")] * 3)
    q.enqueue_many([tenure.NewJob(kind="k")] * 100)
    for claim in q.claim(200):
        q.settle(claim, tenure.Bury("no"))
    q.replay_many(tenure.Filter(states=["dead"]))


def test_where_nobody_sleeps_nobody_is_told(q: tenure.Queue, listener: Listener) -> None:
    work(q)
    assert listener.heard() == []


def test_who_sleeps_is_told_once_a_commit(q: tenure.Queue, listener: Listener) -> None:
    listener.put("somebody", 2**60)
    q.enqueue("k")
    assert listener.heard() == [""]
    q.enqueue("k", priority=3, delay=0)
    assert listener.heard() == [""]
    q.enqueue_many([tenure.NewJob(kind="k", tags=["a"])] * 30)
    assert listener.heard() == [""]
    q.enqueue_many([tenure.NewJob(kind="k")] * 100)
    assert listener.heard() == [""]


def test_many_who_sleep_are_told_by_one_word(q: tenure.Queue, listener: Listener) -> None:
    for n in range(5):
        listener.put(f"sleeper {n}", 2**60)
    q.enqueue("k")
    assert listener.heard() == [""]


def test_neither_claims_nor_settles_tell(q: tenure.Queue, listener: Listener) -> None:
    q.enqueue_many([tenure.NewJob(kind="k")] * 4)
    listener.put("somebody", 2**60)
    claims = q.claim(4)
    q.renew(claims)
    outcomes: list[tenure.Outcome] = [
        tenure.Done(), tenure.Fail("no", retry_in=0), tenure.Release(), tenure.Bury("no"),
    ]  # fmt: skip
    assert q.settle_many(list(zip(claims, outcomes, strict=True))) == [True] * 4
    q.beat("w")
    assert listener.heard() == []


def test_a_sleeper_that_is_long_dead_is_not_told_and_is_swept_away(
    q: tenure.Queue, listener: Listener
) -> None:
    listener.put("dead", 1)
    q.enqueue("k")
    assert listener.heard() == []
    quiet(q.watch())
    until(lambda: "dead" not in [i for i, _ in listener.sleepers()])


def test_a_watch_sleeps_while_it_waits_and_not_when_it_is_closed(q: tenure.Queue, listener: Listener) -> None:
    watch = q.watch()
    assert listener.sleepers() == []
    quiet(watch)
    assert len(listener.sleepers()) == 1
    watch.close()
    until(lambda: listener.sleepers() == [])


def test_a_row_that_ran_out_is_put_there_again_and_the_caller_looks(
    q: tenure.Queue, listener: Listener
) -> None:
    watch: Any = quiet(q.watch())
    [(mine, before)] = listener.sleepers()
    watch._asleep_until -= 100
    assert watch.wait(10)
    [(same, after)] = listener.sleepers()
    assert same == mine
    assert after > before


def test_a_row_is_renewed_in_time_without_waking_anybody(q: tenure.Queue, listener: Listener) -> None:
    watch: Any = quiet(q.watch())
    [(_, before)] = listener.sleepers()
    watch._asleep_until -= 40
    assert watch.wait(0.2) is False
    until(lambda: not watch.wait(0.05) and listener.sleepers()[0][1] > before)


def test_a_watch_that_calls_itself_wakes_neither_itself_nor_others(
    q: tenure.Queue, listener: Listener
) -> None:
    one: Any = quiet(q.watch())
    other = quiet(q.watch())
    quiet(one)
    listener.heard()
    one._test_at = 0.0
    assert one.wait(0.2) is False
    assert other.wait(0.05) is False
    assert listener.heard() == [one._id]
    assert one.hears
