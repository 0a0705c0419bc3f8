"""SQLite connections: apsw for a file Tenure owns, the standard library for the user's own.

A store has one connection that writes and one that reads, each used by one thread at a time. Every write is a transaction
that starts with BEGIN IMMEDIATE, so it never fails half way because somebody else wrote first. `now` is the machine's
clock, read once the lock is held.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any, Final, Protocol, TypeVar

import apsw

from tenure.clock import machine_micros
from tenure.config import SqlitePlace
from tenure.errors import StoreError, StoreRefused, StoreUnavailable, UsageError
from tenure.store.base import Broken, Make, Pid, with_patience
from tenure.store.dialect import Dialect, Sql
from tenure.store.lanes import LaneMemory
from tenure.store.migrate import check_client, migrations
from tenure.store.plan import Result, Statement, run
from tenure.store.sqlite.dialect import sqlite_dialect
from tenure.store.sqlite.file import claim_library, prepare_file, release_library, same_file

__all__ = ["SqliteStore"]

T = TypeVar("T")
OLDEST: Final = (3, 37, 0)
BUSY_MS: Final = 10_000
APPLICATION: Final = 0x74656E75
_abandoned: list[object] = []


class Link(Protocol):
    """One open connection, whichever library it comes from."""

    library: str

    def query(self, text: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        ...

    def many(self, text: str, rows: Iterable[Any]) -> int:
        """Run a statement once a row; how many rows it changed."""
        ...

    def changes(self) -> int:
        """How many rows the last statement changed."""
        ...

    def script(self, text: str) -> None:
        """Run several statements."""
        ...

    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def close(self) -> None:
        """Close."""
        ...


class ApswLink:
    """A connection through apsw, which carries a current SQLite."""

    library = "apsw"

    def __init__(self, path: str) -> None:
        self._db = apsw.Connection(path)
        self._db.set_busy_timeout(BUSY_MS)

    def query(self, text: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        return self._db.execute(text, params).fetchall()

    def many(self, text: str, rows: Iterable[Any]) -> int:
        """Run a statement once a row; how many rows it changed."""
        before = self._db.total_changes()
        self._db.executemany(text, rows)
        return self._db.total_changes() - before

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return self._db.changes()

    def script(self, text: str) -> None:
        """Run several statements."""
        self._db.execute(text)

    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close."""
        self._db.close()


class StdlibLink:
    """A connection through the standard library, on a file that is the user's."""

    library = "sqlite3"

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(
            path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        self._changes = 0

    def query(self, text: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        cursor = self._db.execute(text, params)
        rows = cursor.fetchall()
        self._changes = max(cursor.rowcount, 0)
        return rows

    def many(self, text: str, rows: Iterable[Any]) -> int:
        """Run a statement once a row; how many rows it changed."""
        return self._db.executemany(text, rows).rowcount

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return self._changes

    def script(self, text: str) -> None:
        """Run several statements."""
        for statement in _split(text):
            self._db.execute(statement)

    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close."""
        self._db.close()


class SqliteRunner:
    """Runs a plan's statements on one link, in a transaction that starts with the first write."""

    def __init__(self, link: Link, statements: Mapping[str, Sql]) -> None:
        self._link, self._statements = link, statements
        self._open = False

    def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        alone = statement.alone and statement.rows is None and statement.columns is None
        if not self._open and not alone:
            self._link.query("BEGIN IMMEDIATE", {})
            self._open = True
        return execute_on(self._link, self._statements[statement.name], statement)

    def commit(self) -> None:
        """End the transaction, if one was opened."""
        if self._open:
            self._link.query("COMMIT", {})
            self._open = False

    def rollback(self) -> None:
        """Undo the transaction, if one was opened; SQLite may have done so itself."""
        self._open = False
        if self._link.in_transaction():
            self._link.query("ROLLBACK", {})


def execute_on(link: Link, sql: Sql, statement: Statement) -> Result:
    """Run one statement, with the machine's clock where no other is given."""
    params = statement.params
    if params.get("now", 0) is None:
        params = {**params, "now": machine_micros()}
    if statement.name == "copy":
        return Result([], link.many(sql.text, statement.rows or ()))
    if statement.columns is not None and sql.unnamed is not None:
        columns = {**{name: repeat(value) for name, value in params.items()}, **statement.columns}
        return Result([], link.many(sql.unnamed, zip(*[columns[p] for p in sql.parameters], strict=False)))
    if statement.rows is not None:
        return Result([], link.many(sql.text, [{**params, **row} for row in statement.rows]))
    rows = link.query(sql.text, params)
    return Result(rows, link.changes())


class SqliteStore:
    """Jobs in one SQLite file."""

    def __init__(self, place: SqlitePlace, *, patience: float = 5.0) -> None:
        self.place, self._patience = place, patience
        self.dialect: Dialect = sqlite_dialect(place.prefix)
        self.memory = LaneMemory()
        self._pid = Pid()
        self._locks = (threading.RLock(), threading.RLock())
        self._links: list[Link | None] = [None, None]
        self._held: list[tuple[int, int]] = []
        self._closed = False
        try:
            with_patience(lambda _: self._guard(self._prepare), patience=patience, repeatable=True)
        except BaseException:
            self.close()
            raise

    def run(self, make: Make[T], *, reads: bool = False, repeatable: bool = True, patient: bool = True) -> T:  # noqa: ARG002
        """Run a plan to its end, in a transaction of its own; there are no row locks to be impatient about."""
        which = 1 if reads else 0

        def once(again: bool) -> T:
            if not self._pid.mine:
                self._abandon()
            with self._locks[which]:
                return self._guard(
                    lambda: run(make(again), SqliteRunner(self._link(which), self.dialect.statements))
                )

        return with_patience(once, patience=self._patience, repeatable=repeatable)

    def check_foreign(self) -> None:
        """Raise where a caller's connection would bring a second SQLite library to the file."""
        if not self.place.shared:
            raise UsageError(
                f"{self.place.path} is a file Tenure owns; to enqueue in your own transaction open your own file with "
                f"sqlite:///{self.place.path}?shared=true"
            )

    def same_file(self, path: str) -> bool:
        """Whether a path is this store's file."""
        return same_file(path, self.place.path)

    def close(self) -> None:
        """Let go of the file."""
        self._closed = True
        if self._pid.mine:
            for which in (0, 1):
                with self._locks[which]:
                    link, self._links[which] = self._links[which], None
                    if link is not None:
                        link.close()
            while self._held:
                release_library(self._held.pop())

    def _link(self, which: int) -> Link:
        if self._closed:
            raise UsageError("this queue is closed; open it again")
        link = self._links[which]
        if link is None:
            link = self._links[which] = self._connect()
        return link

    def _abandon(self) -> None:
        """In a forked child: leave the parent's connections alone, unclosed, and start afresh."""
        _abandoned.append(self._links)
        self._pid = Pid()
        self._locks = (threading.RLock(), threading.RLock())
        self._links, self._held = [None, None], []
        self.memory = LaneMemory()

    def _connect(self) -> Link:
        place = self.place
        link: Link
        prepare_file(place.path, "sqlite3" if place.shared else "apsw", create_private=not place.shared)
        link = StdlibLink(place.path) if place.shared else ApswLink(place.path)
        try:
            key = claim_library(place.path, link.library)
        except BaseException:
            link.close()
            raise
        try:
            if not place.shared:
                self._refuse_foreign(link)
            self._settle_in(link)
        except BaseException:
            link.close()
            release_library(key)
            raise
        self._held.append(key)
        return link

    def _settle_in(self, link: Link) -> None:
        place = self.place
        [(version,)] = link.query("SELECT sqlite_version()", {})
        if tuple(int(n) for n in version.split(".")) < OLDEST:
            raise StoreRefused(f"SQLite {version} is too old for {place.path}; Tenure needs 3.37 or later")
        [(tables,)] = link.query("SELECT count(*) FROM sqlite_master", {})
        if tables == 0:
            link.query("PRAGMA auto_vacuum = INCREMENTAL", {})
        if not place.shared or tables == 0:
            link.query("PRAGMA journal_mode = WAL", {})
        link.query(f"PRAGMA synchronous = {'FULL' if place.durability == 'full' else 'NORMAL'}", {})
        link.query("PRAGMA journal_size_limit = 67108864", {})
        link.query("PRAGMA cache_size = -32768", {})
        link.query("PRAGMA mmap_size = 0", {})

    def _prepare(self) -> None:
        """Check that the file is ours to use, and bring its schema up to date."""
        with self._locks[0]:
            link = self._link(0)
            prefix = self.place.prefix
            place = self.dialect.place
            if not _table_exists(link, f"{prefix}meta") or _applied(link, prefix)[0] < len(
                migrations("sqlite")
            ):
                link.query("BEGIN IMMEDIATE", {})
                try:
                    self._migrate(link, place)
                    link.query("COMMIT", {})
                except BaseException:
                    if link.in_transaction():
                        link.query("ROLLBACK", {})
                    raise
            check_client(_applied(link, prefix)[1], self.place.path)

    def _migrate(self, link: Link, place: Callable[[str], str]) -> None:
        prefix = self.place.prefix
        link.script(
            place(
                "CREATE TABLE IF NOT EXISTS tenure_meta (number INTEGER PRIMARY KEY, name TEXT NOT NULL, min_client INTEGER NOT NULL) STRICT"
            )
        )
        applied, min_client = _applied(link, prefix)
        check_client(min_client, self.place.path)
        for step in migrations("sqlite"):
            if step.number > applied:
                link.script(place(step.text))
                insert = place(
                    "INSERT INTO tenure_meta (number, name, min_client) VALUES (:number, :name, :min_client)"
                )
                link.query(insert, {"number": step.number, "name": step.name, "min_client": step.min_client})
        if not self.place.shared:
            link.query(f"PRAGMA application_id = {APPLICATION}", {})

    def _refuse_foreign(self, link: Link) -> None:
        names = [n for (n,) in link.query("SELECT name FROM sqlite_master WHERE type = 'table'", {})]
        foreign = [n for n in names if not n.startswith((self.place.prefix, "sqlite_"))]
        if foreign:
            raise StoreRefused(
                f"{self.place.path} holds tables that are not Tenure's ({', '.join(sorted(foreign)[:3])}); "
                "name another file, or add ?shared=true to live beside them"
            )

    def _guard(self, work: Callable[[], T]) -> T:
        """Do the work, and say what SQLite's errors mean."""
        try:
            return work()
        except apsw.Error as cause:
            raise _meaning(
                cause, type(cause).__name__.removesuffix("Error").lower(), self.place.path
            ) from cause
        except sqlite3.Error as cause:
            code = (
                str(getattr(cause, "sqlite_errorname", "") or "")
                .removeprefix("SQLITE_")
                .partition("_")[0]
                .lower()
            )
            raise _meaning(cause, code, self.place.path) from cause


def _meaning(cause: Exception, code: str, path: str) -> Exception:
    match code:
        case "busy" | "locked" | "protocol":
            return Broken(
                cause,
                f"{path} has been locked by another process for {BUSY_MS // 1000} s; find the long transaction",
                asked=False,
            )
        case "full":
            return StoreUnavailable(f"the disk of {path} is full; nothing was stored; free some space")
        case "readonly" | "perm" | "auth":
            return StoreUnavailable(
                f"{path} is read-only for this process; check the rights of the file and its folder"
            )
        case "cantopen":
            return StoreUnavailable(f"cannot open {path}; check that the folder exists and may be written to")
        case "notadb" | "corrupt":
            return StoreRefused(f"{path} is not a SQLite database, or is damaged; name another file")
        case "ioerr" | "io":
            return StoreUnavailable(f"reading or writing {path} failed ({cause}); check the disk")
        case _:
            return StoreError(f"SQLite refused a statement on {path}: {cause}")


def _table_exists(link: Link, name: str) -> bool:
    return bool(
        link.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name", {"name": name})
    )


def _applied(link: Link, prefix: str) -> tuple[int, int]:
    """The newest migration applied, and the oldest client it works with; the prefix is a checked identifier."""
    text = "SELECT coalesce(max(number), 0), coalesce(max(min_client), 0) FROM tenure_meta".replace(
        "tenure_", prefix
    )
    [(number, min_client)] = link.query(text, {})
    return number, min_client


def _split(text: str) -> list[str]:
    """A script's statements; a trigger's body is part of its statement."""
    found, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    if current.strip():
        found.append(current)
    return found
