"""Guards that change no answer but spare work: what is behind the first rows, or cannot match, is not read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import sql

import tenure
from tenure.newjob import lane_of
from tenure.store.plan import Statement
from tenure.store.postgres.bind import bound
from tenure.store.postgres.connection import connect
from tenure.store.postgres.store import PostgresStore
from tests.proof.guards.test_reads import asked
from tests.proof.guards.workbench import NOW, Workbench, pack, uid

LANE = lane_of("q", "k", 0)


def steps(b: Workbench, name: str, **params: Any) -> int:
    """How many instructions of SQLite's machine a statement takes, told one by one, once it is compiled."""
    taken = 0

    def step() -> bool:
        nonlocal taken
        taken += 1
        return False

    text = b.store.dialect.statements[name].text
    b.link.execute("BEGIN")
    try:
        b.link.execute(text, params).fetchall()
        b.link.execute("ROLLBACK; BEGIN")
        b.link.set_progress_handler(step, 1, id="steps")
        b.link.execute(text, params).fetchall()
    finally:
        b.link.execute("ROLLBACK")
        b.link.set_progress_handler(None, id="steps")
    return taken


def read_from(b: Workbench, table: str, name: str, **params: Any) -> list[tuple[int, float]]:
    """How often PostgreSQL looked into a table, and how many rows it found there, by the nodes of the plan it went by."""
    known = b.store.dialect.statements[name]
    given = bound(Statement(name, params))
    values = sql.SQL(", ").join(sql.Literal(given[p]) for p in known.parameters)
    assert isinstance(b.store, PostgresStore)
    # A connection of the store's own, so that whatever it sets for its sessions counts.
    with connect(b.store.place) as link:
        link.execute("SET plan_cache_mode = force_generic_plan")
        link.execute(f"PREPARE watched AS {known.text}".encode(), prepare=False)
        call = sql.SQL("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE watched({})").format(values)
        [(told,)] = link.execute(call).fetchall()
    return [
        (node["Actual Loops"], node["Actual Rows"])
        for node in nodes(told[0]["Plan"])
        if node.get("Relation Name") == table
    ]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node of a plan, and all below it."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def test_what_stands_behind_the_first_of_a_lane_is_not_looked_at(bench: Workbench) -> None:
    lanes = pack({"lane": LANE, "queue": "q", "run_at": 0, "seq": 0})
    params = {"lanes": lanes, "limit": 1, "now": NOW}
    bench.job(1)
    if bench.name == "postgres":
        for n in range(2, 9):
            bench.job(n)
        assert read_from(bench, "jobs", "look", **params) == [(1, 1)]
        return
    alone = steps(bench, "look", **params)
    for n in range(2, 9):
        bench.job(n)
    assert steps(bench, "look", **params) == alone


def test_what_waits_behind_the_first_of_a_group_is_not_looked_at(file: Workbench) -> None:
    groups = pack({"group_key": "g"})
    file.job(1, "waiting", group_key="g", group_limit=1)
    alone = steps(file, "admit", groups=groups)
    for n in range(2, 9):
        file.job(n, "waiting", group_key="g", group_limit=1)
    assert steps(file, "admit", groups=groups) == alone
    file.sql("DELETE FROM tenure_jobs WHERE seq > 1")
    file.job(2, "waiting", group_key="g", group_limit=2)
    assert steps(file, "admit", groups=groups) == alone, "the first of them says how many there may be"


@pytest.mark.parametrize("way", ["list", "find"])
def test_attempts_of_jobs_without_an_error_are_not_looked_at(bench: Workbench, way: str) -> None:
    bounds = {"before": None, "low": None} if way == "list" else {"after": None, "high": None}
    params = {**asked(limit=9, **bounds), **tenure.Filter(error="down").parameters(), "now": NOW}

    def failed(job_id: str) -> None:
        bench.put(
            "attempts", job_id=job_id, epoch=1, attempt=1, finished_at=NOW, error_kind="E", message="down"
        )

    bench.job(1)
    if bench.name == "postgres":
        failed(uid(1))
        assert {loops for loops, _ in read_from(bench, "attempts", way, **params)} == {0}
        bench.job(2, error="up")
        assert sum(loops for loops, _ in read_from(bench, "attempts", way, **params)) == 1
        return
    spared = steps(bench, way, **params)
    failed(uid(1))
    assert steps(bench, way, **params) == spared
    bench.sql("UPDATE tenure.jobs SET error = 'up'")
    assert steps(bench, way, **params) > spared


def test_a_settle_without_results_looks_for_none(server: Workbench) -> None:
    """An operator of our own stands in for the one that looks into a JSON object, and refuses."""
    schema = server.prefix.rstrip(".")
    server.sql(
        f"CREATE FUNCTION {schema}.refuse(jsonb, text) RETURNS text AS $$ BEGIN RAISE 'looked'; END $$ LANGUAGE plpgsql"
    )
    server.sql(f"CREATE OPERATOR {schema}.->> (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = {schema}.refuse)")
    known = server.store.dialect.statements["settle_done"]
    link = server.link
    link.execute(f"SET search_path = {schema}, pg_catalog".encode())
    link.execute(f"PREPARE settled AS {known.text}".encode(), prepare=False)

    def settle(n: int, results: dict[str, str]) -> None:
        server.job(n, "running", epoch=1, lease_until=NOW + 9, worker="w")
        given = {"id": f"{{{uid(n)}}}", "epoch": "{1}", "result": json.dumps(results), "now": NOW}
        values = sql.SQL(", ").join(sql.Literal(given[p]) for p in known.parameters)
        link.execute(sql.SQL("EXECUTE settled({})").format(values))

    try:
        settle(1, {})
        with pytest.raises(Exception, match="looked"):
            settle(2, {f"{uid(2)}:1": "7"})
    finally:
        link.execute("DEALLOCATE settled")
        link.execute("RESET search_path")
        server.sql(f"DROP OPERATOR {schema}.->> (jsonb, text); DROP FUNCTION {schema}.refuse(jsonb, text)")
    assert server.states() == {1: "done", 2: "running"}
