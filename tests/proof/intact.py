"""The database checks itself: whatever was killed or cut, its pages and indexes agree.

SQLite has a check of its own. PostgreSQL's is the extension amcheck; where the binaries come without it, each index is counted
against its table instead. What each test was told by is counted with the rest (`sound by amcheck`), and `python -m tests.proof.intact`
says what it will be on this machine's server.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from typing import Any, Literal

import apsw
import psycopg
from psycopg import sql

from tenure.config import PostgresPlace, SqlitePlace, locate
from tests.support.postgres import VARIABLE, end_run, serve_run

__all__ = ["intact", "taken"]

Means = Literal["integrity_check", "amcheck", "counts"]

_INDEXES = """
SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, pg_get_expr(i.indpred, i.indrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE c.relnamespace = %s::text::regnamespace AND a.amname = 'btree' AND c.relpersistence = 'p' AND i.indisvalid
"""
_OFFERED = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'"
_asked: Counter[Means] = Counter()


def taken() -> dict[str, int]:
    """How often a store was found sound since this was asked before, and by which means."""
    made = {f"sound by {means}": count for means, count in _asked.items()}
    _asked.clear()
    return made


def intact(url: str, *, amcheck: bool = True) -> Means:
    """Raises unless the store at this URL is sound; by which means that was asked."""
    means = _look(url, amcheck=amcheck)
    _asked[means] += 1
    return means


def _look(url: str, *, amcheck: bool) -> Means:
    place = locate(url)
    if isinstance(place, PostgresPlace):
        with psycopg.connect(place.conninfo, autocommit=True) as server:
            return _server(server, place.schema, amcheck=amcheck)
    _file(place)
    return "integrity_check"


def _file(place: SqlitePlace) -> None:
    # By the library that Tenure itself uses for this file: two libraries in one process drop each other's locks.
    connect: Any = sqlite3.connect if place.shared else apsw.Connection
    with closing(connect(place.path)) as file:
        file.execute("PRAGMA busy_timeout = 10000")
        for check in ("integrity_check", "foreign_key_check"):
            found = [row for row in file.execute(f"PRAGMA {check}").fetchall() if row != ("ok",)]
            assert not found, f"{check} of {place.path}: {found[:3]}"


def _server(server: psycopg.Connection, schema: str, *, amcheck: bool) -> Means:
    server.execute("SET client_min_messages = warning")
    indexes = server.execute(_INDEXES, (schema,)).fetchall()
    assert indexes, f"no index in the schema {schema}"
    if not amcheck or server.execute(_OFFERED).fetchone() is None:
        for index, table, where in indexes:
            _count(server, index, table, where)
        return "counts"
    server.execute("CREATE EXTENSION IF NOT EXISTS amcheck WITH SCHEMA public")
    for index, _, _ in indexes:
        server.execute("SELECT public.bt_index_check(%s::regclass, heapallindexed => true)", (index,))
    return "amcheck"


def _count(server: psycopg.Connection, index: str, table: str, where: str | None) -> None:
    """As many rows by this very index as by the table itself."""
    text = f"SELECT count(*) FROM {table} WHERE {where or 'true'}"
    with server.transaction(force_rollback=True):
        server.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indrelid = %s::regclass AND indexrelid <> %s::regclass",
            (table, index),
        )
        found = {}
        for way, not_by in {"table": ("indexscan", "indexonlyscan"), "index": ("seqscan",)}.items():
            server.execute("SET LOCAL enable_bitmapscan = off")
            for plan in ("indexscan", "indexonlyscan", "seqscan"):
                server.execute(f"SET LOCAL enable_{plan} = {'off' if plan in not_by else 'on'}")
            plan = str(server.execute(sql.SQL(f"EXPLAIN {text}")).fetchall())
            assert (index.rpartition(".")[2] in plan) == (way == "index"), plan
            found[way] = server.execute(sql.SQL(text)).fetchone()
    assert found["table"] == found["index"], f"{index} and {table} do not agree: {found}"


def main() -> int:
    """Say so, and end with 1, if the server of the tests comes without amcheck."""
    started = serve_run()
    try:
        with psycopg.connect(os.environ[VARIABLE]) as server:
            if server.execute(_OFFERED).fetchone():
                return 0
    finally:
        end_run(started)
    sys.stdout.write(
        "amcheck is missing: PostgreSQL's indexes are counted against their tables here, and not looked into\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
