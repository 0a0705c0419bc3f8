"""A watch on PostgreSQL whose connection is killed, falls silent, is refused, or is not there to be had."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from urllib.parse import quote

import psycopg
import pytest

import tenure
from tenure.store.open import open_store
from tenure.store.postgres.store import PostgresStore
from tests.support.fresh import postgres_schema
from tests.support.postgres import PostgresServer
from tests.support.process import free_port
from tests.support.proxy import Proxy
from tests.support.watching import heard_during, hears_by_and_by, quiet, until


@pytest.fixture
def schema(postgres_url: str) -> Iterator[str]:
    with postgres_schema(postgres_url) as name:
        yield name


@pytest.fixture
def q(postgres_url: str, schema: str) -> Iterator[tenure.Queue]:
    """A queue that is not in the way of what happens to the watch."""
    with tenure.open(f"{postgres_url}?schema={schema}") as queue:
        yield queue


def opened(url: str) -> PostgresStore:
    store = open_store(url)
    assert isinstance(store, PostgresStore)
    return store


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "tenure" and r.levelno == logging.WARNING]


def test_a_connection_that_was_killed_is_made_anew(
    postgres_url: str, schema: str, q: tenure.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    with tenure.open(f"{postgres_url}?schema={schema}&application_name={schema}") as mine:
        watch = quiet(mine.watch())
        for turn in range(1, 3):

            def kill() -> None:
                with psycopg.connect(postgres_url, autocommit=True) as other:
                    other.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
                        (schema,),
                    )

            # What was enqueued while nobody listened was not heard: so it says to look.
            assert heard_during(watch, kill) == [True]
            assert watch.hears
            assert heard_during(quiet(watch), lambda: q.enqueue("k")) == [True]
            assert len(warnings_in(caplog)) == turn
            assert "they are found by looking until this works again" in caplog.text


def test_a_server_that_restarts_is_no_error_and_is_heard_again() -> None:
    with PostgresServer(durable=False) as server, tenure.open(server.url()) as q:
        watch = quiet(q.watch())
        server.stop("fast")
        assert watch.wait(0.1) is False
        assert not watch.hears
        server.start()
        assert heard_during(quiet(watch), lambda: q.enqueue("k")) == [True]


def test_a_connection_that_falls_silent_is_noticed_and_made_anew(
    postgres_url: str, schema: str, q: tenure.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    with Proxy(postgres_url) as proxy:
        store = opened(f"{proxy.url}&schema={schema}")
        watch = store.watch(test_every=0.1, test_within=0.5)
        hears_by_and_by(watch)
        assert not warnings_in(caplog)
        proxy.fall_silent()

        def is_noticed() -> bool:
            watch.wait(0.05)  # within which it may connect anew, too
            return bool(warnings_in(caplog))

        until(is_noticed)
        [warning] = warnings_in(caplog)
        assert "the connection that listens fell silent" in warning
        hears_by_and_by(watch)
        assert heard_during(watch, lambda: q.enqueue("k")) == [True]
        assert len(warnings_in(caplog)) == 1
        watch.close()
        store.close()


def test_a_watch_that_may_not_ask_to_be_told_says_so_once(
    postgres_url: str, schema: str, q: tenure.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(f'DROP TABLE "{schema}".sleepers'.encode())
    watch = q.watch()
    until(lambda: not watch.wait(0.02) and bool(warnings_in(caplog)))
    for _ in range(20):
        watch.wait(0.02)
    [warning] = warnings_in(caplog)
    assert "sleepers" in warning
    assert not watch.hears
    watch.close()


def test_a_server_that_does_not_answer_is_no_error(
    postgres_url: str, schema: str, q: tenure.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = quote(f"postgresql://postgres@127.0.0.1:{free_port()}/postgres", safe="")
    with tenure.open(f"{postgres_url}?schema={schema}&listen={nowhere}") as mine:
        watch = mine.watch()
        assert [watch.wait(0.1) for _ in range(5)] == [False] * 5
        assert not watch.hears
        assert len(warnings_in(caplog)) == 1
        assert heard_during(watch, watch.interrupt) == [True]


@pytest.mark.parametrize("option", ["pgbouncer=true", "notify=false"])
def test_where_nobody_can_or_should_listen_a_watch_only_sleeps(
    option: str, postgres_url: str, schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    with tenure.open(f"{postgres_url}?schema={schema}&{option}") as mine:
        watch = mine.watch()
        mine.enqueue("k")
        assert watch.wait(0.1) is False
        assert not watch.hears
        assert heard_during(watch, watch.interrupt) == [True]
        assert not warnings_in(caplog)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        assert other.execute(f'SELECT * FROM "{schema}".sleepers'.encode()).fetchall() == []


def test_behind_pgbouncer_a_watch_listens_at_the_server_s_own_address(postgres_url: str, schema: str) -> None:
    own = quote(postgres_url, safe="")
    with tenure.open(f"{postgres_url}?schema={schema}&pgbouncer=true&listen={own}") as mine:
        assert heard_during(quiet(mine.watch()), lambda: mine.enqueue("k")) == [True]
