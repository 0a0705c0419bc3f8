"""A call whose answer was lost is asked again while the server still works on the first try: what that one stores is stored once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import tenure
from tenure.newjob import NewJob, check
from tenure.store.enqueue import enqueue
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
