"""The raw loops that the store is measured against: one plain table, the same driver, batch size and connections."""

from __future__ import annotations

import time
from typing import Any, Protocol

import apsw
import msgspec
import psycopg
from uuid_utils import uuid7

__all__ = ["Raw", "RawPostgres", "RawSqlite"]


class Raw(Protocol):
    """A queue as one would first write it: one table, no fence, no history, no uniqueness."""

    def load(self, payloads: list[str]) -> None: ...
    def bulk(self, works: list[dict[str, str]]) -> None: ...
    def claim(self, limit: int) -> list[Any]: ...
    def settle(self, rows: list[Any]) -> None: ...
    def empty(self) -> None: ...
    def insert_one(self, payload: str) -> None: ...
    def close(self) -> None: ...


class RawPostgres:
    """psycopg, sync, binary, prepared; claims on one connection, settles on another."""

    def __init__(self, url: str) -> None:
        self._claims = psycopg.connect(url, autocommit=True, prepare_threshold=0)
        self._settles = psycopg.connect(url, autocommit=True, prepare_threshold=0)
        self._one = psycopg.RawCursor(self._claims)
        self._two = psycopg.RawCursor(self._settles)
        self._claims.execute("DROP TABLE IF EXISTS raw_jobs, bare")
        self._claims.execute(
            "CREATE TABLE raw_jobs (id uuid PRIMARY KEY, state text NOT NULL DEFAULT 'ready', priority smallint NOT NULL"
            " DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(), attempt integer NOT NULL DEFAULT 0, lease_until"
            " timestamptz, finished_at timestamptz, payload text NOT NULL)"
        )
        self._claims.execute("CREATE INDEX ON raw_jobs (priority DESC, run_at, id) WHERE state = 'ready'")
        self._claims.execute(
            "CREATE TABLE bare (id uuid, kind text, queue text, priority smallint, payload text)"
        )

    def load(self, payloads: list[str]) -> None:
        with self._claims.cursor().copy("COPY raw_jobs (id, payload) FROM STDIN") as copy:
            for payload in payloads:
                copy.write_row((str(uuid7()), payload))

    def bulk(self, works: list[dict[str, str]]) -> None:
        """COPY into a table with no index at all; both sides start from the same Python objects."""
        with self._claims.cursor().copy("COPY bare (id, kind, queue, priority, payload) FROM STDIN") as copy:
            for work in works:
                copy.write_row((str(uuid7()), "k", "default", 0, msgspec.json.encode(work).decode()))

    def claim(self, limit: int) -> list[Any]:
        self._one.execute(
            "UPDATE raw_jobs SET state = 'running', attempt = attempt + 1, lease_until = now() + interval '30 s'"
            " WHERE id IN (SELECT id FROM raw_jobs WHERE state = 'ready' ORDER BY priority DESC, run_at, id LIMIT $1"
            " FOR UPDATE SKIP LOCKED) RETURNING id, payload, attempt",
            (limit,),
            binary=True,
        )
        return self._one.fetchall()

    def settle(self, rows: list[Any]) -> None:
        self._two.execute(
            "UPDATE raw_jobs SET state = 'done', finished_at = now() WHERE id = ANY ($1)",
            ([r[0] for r in rows],),
        )

    def empty(self) -> None:
        """Start anew."""
        self._one.execute("TRUNCATE raw_jobs, bare")

    def insert_one(self, payload: str) -> None:
        self._one.execute("INSERT INTO raw_jobs (id, payload) VALUES ($1, $2)", (str(uuid7()), payload))

    def close(self) -> None:
        self._claims.execute("DROP TABLE raw_jobs, bare")
        self._claims.close()
        self._settles.close()


class RawSqlite:
    """apsw, WAL, synchronous FULL; one connection, claim and settle a commit each.

    With `relaxed` a claim does not wait for the disk, as Tenure's do not.
    """

    def __init__(self, path: str) -> None:
        self.relaxed = False
        self._db = apsw.Connection(path)
        for text in ("journal_mode = WAL", "synchronous = FULL", "cache_size = -32768"):
            self._db.execute(f"PRAGMA {text}").fetchall()  # what is not fetched may not be run
        self._db.execute(
            "CREATE TABLE raw_jobs (id BLOB PRIMARY KEY, state TEXT NOT NULL DEFAULT 'ready', priority INTEGER NOT NULL"
            " DEFAULT 0, run_at INTEGER NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, lease_until INTEGER, finished_at"
            " INTEGER, payload TEXT NOT NULL)"
        )
        self._db.execute(
            "CREATE INDEX raw_ready ON raw_jobs (priority DESC, run_at, id) WHERE state = 'ready'"
        )

    def load(self, payloads: list[str]) -> None:
        now = time.time_ns() // 1000
        with self._db:
            self._db.executemany(
                "INSERT INTO raw_jobs (id, run_at, payload) VALUES (?, ?, ?)",
                ((uuid7().bytes, now, p) for p in payloads),
            )

    def bulk(self, works: list[dict[str, str]]) -> None:
        """executemany; both sides start from the same Python objects."""
        self.load([msgspec.json.encode(work).decode() for work in works])

    def claim(self, limit: int) -> list[Any]:
        now = time.time_ns() // 1000
        if self.relaxed:
            self._db.execute("PRAGMA synchronous = NORMAL")
        rows = self._db.execute(
            "UPDATE raw_jobs SET state = 'running', attempt = attempt + 1, lease_until = ? WHERE id IN (SELECT id FROM"
            " raw_jobs WHERE state = 'ready' ORDER BY priority DESC, run_at, id LIMIT ?) RETURNING id, payload, attempt",
            (now + 30_000_000, limit),
        ).fetchall()
        if self.relaxed:  # nothing else is: neither a settle, nor whatever comes after the last claim
            self._db.execute("PRAGMA synchronous = FULL")
        return rows

    def settle(self, rows: list[Any]) -> None:
        now = time.time_ns() // 1000
        with self._db:
            self._db.executemany(
                "UPDATE raw_jobs SET state = 'done', finished_at = ? WHERE id = ?",
                ((now, r[0]) for r in rows),
            )

    def empty(self) -> None:
        """Start anew."""
        self._db.execute("DELETE FROM raw_jobs")

    def insert_one(self, payload: str) -> None:
        self._db.execute(
            "INSERT INTO raw_jobs (id, run_at, payload) VALUES (?, ?, ?)",
            (uuid7().bytes, time.time_ns() // 1000, payload),
        )

    def close(self) -> None:
        self._db.close()
