"""Query plans: what runs all the time reaches its rows by the index made for it, whatever the planner believes.

The statements are those that the verbs really run, with the parameters they really bind. PostgreSQL is asked for the plan
of one call and for the plan it would keep; both on a table that is empty, on one that is full and known to be, on one that
was empty when the planner last looked, and on one that had been emptied and vacuumed then: the planner believes that its
many pages hold no rows, as it does of any queue that ran empty before the next burst came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import apsw
import psycopg
import pytest
from psycopg import sql

import tenure
from tenure.store import health
from tenure.store.base import Store
from tenure.store.open import open_store
from tenure.store.plan import Result, Statement
from tenure.store.postgres.bind import bound
from tenure.store.postgres.connection import PostgresRunner, connect
from tenure.store.postgres.dialect import postgres_dialect
from tenure.store.postgres.store import PostgresStore
from tenure.store.sqlite.store import SqliteStore
from tests.support.fresh import postgres_schema

Filled = Literal["empty", "analyzed when full", "analyzed when empty", "vacuumed when emptied"]
FILLED: list[Filled] = ["empty", "analyzed when full", "analyzed when empty", "vacuumed when emptied"]
ROWS = 20_000
OnPostgres = tuple[PostgresStore, dict[str, Statement]]


def run_and_record(runner: type[Any], work: Callable[[], object]) -> dict[str, Statement]:
    """Every statement that was run, by name, as it was first run."""
    seen: dict[str, Statement] = {}
    run = runner.execute

    def execute(self: Any, statement: Statement) -> Result:
        one: Statement | None = statement
        while one is not None:
            seen.setdefault(one.name, one)
            one = one.then
        answer: Result = run(self, statement)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "execute", execute)
        work()
    return seen


def fill(
    q: tenure.Queue, filled: Filled, analyze: Callable[[], None], emptied: Callable[[], None] | None = None
) -> None:
    if filled == "vacuumed when emptied" and emptied is not None:
        q.enqueue_many([tenure.NewJob(kind="k0", queue="q0") for _ in range(ROWS)])
        emptied()
    elif filled in ("analyzed when empty", "vacuumed when emptied"):
        analyze()
    if filled != "empty":
        for start in range(0, ROWS, 5_000):
            jobs = [tenure.NewJob(kind=f"k{n % 4}", queue=f"q{n % 2}") for n in range(start, start + 5_000)]
            q.enqueue_many(jobs)
            q.enqueue_many([tenure.NewJob(kind="k0", queue="q0", delay="1d") for _ in jobs[:1_500]])
    if filled == "analyzed when full":
        analyze()


def work(q: tenure.Queue, store: Store) -> None:
    """What workers do all the time, and what people look at."""
    one = q.enqueue("k0", queue="q0").id
    claims = q.claim(20)
    assert claims
    q.renew(claims)
    q.progress(claims[0], 0.5)
    assert all(q.settle_many([(c, tenure.Done()) for c in claims]))
    q.enqueue("k0", queue="q0", priority=9, delay=0)
    [claim] = q.claim()
    assert q.settle(claim, tenure.Fail("no", retry_in=0))
    q.hook("*", "tell")
    [claim] = q.claim()
    assert q.settle(claim, tenure.Bury("no"))
    q.promote()
    q.expire()
    q.reclaim()
    q.vanished("w")
    q.get(one)
    q.list(tenure.Filter(kinds=["k1"]))
    q.count(tenure.Filter(states=["dead"], error="x"))
    q.list(tenure.Filter(states=["dead"]))
    q.list(tenure.Filter(states=["running"]))
    q.list(tenure.Filter(flow="f"))
    q.count(tenure.Filter(parent=one))
    q.next_due()
    q.pulse()
    q.running()
    q.error_groups(datetime.now(UTC))
    q.rollups(datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC))
    q.tidy_figures()
    store.run(lambda _: health.late(patience=0, cap=9))
    store.run(lambda _: health.backlog())


# PostgreSQL


@pytest.fixture(scope="session")
def stores(postgres_url: str) -> Iterator[Callable[[Filled], OnPostgres]]:
    """Stores by what became of their tables, each made once: tests come in any order, from any of several processes."""
    made: dict[Filled, OnPostgres] = {}
    with ExitStack() as open_now:

        def get(history: Filled) -> OnPostgres:
            if history not in made:
                made[history] = open_now.enter_context(_filled(postgres_url, history))
            return made[history]

        yield get


@pytest.fixture
def on_postgres(request: pytest.FixtureRequest, stores: Callable[[Filled], OnPostgres]) -> OnPostgres:
    return stores(request.param)


@contextmanager
def _filled(postgres_url: str, history: Filled) -> Iterator[OnPostgres]:
    with postgres_schema(postgres_url) as schema:
        store = open_store(f"{postgres_url}?schema={schema}")
        assert isinstance(store, PostgresStore)
        q = tenure.Queue(store)

        def analyze() -> None:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f'ANALYZE "{schema}".jobs'.encode())

        def emptied() -> None:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f'DELETE FROM "{schema}".jobs'.encode())
                connection.execute(f'VACUUM (ANALYZE, TRUNCATE off) "{schema}".jobs'.encode())

        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f'ALTER TABLE "{schema}".jobs SET (autovacuum_enabled = off)'.encode())
        fill(q, history, analyze, emptied)
        yield store, run_and_record(PostgresRunner, lambda: work(q, store))
        q.close()


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def postgres_plan(store: PostgresStore, statement: Statement, mode: str) -> list[dict[str, Any]]:
    """The nodes of the plan for this statement with these parameters."""
    # As its file says by now: these stores live as long as the run.
    known = postgres_dialect(store.place.schema).statements[statement.name]
    params = bound(statement)
    values = sql.SQL(", ").join(sql.Literal(params[p]) for p in known.parameters)
    # A connection of the store's own, so that whatever it sets for its sessions counts.
    with connect(store.place) as connection:
        connection.execute(f"SET plan_cache_mode = {mode}".encode())
        connection.execute(f"PREPARE looked_at AS {known.text}".encode(), prepare=False)
        call = sql.SQL("looked_at({})").format(values) if known.parameters else sql.SQL("looked_at")
        row = connection.execute(sql.SQL("EXPLAIN (FORMAT JSON) EXECUTE {}").format(call)).fetchone()
        assert row is not None
        found = row[0] if isinstance(row[0], list) else json.loads(row[0])
        return list(nodes(found[0]["Plan"]))


def indexes(plan: list[dict[str, Any]], table: str) -> set[str]:
    """The indexes by which a plan reaches a table's rows; a bitmap's index has no table of its own."""
    return {n["Index Name"] for n in plan if "Index Name" in n and n["Index Name"].startswith(f"{table}_")}


MODES = ["force_custom_plan", "force_generic_plan"]
# A plan that is kept from when the table was empty serves until the planner looks again.
ALWAYS = ["look", "gaps", "claim", "tend", "settle_done"]
WHEN_FULL = [
    "enqueue",
    "enqueue_one",
    "renew",
    "hold",
    "promote",
    "overdue",
    "of_worker",
    "expired",
    "requeue",
    "progress",
    "get",
    "next_due",
    "pulse",
    "hooked",
    "floor",
    "list",
    "ceiling",
    "find",
    "unfinished_ids",
    "kin_before",
    "kin_after",
    "running",
]
HOT = [(filled, name) for filled in FILLED for name in [*ALWAYS, *(WHEN_FULL if filled != "empty" else [])]]
INDEXES = [
    (filled, name, index)
    for filled in FILLED
    for name, index in [
        ("look", {"jobs_ready"}),
        ("claim", {"jobs_ready"}),  # and what that found by its place in the table
        ("settle_done", {"jobs_pkey"}),
    ]
]


DUE = [
    (filled, name, index)
    for filled in FILLED
    for name, index in [("promote", "jobs_scheduled"), ("overdue", "jobs_lease"), ("expired", "jobs_expiry")]
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("on_postgres", "name", "index"), DUE, indirect=["on_postgres"])
def test_postgresql_looks_no_further_than_at_what_is_due(
    on_postgres: OnPostgres, name: str, index: str, mode: str
) -> None:
    store, ran = on_postgres
    plan = postgres_plan(store, ran[name], mode)
    conditions = [n.get("Index Cond", "") for n in plan if n.get("Index Name") == index]
    assert [condition for condition in conditions if "<=" not in condition] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("on_postgres", "name"), HOT, indirect=["on_postgres"])
def test_postgresql_never_reads_all_jobs(on_postgres: OnPostgres, name: str, mode: str) -> None:
    store, ran = on_postgres
    plan = postgres_plan(store, ran[name], mode)
    assert [
        n["Relation Name"]
        for n in plan
        if n["Node Type"] == "Seq Scan" and n["Relation Name"] in ("jobs", "finished")
    ] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["settle_done", "renew", "hold", "requeue", "finish", "claim", "gaps"])
@pytest.mark.parametrize("on_postgres", FILLED, indirect=True)
def test_postgresql_reads_no_whole_index_for_a_batch(on_postgres: OnPostgres, name: str, mode: str) -> None:
    store, ran = on_postgres
    plan = postgres_plan(store, ran[name], mode)
    whole = [
        n for n in plan if n["Node Type"].startswith(("Index", "Bitmap Index")) and "Index Cond" not in n
    ]
    assert [n.get("Index Name") for n in whole] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("on_postgres", "name", "expected"), INDEXES, indirect=["on_postgres"])
def test_postgresql_reaches_jobs_by_the_index_made_for_it(
    on_postgres: OnPostgres, name: str, expected: set[str], mode: str
) -> None:
    store, ran = on_postgres
    assert indexes(postgres_plan(store, ran[name], mode), "jobs") == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "column"), [("kin_before", "flow"), ("kin_after", "parent")])
@pytest.mark.parametrize("on_postgres", ["analyzed when full"], indirect=True)
def test_postgresql_finds_a_flow_s_and_a_parent_s_jobs_by_their_index(
    on_postgres: OnPostgres, name: str, column: str, mode: str
) -> None:
    store, ran = on_postgres
    plan = postgres_plan(store, ran[name], mode)
    found = indexes(plan, "jobs") | indexes(plan, "finished")
    # A plan for these very values leaves out what is asked for nobody.
    both = {f"{table}_{one}" for table in ("jobs", "finished") for one in ("flow", "parent")}
    assert {f"jobs_{column}", f"finished_{column}"} <= found <= both


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_postgres", ["empty", "analyzed when full"], indirect=True)
def test_postgresql_finds_failures_by_their_hour_and_the_rest_of_a_group_by_its_name(
    on_postgres: OnPostgres, mode: str
) -> None:
    store, ran = on_postgres
    plan = postgres_plan(store, ran["error_groups"], mode)
    assert [n for n in plan if n["Node Type"] == "Seq Scan"] == []
    found = [(n["Index Name"], n["Index Cond"].count(" AND ")) for n in plan if "Index Name" in n]
    assert found.count(("error_groups_pkey", 0)) == 1
    assert sorted(found)[:2] == [("error_groups_fingerprint", 0), ("error_groups_fingerprint", 1)]


FIRST_ONES = [(name, mode) for name in ("look", "claim", "gaps", "next_due") for mode in MODES]
# With a cap that is known, and more than there are, it may be quicker to sort.
FIRST_ONES += [(name, "force_generic_plan") for name in ("late", "backlog", "pulse")]


@pytest.mark.parametrize(("name", "mode"), FIRST_ONES)
@pytest.mark.parametrize("on_postgres", FILLED, indirect=True)
def test_postgresql_takes_the_order_of_jobs_from_the_index(
    on_postgres: OnPostgres, name: str, mode: str
) -> None:
    """Nothing sorts jobs to take the first of them: a claim of one reads one."""
    store, ran = on_postgres
    sorts = [
        n for n in postgres_plan(store, ran[name], mode) if n["Node Type"] in ("Sort", "Incremental Sort")
    ]
    assert [
        inner for n in sorts for inner in n.get("Plans", ()) if inner.get("Relation Name") == "jobs"
    ] == []


@pytest.mark.parametrize("name", ["gaps", "claim", "late", "backlog", "pulse"])
@pytest.mark.parametrize("on_postgres", ["analyzed when full"], indirect=True)
def test_postgresql_looks_at_the_first_of_a_range_without_gathering_all_of_it(
    on_postgres: OnPostgres, name: str
) -> None:
    """A bitmap is made of all that match before the first is told."""
    store, ran = on_postgres
    plan = postgres_plan(store, ran[name], "force_generic_plan")
    assert [n["Index Name"] for n in plan if n["Node Type"] == "Bitmap Index Scan"] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["next_fold", "rollups"])
@pytest.mark.parametrize("on_postgres", ["empty"], indirect=True)
def test_postgresql_finds_figures_by_whether_they_are_of_minutes_or_of_hours(
    on_postgres: OnPostgres, name: str, mode: str
) -> None:
    store, ran = on_postgres
    plan = postgres_plan(store, ran[name], mode)
    conditions = [n.get("Index Cond", "") for n in plan if n.get("Index Name") == "rollups_pkey"]
    assert conditions
    assert [condition for condition in conditions if "(span = " not in condition] == []


# SQLite

WALKS = ["next_due", "late", "pulse", "unfinished_ids"]
"""Take the first of all jobs in a state, as they stand in an index that holds no others."""


@pytest.fixture(scope="module", params=FILLED)
def on_sqlite(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqliteStore]:
    path: Path = tmp_path_factory.mktemp("plans") / "jobs.db"
    store = open_store(f"sqlite:///{path}")
    assert isinstance(store, SqliteStore)
    q = tenure.Queue(store)
    fill(q, request.param, lambda: store._link(0).script("ANALYZE"))
    work(q, store)
    yield store
    q.close()


def sqlite_plan(store: SqliteStore, name: str) -> list[str]:
    """The lines of the plan for this statement."""
    known = store.dialect.statements[name]
    connection = apsw.Connection(store.place.path)
    try:
        rows = connection.execute(
            f"EXPLAIN QUERY PLAN {known.text}", dict.fromkeys(known.parameters)
        ).fetchall()
        return [str(row[3]) for row in rows]
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claim", {"tenure_jobs_ready"}),
        ("gaps", {"tenure_jobs_ready"}),
        ("claim_take_run", {"INTEGER PRIMARY KEY"}),
        ("tend", {"tenure_jobs_scheduled", "tenure_jobs_lease", "tenure_jobs_expiry"}),
        ("settle_done", {"INTEGER PRIMARY KEY"}),
        ("renew", {"INTEGER PRIMARY KEY"}),
        ("hold", {"INTEGER PRIMARY KEY"}),
        ("promote", {"INTEGER PRIMARY KEY", "tenure_jobs_scheduled"}),
        ("overdue", {"tenure_jobs_lease"}),
        ("of_worker", {"tenure_jobs_lease"}),
        ("expired", {"tenure_jobs_expiry"}),
        ("get", {"sqlite_autoindex_tenure_jobs_1"}),
        ("next_due", {"tenure_jobs_scheduled", "tenure_jobs_lease"}),
        (
            "pulse",
            {
                "INTEGER PRIMARY KEY",
                "tenure_jobs_ready",
                "tenure_jobs_lease",
                "tenure_jobs_scheduled",
                "tenure_jobs_waiting",
                "tenure_jobs_dead",
            },
        ),
        ("hooked", {"sqlite_autoindex_tenure_jobs_1"}),
        ("floor", {"sqlite_autoindex_tenure_jobs_1"}),
        ("list", {"sqlite_autoindex_tenure_jobs_1"}),
        ("ceiling", {"sqlite_autoindex_tenure_jobs_1"}),
        ("find", {"sqlite_autoindex_tenure_jobs_1"}),
        ("dead_before", {"tenure_jobs_dead"}),
        ("dead_after", {"tenure_jobs_dead"}),
        ("kin_before", {"tenure_jobs_flow", "tenure_jobs_parent"}),
        ("kin_after", {"tenure_jobs_flow", "tenure_jobs_parent"}),
        (
            "unfinished_ids",
            {"tenure_jobs_ready", "tenure_jobs_scheduled", "tenure_jobs_waiting", "tenure_jobs_lease"},
        ),
        ("running", {"INTEGER PRIMARY KEY", "tenure_jobs_lease"}),
        ("settle_done_results", {"INTEGER PRIMARY KEY"}),
        ("held_claims", {"INTEGER PRIMARY KEY"}),
        ("resolve", {"sqlite_autoindex_tenure_jobs_1", "tenure_jobs_unique"}),
        ("late", {"tenure_jobs_scheduled", "tenure_jobs_lease"}),
    ],
)
def test_sqlite_reaches_jobs_by_the_index_made_for_it(
    on_sqlite: SqliteStore, name: str, expected: set[str]
) -> None:
    plan = sqlite_plan(on_sqlite, name)
    found = set()
    for line in plan:
        words = line.split(" ")
        if words[0] == "SCAN" and words[1] in ("j", "k", "tenure_jobs"):
            assert name in WALKS, plan
            assert " INDEX tenure_jobs_" in line, plan
        if "INTEGER PRIMARY KEY" in line:
            found.add("INTEGER PRIMARY KEY")
        found |= {w for w in words if w.startswith(("tenure_jobs_", "sqlite_autoindex_tenure_jobs_"))}
    assert found == expected, plan


@pytest.mark.parametrize("name", ["claim", *WALKS])
def test_sqlite_takes_the_order_of_jobs_from_the_index(on_sqlite: SqliteStore, name: str) -> None:
    """Nothing sorts jobs to take the first of them."""
    assert [line for line in sqlite_plan(on_sqlite, name) if "TEMP B-TREE FOR ORDER BY" in line] == []


@pytest.mark.parametrize("name", ["next_fold", "rollups"])
def test_sqlite_finds_figures_by_whether_they_are_of_minutes_or_of_hours(
    on_sqlite: SqliteStore, name: str
) -> None:
    looks = [line for line in sqlite_plan(on_sqlite, name) if line.startswith(("SEARCH", "SCAN"))]
    assert [line for line in looks if "USING" in line and "(span=?" not in line] == []


def test_sqlite_finds_failures_by_their_hour_and_the_rest_of_a_group_by_its_name(
    on_sqlite: SqliteStore,
) -> None:
    plan = sqlite_plan(on_sqlite, "error_groups")
    assert sorted(line for line in plan if line.startswith(("SEARCH", "SCAN"))) == [
        "SCAN t",
        "SEARCH e USING PRIMARY KEY (hour>?)",
        "SEARCH f USING INDEX tenure_error_groups_fingerprint (fingerprint=?)",
        "SEARCH g USING INDEX tenure_error_groups_fingerprint (fingerprint=? AND hour>?)",
    ]
