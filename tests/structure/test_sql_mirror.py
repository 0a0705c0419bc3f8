"""SQL twice: both databases have the same statements, with the same parameters and the same answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from tenure.store.dialect import parameters_of
from tenure.store.migrate import CLIENT, migrations
from tenure.store.open import open_store
from tenure.store.postgres.dialect import NEVER_PREPARED
from tenure.store.postgres.store import PostgresStore
from tenure.store.sqlite.store import SqliteStore
from tests.support.child import ROOT
from tests.support.fresh import postgres_schema

FOLDERS = {name: ROOT / "src" / "tenure" / "store" / name / "sql" for name in ("sqlite", "postgres")}
FILES = sorted(file for folder in FOLDERS.values() for file in folder.iterdir())
ONLY = {
    "sqlite": {"claim_take", "claim_take_run", "settle_done_results"},
    "postgres": {
        "echo",
        "enqueue_undo",
        "group_locks",
        "isolation",
        "pins",
        "privileges",
        "sleepers_add",
        "sleepers_remove",
        "sleepers_sweep",
        "tell",
        "wake",
        "wakes",
        "woken",
    },
}
COMMON = sorted({f.stem for f in FOLDERS["sqlite"].iterdir()} - ONLY["sqlite"])
NOTE = re.compile(r"-- (?:Differs from (?:sqlite|postgres)|Only on (?:sqlite|postgres)): \w.*")

# Statements whose parameters differ, and those of (sqlite, postgres).
PARAMETERS = {
    # SQLite binds each row by itself; PostgreSQL is sent all rows as one JSON text.
    "enqueue": (
        {
            *(
                "id",
                "lane",
                "queue",
                "kind",
                "rank",
                "payload",
                "max_attempts",
                "run_at",
                "delay",
                "expires_at",
                "expires_in",
            ),
            *("unique_hash", "group_key", "group_limit", "parent", "flow", "tenant", "extra", "lead", "now"),
        },
        {"rows", "now"},
    ),
    "ledger": ({"id", "unique_hash", "unique_for", "now"}, {"rows", "now"}),
    # SQLite binds each row by itself; PostgreSQL is sent all bodies as one value, and where in it each one is.
    "request_add": ({"id", "body", "headers"}, {"rows", "bodies"}),
    # SQLite is sent the fences as one JSON object (and results row by row); PostgreSQL is sent a column at a time.
    "settle_done": ({"fences", "now"}, {"id", "epoch", "result", "now"}),
    # SQLite picks from one lane at a time and leaves the taking to claim_take; PostgreSQL does it all at once.
    "claim": (
        {"lane", "queue", "limit", "lease", "started", "now"},
        {"lanes", "gaps", "limit", "lease", "started", "now", "worker"},
    ),
}
# Statements whose answers differ, and those of (sqlite, postgres): in a file nobody comes between, so who stores need not be told what.
ANSWERS: dict[str, tuple[list[str], list[str]]] = {"enqueue": ([], ["id"])}
# Statements that answer with a count, not with rows.
ROWLESS = {
    *(
        "add_audit",
        "add_errors",
        "add_rollups",
        "add_samples",
        "admit",
        "attempt_add",
        "copy",
        "copy_bare",
        "crashes_close",
        "beat",
        "cancel_ask",
        "change_note",
        "enqueue",
        "enqueue_one",
        "finish",
        "fire",
        "hook",
        "leave",
        "ledger",
        "made",
        "pause",
        "pause_schedule",
        "progress",
    ),
    *(
        "purge",
        "remove_note",
        "request_add",
        "requeue",
        "restore",
        "resume",
        "resume_schedule",
        "retain",
        "retain_errors",
        "retain_ledger",
        "retain_notes",
        "retain_rollups",
        "retain_samples",
        "retain_workers",
        "schedule",
        "set_note",
        "set_rollups",
        "settle_done",
        "unhook",
        "unschedule",
    ),
}


def text_of(database: str, name: str) -> str:
    return (FOLDERS[database] / f"{name}.sql").read_text("utf-8")


def named(file: Path) -> str:
    return f"{file.parts[-3]}/{file.name}"


@pytest.fixture(scope="module")
def sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('mirror')}/jobs.db")
    assert isinstance(store, SqliteStore)
    yield store
    store.close()


@pytest.fixture(scope="module")
def postgres_store(postgres_url: str) -> Iterator[PostgresStore]:
    with postgres_schema(postgres_url) as schema:
        store = open_store(f"{postgres_url}?schema={schema}")
        assert isinstance(store, PostgresStore)
        yield store
        store.close()


def columns_on_sqlite(store: SqliteStore, name: str) -> list[str]:
    """The columns a statement answers with, as SQLite tells once it is prepared; it is not run."""
    found: list[str] = []

    def look(cursor: apsw.Cursor, _statement: str, _bindings: Any) -> bool:
        found.extend(column[0] for column in cursor.get_description())
        return False

    sql = store.dialect.statements[name]
    connection = apsw.Connection(store.place.path)
    try:
        connection.exec_trace = look
        with pytest.raises(apsw.ExecTraceAbort):
            connection.execute(sql.text, dict.fromkeys(sql.parameters) or (None,) * sql.text.count("?"))
    finally:
        connection.close()
    return found


def columns_on_postgres(store: PostgresStore, name: str) -> list[str]:
    """The same, as PostgreSQL tells once it is prepared."""
    with psycopg.connect(store.place.conninfo, autocommit=True) as connection:
        raw = connection.pgconn
        prepared = raw.prepare(b"looked_at", store.dialect.statements[name].text.encode())
        assert prepared.status == psycopg.pq.ExecStatus.COMMAND_OK, prepared.error_message
        told = raw.describe_prepared(b"looked_at")
        return [(told.fname(i) or b"").decode() for i in range(told.nfields)]


def test_both_databases_have_the_same_statements() -> None:
    stems = {name: {file.stem for file in folder.iterdir()} for name, folder in FOLDERS.items()}
    assert stems["sqlite"] - stems["postgres"] == ONLY["sqlite"]
    assert stems["postgres"] - stems["sqlite"] == ONLY["postgres"]
    assert {file.suffix for file in FILES} == {".sql"}


@pytest.mark.parametrize("file", FILES, ids=named)
def test_the_first_line_names_the_statement_and_says_what_it_does(file: Path) -> None:
    first = file.read_text("utf-8").splitlines()[0]
    assert re.fullmatch(rf"-- {file.stem}: \S.*\.", first)


@pytest.mark.parametrize("name", COMMON)
def test_a_statement_does_the_same_on_both(name: str) -> None:
    assert text_of("sqlite", name).splitlines()[0] == text_of("postgres", name).splitlines()[0]


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_second_comment_says_where_the_statement_differs_or_stands_alone(file: Path) -> None:
    comments = [line for line in file.read_text("utf-8").splitlines() if line.startswith("--")][1:]
    database = file.parts[-3]
    if file.stem in ONLY[database]:
        assert comments[0].startswith(f"-- Only on {database}: ")
    if comments:
        assert NOTE.fullmatch(comments[0])
        assert ("Only on" in comments[0]) == (file.stem in ONLY[database])


@pytest.mark.parametrize("name", COMMON)
def test_a_statement_takes_the_same_parameters_on_both(name: str) -> None:
    found = tuple(set(parameters_of(text_of(database, name))) for database in ("sqlite", "postgres"))
    if name in PARAMETERS:
        assert found == PARAMETERS[name]
        assert "-- Differs from postgres: " in text_of("sqlite", name)
    else:
        assert found[0] == found[1]


@pytest.mark.parametrize("name", COMMON)
def test_a_statement_answers_with_the_same_columns_on_both(
    name: str, sqlite_store: SqliteStore, postgres_store: PostgresStore
) -> None:
    here, there = columns_on_sqlite(sqlite_store, name), columns_on_postgres(postgres_store, name)
    if name in ANSWERS:
        assert (here, there) == ANSWERS[name]
    else:
        assert here == there
    assert (here == []) == (name in ROWLESS)


@pytest.mark.parametrize("name", sorted(ONLY["postgres"]))
def test_a_statement_of_postgresql_alone_is_understood(name: str, postgres_store: PostgresStore) -> None:
    columns = columns_on_postgres(postgres_store, name)
    answers = {
        "echo": ["told"],
        "enqueue_undo": ["id"],
        "isolation": ["isolation"],
        "group_locks": ["group_key", "locked"],
        "pins": ["what", "name", "state", "age", "xids"],
        "privileges": ["need", "object", "privilege"],
        "tell": ["told"],
        "wakes": ["group_key"],
    }
    assert columns == answers.get(name, [])


def test_statements_that_are_planned_anew_exist() -> None:
    assert {f.stem for f in FOLDERS["postgres"].iterdir()} >= NEVER_PREPARED


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_file_is_one_statement_on_tables_that_can_be_moved(file: Path) -> None:
    body = "\n".join(line for line in file.read_text("utf-8").splitlines() if not line.startswith("--"))
    assert ";" not in body
    other = {"sqlite": "tenure.", "postgres": "tenure_"}[file.parts[-3]]
    assert other not in body


def test_both_databases_have_the_same_migrations() -> None:
    here, there = migrations("sqlite"), migrations("postgres")
    assert [(m.number, m.name, m.min_client) for m in here] == [
        (m.number, m.name, m.min_client) for m in there
    ]
    assert [m.number for m in here] == list(range(1, CLIENT + 1))
    assert all(m.text.startswith("-- ") for m in [*here, *there])
