"""A transaction that somebody left open keeps every old version of every row: claims must not read through them."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from psycopg import sql

import tenure
from tenure.store.plan import Statement
from tenure.store.postgres.bind import bound
from tenure.store.postgres.connection import PostgresRunner, connect
from tenure.store.postgres.store import PostgresStore
from tests.structure.test_plans import nodes, run_and_record
from tests.support.fresh import postgres_schema

DONE = 3_000
TAKEN = 10


def pages(store: PostgresStore, claim: Statement, **other: Any) -> int:
    """How many pages a claim looks at to find its jobs; it is undone."""
    known, params = store.dialect.statements["claim"], {**bound(claim), **other}
    values = sql.SQL(", ").join(sql.Literal(params[p]) for p in known.parameters)
    with connect(store.place) as link, link.transaction(force_rollback=True):
        link.execute(f"PREPARE looked_at AS {known.text}".encode(), prepare=False)
        asked = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked_at({})").format(values)
        [(found,)] = link.execute(asked, prepare=False).fetchall()
        link.execute("DEALLOCATE looked_at")
    [scan] = [
        n
        for n in nodes(found[0]["Plan"])
        if (n["Node Type"], n.get("Index Name")) == ("Index Scan", "jobs_ready")
    ]
    assert scan["Actual Rows"] == TAKEN
    return int(scan["Shared Hit Blocks"]) + int(scan["Shared Read Blocks"])


def test_a_claim_looks_at_as_little_behind_a_pinned_xmin_as_without_one(postgres_url: str) -> None:
    with (
        postgres_schema(postgres_url) as schema,
        tenure.open(f"{postgres_url}?schema={schema}") as q,
        psycopg.connect(postgres_url) as pin,
    ):
        store = q._store
        assert isinstance(store, PostgresStore)
        with psycopg.connect(postgres_url, autocommit=True) as owner:
            owner.execute(f'ALTER TABLE "{schema}".jobs SET (autovacuum_enabled = off)'.encode())
        pin.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        pin.execute("SELECT 1")
        few = _claim(q)
        clean = pages(store, few)
        _work_off(q)
        behind = _claim(q)
        start = json.dumps([{**lane, "run_at": -1, "seq": 0} for lane in json.loads(bound(behind)["lanes"])])
        # Who read a lane from its beginning would read all that was done since: the scene is what it is meant to be.
        assert pages(store, behind, lanes=start) > 50
        assert pages(store, behind) <= clean + 5 < 15
        pin.rollback()


def _claim(q: tenure.Queue) -> Statement:
    """What a worker that is at work says when it claims, with as many jobs left for who asks the same again."""
    q.enqueue_many([tenure.NewJob(kind="k") for _ in range(3 * TAKEN)])
    assert q.settle_many([(claim, tenure.Done()) for claim in q.claim(TAKEN)])
    return run_and_record(PostgresRunner, lambda: q.claim(TAKEN))["claim"]


def _work_off(q: tenure.Queue) -> None:
    for _ in range(DONE // 500):
        q.enqueue_many([tenure.NewJob(kind="k") for _ in range(500)])
        while claims := q.claim(100):
            assert all(q.settle_many([(claim, tenure.Done()) for claim in claims]))
