"""The schema: created once however many come at once, refused where only newer code may work, and written down."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import apsw
import psycopg
import pytest

import tenure
from tenure.config import PostgresPlace, SqlitePlace, locate
from tenure.store.migrate import CLIENT, migrations
from tenure.store.open import open_store
from tests.support.child import start_child
from tests.support.dump_schema import FILES, dump_postgres, dump_sqlite
from tests.support.fresh import KINDS, Kind, fresh_url, postgres_schema

OPENER = """
import sys, tenure, tenure.client.queue, tenure.store.sqlite.store, tenure.store.postgres.store
print("here", flush=True)
sys.stdin.readline()
q = tenure.open(sys.argv[1])
print(q.enqueue("k").id, flush=True)
q.close()
"""


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """A store that does not exist yet."""
    kind: Kind = request.param
    with fresh_url(kind, tmp_path, postgres_url) as made:
        yield made


def ask(url: str, text: str) -> list[tuple[Any, ...]]:
    """SQL on a store that nobody has open; `{}` stands before a table's name."""
    match locate(url):
        case SqlitePlace(path=path, prefix=prefix):
            connection = apsw.Connection(path)
            try:
                return connection.execute(text.format(prefix)).fetchall()
            finally:
                connection.close()
        case PostgresPlace(conninfo=conninfo, schema=schema):
            with psycopg.connect(conninfo, autocommit=True) as link:
                cursor = link.execute(text.format(f'"{schema}".').encode())
                return cursor.fetchall() if cursor.description else []


def everything(url: str) -> list[tuple[Any, ...]]:
    """All that a database says about the tables in it, so that any change shows."""
    match locate(url):
        case SqlitePlace():
            return [
                *ask(url, "PRAGMA schema_version"),
                *ask(url, "SELECT name, sql FROM sqlite_master ORDER BY name"),
            ]
        case PostgresPlace(schema=schema):
            found = f"SELECT xmin::text, oid, relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace ORDER BY 2"
            return ask(url, found)


def test_ten_processes_open_a_fresh_store_at_once(url: str) -> None:
    children = [start_child(OPENER, url) for _ in range(10)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "here\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    said = [child.communicate(timeout=60) for child in children]
    assert [(child.returncode, errors) for child, (_, errors) in zip(children, said, strict=True)] == [
        (0, "")
    ] * 10
    with tenure.open(url) as q:
        assert {job.id for job in q.list()} == {out.strip() for out, _ in said}
    assert ask(url, "SELECT number, name FROM {}meta ORDER BY number") == [
        (m.number, m.name) for m in migrations("sqlite")
    ]


def test_opening_again_changes_nothing(url: str) -> None:
    tenure.open(url).close()
    before = everything(url)
    assert len(before) > 5
    tenure.open(url).close()
    assert everything(url) == before


def test_a_store_that_needs_newer_code_is_refused(url: str) -> None:
    tenure.open(url).close()
    ask(url, f"INSERT INTO {{}}meta (number, name, min_client) VALUES ({CLIENT + 1}, 'future', {CLIENT + 1})")
    before = everything(url)
    with pytest.raises(
        tenure.StoreRefused, match=r"migrated by a newer Tenure .*upgrade tenure here"
    ) as caught:
        tenure.open(url)
    assert "\n" not in str(caught.value)
    assert everything(url) == before


def test_a_store_with_migrations_that_older_code_can_live_with_is_used(url: str) -> None:
    tenure.open(url).close()
    ask(url, f"INSERT INTO {{}}meta (number, name, min_client) VALUES ({CLIENT + 1}, 'future', {CLIENT})")
    with tenure.open(url) as q:
        answer = q.enqueue("k")
        assert [c.id for c in q.claim()] == [answer.id]


def test_a_migration_that_fails_leaves_the_store_as_it_was(url: str) -> None:
    with tenure.open(url) as q:
        kept = q.enqueue("k").id
    ask(url, "DELETE FROM {}meta")
    before = everything(url)
    with pytest.raises(tenure.StoreError, match="already exists") as caught:
        tenure.open(url)
    assert "\n" not in str(caught.value)
    assert everything(url) == before
    assert ask(url, "SELECT count(*) FROM {}meta") == [(0,)]
    assert [str(i) for (i,) in ask(url, "SELECT id FROM {}jobs")] == [kept]


@pytest.mark.parametrize(
    ("options", "tables"),
    [
        ("", {"tenure_jobs", "tenure_meta"}),
        ("?prefix=app_queue_", {"app_queue_jobs", "app_queue_meta"}),
        ("?prefix=q&shared=true", {"qjobs", "qmeta"}),
        ("?prefix=tenure_tenure_", {"tenure_tenure_jobs", "tenure_tenure_meta"}),
    ],
)
def test_on_sqlite_the_prefix_is_the_user_s_choice(options: str, tables: set[str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db{options}"
    work_end_to_end(url)
    names = {
        name
        for (name,) in ask(url, "SELECT name FROM sqlite_master WHERE type <> 'index' OR sql IS NOT NULL")
    }
    prefix = next(iter(tables)).removesuffix("jobs").removesuffix("meta")
    assert tables <= names
    assert {n for n in names if not n.startswith((prefix, "sqlite_"))} == set()


def test_on_postgresql_the_schema_is_the_user_s_choice(postgres_url: str) -> None:
    with postgres_schema(postgres_url) as schema:
        url = f"{postgres_url}?schema={schema}"
        before = ask(url, "SELECT nspname FROM pg_namespace")
        work_end_to_end(url)
        assert ask(url, "SELECT count(*) FROM {}finished") == [(2,)]
        assert set(ask(url, "SELECT nspname FROM pg_namespace")) - set(before) == {(schema,)}


def test_two_schemas_of_one_database_know_nothing_of_each_other(postgres_url: str) -> None:
    with (
        postgres_schema(postgres_url) as one,
        postgres_schema(postgres_url) as other,
        tenure.open(f"{postgres_url}?schema={one}") as here,
        tenure.open(f"{postgres_url}?schema={other}") as there,
    ):
        answer = here.enqueue("k", unique="u")
        assert there.claim() == []
        assert there.enqueue("k", unique="u").inserted
        assert [c.id for c in here.claim(5)] == [answer.id]


def test_two_prefixes_of_one_shared_file_know_nothing_of_each_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/app.db?shared=true&prefix="
    with tenure.open(url + "a_") as here, tenure.open(url + "b_") as there:
        answer = here.enqueue("k", unique="u")
        assert there.claim() == []
        assert there.enqueue("k", unique="u").inserted
        assert [c.id for c in here.claim(5)] == [answer.id]


def work_end_to_end(url: str) -> None:
    """Everything that names a table: enqueue, groups, unique keys, periods, claim, settle, history, retain."""
    with tenure.open(url) as q:
        first = q.enqueue("k", {"n": 1}, group="g", unique="u", unique_for="1h").id
        second = q.enqueue("k", group="g").id
        assert not q.enqueue("k", unique="u", unique_for="1h").inserted
        [claim] = q.claim(5)
        assert claim.id == first
        assert q.renew([claim]).kept == {first}
        assert q.settle(claim, tenure.Fail("no", retry_in=0))
        assert [a.message for a in q.history(first)] == ["no"]
        for expected in (first, second):
            [claim] = q.claim(5)
            assert claim.id == expected
            assert q.settle(claim, tenure.Done())
        q.beat("w")
        assert [w.id for w in q.workers()] == ["w"]
        q.pause("default")
        assert list(q.paused()) == ["default"]
        assert q.resume("default")
        assert q.retain(done="1h") == 0
        assert q.counts()["default"]["done"] == 2


def advisory_lock(connection: psycopg.Connection[Any], schema: str) -> None:
    connection.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"tenure.migrate.{schema}",))


def test_who_cannot_get_the_migration_lock_is_told_so(postgres_url: str) -> None:
    with postgres_schema(postgres_url) as schema, psycopg.connect(postgres_url, autocommit=True) as other:
        advisory_lock(other, schema)
        with pytest.raises(tenure.StoreUnavailable, match="lock") as caught:
            open_store(f"{postgres_url}?schema={schema}", patience=0.2)
        assert "\n" not in str(caught.value)
        assert other.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone() == (None,)


def test_an_open_that_failed_leaves_no_connection_behind(postgres_url: str) -> None:
    with postgres_schema(postgres_url) as schema, psycopg.connect(postgres_url, autocommit=True) as other:
        advisory_lock(other, schema)
        with pytest.raises(tenure.StoreUnavailable) as caught:
            open_store(f"{postgres_url}?schema={schema}&application_name={schema}", patience=0)
        assert caught.value is not None
        left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        deadline = monotonic() + 10
        while (found := other.execute(left, (schema,)).fetchone()) != (0,) and monotonic() < deadline:
            pass
        assert found == (0,)


def test_who_waits_for_the_migration_lock_goes_on_when_it_is_free(postgres_url: str) -> None:
    with postgres_schema(postgres_url) as schema, psycopg.connect(postgres_url, autocommit=True) as other:
        advisory_lock(other, schema)
        opened: list[tenure.Queue] = []
        opener = threading.Thread(
            target=lambda: opened.append(tenure.open(f"{postgres_url}?schema={schema}"))
        )
        opener.start()
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while other.execute(waits).fetchone() == (0,):
            assert opener.is_alive()
        other.execute("SELECT pg_advisory_unlock_all()")
        opener.join(30)
        [q] = opened
        assert q.enqueue("k").inserted
        q.close()


def test_a_migration_does_not_queue_behind_a_long_lock_on_the_tables(postgres_url: str) -> None:
    """A store that is up to date opens whatever others hold."""
    with postgres_schema(postgres_url) as schema:
        url = f"{postgres_url}?schema={schema}"
        tenure.open(url).close()
        with psycopg.connect(postgres_url) as other:
            other.execute(f'LOCK TABLE "{schema}".jobs IN ACCESS EXCLUSIVE MODE'.encode())
            advisory_lock(other, schema)
            open_store(url, patience=0.2).close()


def test_the_schema_of_sqlite_is_written_down(tmp_path: Path) -> None:
    assert FILES["sqlite"].read_text("utf-8") == dump_sqlite(tmp_path), "run `make schema`"


def test_the_schema_of_postgresql_is_written_down(postgres_url: str) -> None:
    assert FILES["postgres"].read_text("utf-8") == dump_postgres(postgres_url), "run `make schema`"
