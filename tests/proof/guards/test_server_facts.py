"""What PostgreSQL says of itself: transactions that hold rows back, what a role lacks, settings; of this store and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg

import tenure
from tenure.store.open import open_store
from tests.proof.guards.workbench import Workbench
from tests.support.postgres import with_database
from tests.support.workers import until


@contextmanager
def transaction(url: str) -> Iterator[str]:
    """Somebody's open transaction; the number of its process."""
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_current_xact_id()")
        yield str(other.info.backend_pid)
        other.rollback()


def test_old_transactions_of_this_database_are_told_the_oldest_first(server: Workbench) -> None:
    elsewhere = with_database(server.url, "postgres")
    with psycopg.connect(server.url, autocommit=True) as idle:
        idle.execute("SELECT 1")
        with (
            transaction(server.url) as first,
            transaction(server.url) as second,
            transaction(elsewhere) as foreign,
        ):
            told = server.ask("pins", limit=50).rows
            found = [row[1] for row in told if row[0] == "transaction"]
            assert [pid for pid in found if pid in (first, second)] == [first, second]
            assert foreign not in found
            assert str(idle.info.backend_pid) not in found
            # Nobody names the transaction that asks.
            mine = server.sql(
                "SELECT pid::text FROM pg_stat_activity WHERE application_name = 'tenure' AND state <> 'idle in transaction'"
            )
            assert not {(pid,) for pid in found} & set(mine)
            assert [row[1] for row in server.ask("pins", limit=1).rows] == [first]


def test_a_role_s_lacks_are_told_by_table_and_privilege(server: Workbench) -> None:
    schema = server.sql("SELECT current_schemas(false)") and server.store.dialect.place("tenure.").strip('".')
    role = f"r_{uuid4().hex[:12]}"
    tables = [name for (name,) in server.sql("SELECT tablename FROM pg_tables WHERE schemaname = ?", schema)]
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f'CREATE TABLE "{schema}_more" (); CREATE VIEW "{schema}".seen AS SELECT 1 AS one')
    try:
        server.sql(f'GRANT USAGE ON SCHEMA "{schema}" TO {role}; GRANT SELECT ON "{schema}".meta TO {role}')
        user = server.url.replace("//postgres@", f"//{role}:x@")
        store = open_store(f"{user}?schema={schema}")
        bench = Workbench(store, "postgres", f'"{schema}".', server.link, server.url)
        told = [tuple(row) for row in bench.ask("privileges").rows]
        unused = {
            ("audit", "UPDATE"),
            ("audit", "DELETE"),
            ("queues", "DELETE"),
            ("requests", "UPDATE"),
            ("samples", "UPDATE"),
            ("wakes", "UPDATE"),
        }
        every = {
            (t, p) for t in tables if t != "meta" for p in ("SELECT", "INSERT", "UPDATE", "DELETE")
        } - unused
        column = ("enqueue", "jobs", "UPDATE (state, held)")
        assert {(thing, p) for need, thing, p in told if (need, thing, p) != column} == every
        assert column in told
        assert told == sorted(told)
        needed = {(thing, p) for need, thing, p in told if need == "enqueue"} - {column[1:]}
        ledger = {("ledger", p) for p in ("SELECT", "INSERT", "UPDATE")}
        others = {("finished", "SELECT"), ("sleepers", "SELECT"), ("requests", "INSERT"), ("wakes", "INSERT")}
        assert needed == {("jobs", "SELECT"), ("jobs", "INSERT")} | ledger | others
        for columns in ("state", "held"):
            server.sql(
                f'REVOKE UPDATE ON "{schema}".jobs FROM {role}; GRANT UPDATE ({columns}) ON "{schema}".jobs TO {role}'
            )
            assert column in [tuple(row) for row in bench.ask("privileges").rows]
        server.sql(
            f'GRANT UPDATE (state, held) ON "{schema}".jobs TO {role}; GRANT DELETE ON "{schema}".notes TO {role}'
        )
        less = [tuple(row) for row in bench.ask("privileges").rows]
        assert set(told) - set(less) == {column, ("work", "notes", "DELETE")}
        store.close()
    finally:
        server.sql(
            f'DROP OWNED BY {role}; DROP ROLE {role}; DROP TABLE "{schema}_more"; DROP VIEW "{schema}".seen'
        )


def test_settings_are_those_of_the_tables_that_grow(server: Workbench) -> None:
    schema = server.store.dialect.place("tenure.").strip('".')

    def vital(name: str) -> Any:
        return dict(server.ask("vitals").rows)[name]

    server.sql(f'CREATE TABLE "{schema}_more" (id integer) WITH (autovacuum_enabled = off)')
    try:
        told_of = {name for name in dict(server.ask("vitals").rows) if "_of_" in name}
        tables = ("jobs", "finished", "attempts")
        words = ("autovacuum", "live", "dead", "table_bytes", "index_bytes")
        assert told_of == {f"{word}_of_{table}" for word in words for table in tables}
        for table in tables:
            assert vital(f"autovacuum_of_{table}") == "true"
            server.sql(
                f"ALTER TABLE tenure.{table} SET (autovacuum_enabled = off, toast_tuple_target = 4000)"
            )
            assert vital(f"autovacuum_of_{table}") in ("off", "false")
            server.sql(f"ALTER TABLE tenure.{table} RESET (autovacuum_enabled, toast_tuple_target)")
        counting = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        told: list[tuple[int, int, int]] = []

        def steady() -> bool:
            """Whether nobody came or left while the store counted."""
            [(before,)] = server.sql(counting)
            counted = int(vital("connections") or 0)
            [(after,)] = server.sql(counting)
            told.append((before, counted, after))
            return bool(before == after)

        until(steady)
        before, counted, _ = told[-1]
        assert counted == before
    finally:
        server.sql(f'DROP TABLE "{schema}_more"')


def test_who_may_only_add_jobs_numbers_them_by_the_sequence_it_may_not_touch(server: Workbench) -> None:
    role = f"r_{uuid4().hex[:12]}"
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    tables = f'ALL TABLES IN SCHEMA "{server.schema}"'
    try:
        server.sql(
            f'GRANT USAGE ON SCHEMA "{server.schema}" TO {role}; GRANT SELECT, INSERT, UPDATE ON {tables} TO {role}'
        )
        user = server.url.replace("//postgres@", f"//{role}:x@")
        with tenure.open(f"{user}?schema={server.schema}") as q:
            q.enqueue_many([tenure.NewJob(kind="k"), tenure.NewJob(kind="k")])
            q.enqueue("k", id=str(uuid4()))  # which looks whether that job has ended, and would take it back
        assert len(server.states()) == 3
    finally:
        server.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")
