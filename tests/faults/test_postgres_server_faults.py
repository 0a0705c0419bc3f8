"""A PostgreSQL that restarts, is down, is not there, or says no."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import tenure
from tenure.store.open import open_store
from tests.support.fresh import postgres_schema
from tests.support.postgres import PostgresServer, StopMode, with_database
from tests.support.process import free_port


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of our own, to be treated badly."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    server.start()
    with postgres_schema(server.url()) as schema:
        yield f"{server.url()}?schema={schema}"
        server.start()


VERBS: dict[str, Callable[[tenure.Queue, str, tenure.Claim], Any]] = {
    "enqueue": lambda q, dead, claim: q.enqueue("k").inserted,
    "enqueue unique": lambda q, dead, claim: q.enqueue("k", unique="u", unique_for="1h").inserted,
    "enqueue_many": lambda q, dead, claim: len(q.enqueue_many([tenure.NewJob(kind="k")] * 60)) == 60,
    "claim": lambda q, dead, claim: len(q.claim()) == 1,
    "settle": lambda q, dead, claim: q.settle(claim, tenure.Done()),
    "fail": lambda q, dead, claim: q.settle(claim, tenure.Fail("no")),
    "renew": lambda q, dead, claim: q.renew([claim]).kept == {claim.id},
    "replay": lambda q, dead, claim: q.replay(dead) == "replayed",
    "list": lambda q, dead, claim: len(q.list()) == 3,
    "promote": lambda q, dead, claim: q.promote() == 0,
    "beat": lambda q, dead, claim: q.beat("w") is None,
}


@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_queue_recovers_by_itself_after_the_server_restarted(
    verb: str, mode: StopMode, server: PostgresServer, url: str
) -> None:
    with tenure.open(url) as q:
        dead = q.enqueue("k").id
        [claim] = q.claim()
        assert q.settle(claim, tenure.Bury("no"))
        q.enqueue("k", priority=1)
        [claim] = q.claim()
        q.enqueue("k")
        server.restart(mode)
        assert VERBS[verb](q, dead, claim)


def test_a_job_enqueued_across_a_restart_is_stored_once(server: PostgresServer, url: str) -> None:
    with tenure.open(url) as q:
        first = q.enqueue("k").id
        server.restart("immediate")
        second = q.enqueue("k").id
        assert sorted(job.id for job in q.list()) == [first, second]


def test_while_the_server_is_down_calls_fail_and_afterwards_they_work(
    server: PostgresServer, url: str
) -> None:
    q = tenure.Queue(open_store(url, patience=0.2))
    kept = q.enqueue("k").id
    server.stop("fast")
    for call in (lambda: q.enqueue("k"), q.claim, lambda: q.get(kept), lambda: q.replay(kept)):
        with pytest.raises(tenure.StoreUnavailable, match="PostgreSQL") as caught:
            call()
        assert "\n" not in str(caught.value)
        assert "check" in str(caught.value)
    server.start()
    assert [c.id for c in q.claim(5)] == [kept]
    q.close()


def test_a_server_that_is_down_at_the_start_is_waited_for(server: PostgresServer, url: str) -> None:
    server.stop("fast")
    starter = threading.Thread(target=server.start)
    starter.start()
    store = open_store(url, patience=60)
    starter.join()
    q = tenure.Queue(store)
    assert q.enqueue("k").inserted
    q.close()


def unavailable(url: str) -> str:
    with pytest.raises(tenure.StoreUnavailable) as caught:
        open_store(url, patience=0.2)
    assert "\n" not in str(caught.value)
    assert "check that the server runs and the URL is right" in str(caught.value)
    return str(caught.value)


def test_a_server_that_does_not_run_is_said_not_to_answer() -> None:
    assert "PostgreSQL does not answer" in unavailable(
        f"postgresql://postgres@127.0.0.1:{free_port()}/postgres"
    )


def test_an_unknown_host_is_named() -> None:
    assert "no-such-host.invalid" in unavailable("postgresql://postgres@no-such-host.invalid/postgres")


def test_a_database_that_does_not_exist_is_named(postgres_url: str) -> None:
    assert '"no_such_database" does not exist' in unavailable(with_database(postgres_url, "no_such_database"))


def test_a_password_is_in_no_message() -> None:
    said = unavailable(f"postgresql://someone:hunter2@127.0.0.1:{free_port()}/postgres")
    assert "hunter2" not in said


@pytest.fixture
def role(server: PostgresServer, url: str) -> Iterator[str]:
    """A role that may do nothing, and the URL of the store for it."""
    name = "t_nobody"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'CREATE ROLE "{name}" LOGIN'.encode())
        yield name
        connection.execute(f'DROP OWNED BY "{name}"'.encode())
        connection.execute(f'DROP ROLE "{name}"'.encode())


def refused(url: str) -> str:
    with pytest.raises(tenure.StoreRefused) as caught:
        open_store(url, patience=0.2)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_role_that_may_not_create_the_schema_is_told_so(url: str, role: str) -> None:
    said = refused(url.replace("postgres@", f"{role}@"))
    assert "permission denied for database" in said
    assert "grant it the rights it needs" in said


def test_a_role_that_may_not_use_the_schema_is_told_so(url: str, role: str) -> None:
    tenure.open(url).close()
    said = refused(url.replace("postgres@", f"{role}@"))
    assert "permission denied for schema" in said
    assert "grant it the rights it needs" in said


def test_a_role_that_may_use_the_tables_needs_no_more(server: PostgresServer, url: str, role: str) -> None:
    tenure.open(url).close()
    schema = url.partition("schema=")[2]
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO "{role}"'.encode())
        connection.execute(f'GRANT ALL ON ALL TABLES IN SCHEMA "{schema}" TO "{role}"'.encode())
    with tenure.open(url.replace("postgres@", f"{role}@")) as q:
        q.enqueue("k", group="g")
        [claim] = q.claim()
        assert q.settle(claim, tenure.Done())


def test_a_role_that_may_only_look_is_told_so_by_the_call(
    server: PostgresServer, url: str, role: str
) -> None:
    tenure.open(url).close()
    schema = url.partition("schema=")[2]
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO "{role}"'.encode())
        connection.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO "{role}"'.encode())
    with tenure.open(url.replace("postgres@", f"{role}@")) as q:
        assert q.list() == []
        with pytest.raises(
            tenure.StoreRefused, match=r"may not do that: permission denied for table jobs; grant it"
        ):
            q.enqueue("k")


def test_a_server_that_only_reads_is_unavailable(server: PostgresServer, url: str) -> None:
    """A primary that became a standby: other tries may meet a server that writes again."""
    q = tenure.Queue(open_store(url, patience=0.2))
    q.enqueue("k")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
    try:
        server.restart("fast")
        with pytest.raises(tenure.StoreUnavailable, match="read-only"):
            q.enqueue("k")
        assert len(q.list()) == 1
    finally:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")
        server.restart("fast")
    assert q.enqueue("k").inserted
    q.close()


def test_a_queue_outlives_any_number_of_broken_connections(postgres_url: str) -> None:
    with postgres_schema(postgres_url) as schema:
        url = f"{postgres_url}?schema={schema}&application_name={schema}"
        with tenure.open(url) as q, psycopg.connect(postgres_url, autocommit=True) as other:
            for _ in range(20):
                q.enqueue("k")
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
                    (schema,),
                )
            assert q.counts()["default"]["ready"] == 20
