"""A call is asked again where its answer was lost while the server still works on the first try (what that one stores is stored
once), and where the server says that another try will do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from urllib.parse import quote

import psycopg
import pytest

import tenure
from tenure.newjob import NewJob, check
from tenure.store.enqueue import enqueue
from tenure.store.plan import Plan, Statement
from tests.support.fresh import postgres_schema
from tests.support.workers import until

MOVED = ("ledger", "finished")


@pytest.fixture
def schema(postgres_url: str) -> Iterator[str]:
    with postgres_schema(postgres_url) as schema:
        yield schema


def test_a_try_that_waits_for_the_period_of_the_try_before_it_finds_the_job_that_this_one_stored(
    postgres_url: str, schema: str
) -> None:
    """Even one that has been done meanwhile, and so stands in nobody's way."""
    row = check(NewJob(kind="k", unique="u", unique_for="1h"))
    with (
        tenure.open(f"{postgres_url}?schema={schema}") as q,
        psycopg.connect(postgres_url, autocommit=True) as first,
        ThreadPoolExecutor(1) as threads,
    ):
        store = q._store
        store.run(lambda _: enqueue([row], store.dialect.can, now=None))
        assert q.settle(q.claim()[0], tenure.Done())
        # All of this is to become true when one transaction ends.
        for name in MOVED:
            first.execute(f'CREATE TEMPORARY TABLE kept_{name} AS SELECT * FROM "{schema}".{name}'.encode())
            first.execute(f'DELETE FROM "{schema}".{name}'.encode())
        with first.transaction():
            for name in MOVED:
                first.execute(f'INSERT INTO "{schema}".{name} SELECT * FROM kept_{name}'.encode())
            again = threads.submit(
                store.run, lambda _: enqueue([row], store.dialect.can, now=None, again=True)
            )
            until(lambda: _waits_for(first) or again.done())
            assert not again.done()
        assert again.result(30) == [(row.id, True)]
        assert [job.state for job in q.list()] == ["done"]


def _waits_for(connection: psycopg.Connection) -> bool:
    """Whether somebody waits for this connection's transaction."""
    pid = connection.info.backend_pid
    query = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    return connection.execute(query, [pid]).fetchall() != [(0,)]


def _with(url: str, schema: str, setting: str) -> str:
    """The store, on connections that are set so."""
    return f"{url}?schema={schema}&options={quote(f'-c {setting}')}"


def test_who_is_told_to_let_go_of_a_deadlock_tries_again(postgres_url: str, schema: str) -> None:
    """Two connections, each with the row that the other waits for (40P01): the store's, which is the first to notice, gives way."""
    tries: list[bool] = []
    waiting: list[Future[object]] = []
    with (
        tenure.open(_with(postgres_url, schema, "deadlock_timeout=20ms")) as q,
        psycopg.connect(postgres_url) as other,
        psycopg.connect(postgres_url, autocommit=True) as looker,
        ThreadPoolExecutor(2) as threads,
    ):
        first, second = (q.enqueue("k").id for _ in range(2))
        assert len(q.claim(2)) == 2
        store, row = q._store, f'SELECT 1 FROM "{schema}".jobs WHERE id = %s FOR UPDATE'.encode()
        other.execute("SET deadlock_timeout = '60s'")
        other.execute(row, [second])

        def hold(job_id: str) -> Statement:
            return Statement("hold", {"claims": json.dumps([{"id": job_id, "epoch": 1}]), "now": None})

        def plan(again: bool) -> Plan[list[object]]:
            tries.append(again)
            found = (yield hold(first)).rows
            if not waiting:
                waiting.append(threads.submit(other.execute, row, [first]))
                until(lambda: _is_blocked(looker, other.info.backend_pid))
            return [row[0] for row in found + (yield hold(second)).rows]

        asked = threads.submit(store.run, plan)
        until(lambda: waiting or asked.done())
        waiting[0].result(30)  # once the store has let go
        assert not asked.done()
        other.rollback()
        assert asked.result(30) == [first, second]
    assert len(tries) > 1
    assert not any(tries)


def _is_blocked(looker: psycopg.Connection, pid: int) -> bool:
    return looker.execute("SELECT cardinality(pg_blocking_pids(%s))", [pid]).fetchall() != [(0,)]


def test_what_cannot_be_put_in_a_row_with_others_is_tried_again(postgres_url: str, schema: str) -> None:
    """Where somebody set the server to stricter transactions, a row that another changed meanwhile is refused (40001)."""
    tries: list[bool] = []
    url = _with(postgres_url, schema, "default_transaction_isolation=serializable")
    with (
        tenure.open(url) as q,
        psycopg.connect(postgres_url) as other,
        ThreadPoolExecutor(1) as threads,
    ):
        q.enqueue("k")
        [claim] = q.claim()
        store = q._store

        def plan(again: bool) -> Plan[int]:
            tries.append(again)
            params = {"id": claim.id, "epoch": claim.epoch, "progress": 0.5, "note": "mine"}
            return (yield Statement("progress", params, alone=True)).changed

        other.execute(f'UPDATE "{schema}".jobs SET progress_note = %s'.encode(), ["theirs"])
        asked = threads.submit(store.run, plan)
        until(lambda: _waits_for(other) or asked.done())
        assert not asked.done()
        other.commit()
        assert asked.result(30) == 1
        [job] = q.list()
        assert job.progress_note == "mine"
    assert tries == [False, False]
