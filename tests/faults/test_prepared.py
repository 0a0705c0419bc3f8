"""What was prepared on a PostgreSQL connection may be gone, or answer with other columns: it is prepared anew, and nobody notices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import psycopg
import pytest

import tenure
from tenure.store.dialect import Sql
from tenure.store.postgres.store import PostgresStore
from tenure.store.postgres.trip import PREPARE_AFTER, Stale, Trips
from tests.faults.test_pgbouncer import work
from tests.support.fresh import postgres_schema

TWO = Sql("two", "SELECT * FROM pair WHERE a = $1::int", ("a",))


@pytest.fixture
def link(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as link:
        link.execute("CREATE TEMPORARY TABLE pair AS SELECT 1 AS a, 2 AS b")
        yield link


@pytest.fixture
def trips(link: psycopg.Connection) -> Trips:
    """A connection on which TWO is prepared."""
    trips = Trips(link, prepare=True)
    for _ in range(PREPARE_AFTER + 1):
        assert trips.ask(TWO, [1]).rows == [(1, 2)]
    names = link.execute("SELECT name FROM pg_prepared_statements WHERE name ~ '^tenure_'").fetchall()
    assert names == [("tenure_1",)]
    return trips


def test_a_queue_goes_on_after_what_it_had_prepared_was_thrown_away(postgres_url: str) -> None:
    with postgres_schema(postgres_url) as schema, tenure.open(f"{postgres_url}?schema={schema}") as q:
        pool = cast("PostgresStore", q._store)._pool
        for n in range(2):
            work(q, PREPARE_AFTER + 1)
            runner = pool.take()
            runner.link.execute("DEALLOCATE ALL")
            pool.give_back(runner)
            q.enqueue("k", unique=f"u{n}", unique_for="1h", group="g")
            [claim] = q.claim()
            assert q.settle(claim, tenure.Done())


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1"])
def test_a_single_enqueue_is_stored_once_and_as_it_is_whatever_became_of_what_was_prepared(
    postgres_url: str, encoding: str
) -> None:
    with (
        postgres_schema(postgres_url) as schema,
        tenure.open(f"{postgres_url}?schema={schema}&client_encoding={encoding}") as q,
        psycopg.connect(postgres_url, autocommit=True) as other,
    ):
        pool = cast("PostgresStore", q._store)._pool
        stored = {}
        for n, text in enumerate(["", "x" * 1_000_000, "gone", "ended"] * (PREPARE_AFTER + 2)):
            if n > PREPARE_AFTER and text in ("gone", "ended"):
                runner = pool.take()
                if text == "gone":
                    runner.link.execute("DEALLOCATE ALL")
                else:
                    other.execute("SELECT pg_terminate_backend(%s)", (runner.link.info.backend_pid,))
                pool.give_back(runner)
            stored[q.enqueue("käse", [text, "ü"]).id] = [text, "ü"]
        assert {job.id: job.payload for job in q.list()} == stored
        assert {job.kind for job in q.list()} == {"käse"}


@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
def test_a_statement_that_is_gone_is_said_to_be_and_prepared_anew(
    link: psycopg.Connection, trips: Trips, together: bool
) -> None:
    link.execute("DEALLOCATE ALL")
    with pytest.raises(Stale, match="does not exist"):
        trips.make([], [(TWO, [1])], []) if together else trips.ask(TWO, [1])
    assert trips.ask(TWO, [1]).rows == [(1, 2)]


@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
def test_a_statement_that_would_answer_with_other_columns_is_prepared_anew(
    link: psycopg.Connection, trips: Trips, together: bool
) -> None:
    link.execute("ALTER TABLE pair ADD c int DEFAULT 3")
    with pytest.raises(Stale, match="result type"):
        trips.make([], [(TWO, [1])], []) if together else trips.ask(TWO, [1])
    assert trips.make([], [(TWO, [1])], [])[0].rows == [(1, 2, 3)]


def test_what_cannot_be_sent_leaves_the_connection_as_it_was(trips: Trips) -> None:
    with pytest.raises(psycopg.ProgrammingError):
        trips.make([b"BEGIN"], [(TWO, [1]), (TWO, [object()])], [b"COMMIT"])
    assert trips.ask(TWO, [1]).rows == [(1, 2)]
    assert trips.make([b"BEGIN"], [(TWO, [1])], [b"COMMIT"])[0].rows == [(1, 2)]


def test_a_refusal_that_has_nothing_to_do_with_it_stays_what_it_is(link: psycopg.Connection) -> None:
    two_sequences = Sql("both", "SELECT nextval('pg_class'::regclass) FROM pair WHERE a = $1::int", ("a",))
    with pytest.raises(psycopg.errors.WrongObjectType):
        Trips(link, prepare=True).ask(two_sequences, [1])
