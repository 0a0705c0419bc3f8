"""The caller's own connections: a plan becomes part of their transaction and commits or rolls back with it.

Accepted: psycopg (sync and async), asyncpg, sqlite3, aiosqlite, and SQLAlchemy 2 connections and sessions (sync and async)
over any of these. A connection that has no transaction open is refused where its driver would otherwise commit each
statement by itself; where the driver opens transactions by itself, one is begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tenure.clock import machine_micros
from tenure.errors import UsageError
from tenure.store.base import Store
from tenure.store.dialect import Capabilities, Sql
from tenure.store.plan import AsyncRunner, Result, Runner, Statement
from tenure.store.postgres import bind as postgres_bind
from tenure.store.sqlite import bind as sqlite_bind

__all__ = ["async_runner", "foreign_capabilities", "is_async", "runner"]

_ACCEPTED = "psycopg, asyncpg, sqlite3, aiosqlite, or SQLAlchemy connections and sessions over them"


def foreign_capabilities(store: Store) -> Capabilities:
    """What the store can do on somebody else's connection: all but bulk copies."""
    return replace(store.dialect.can, copies=False)


def is_async(connection: object) -> bool:
    """Whether a caller's connection is one to be awaited; what only leads to a connection is refused."""
    names = {f"{c.__module__.partition('.')[0]}.{c.__name__}" for c in type(connection).__mro__}
    for name in names & _LEADS_TO_ONE.keys():
        raise UsageError(
            f"a {name} is no connection, and has no transaction of its own; pass the connection: {_LEADS_TO_ONE[name]}"
        )
    return bool(names & _ASYNC)


_ASYNC = {
    "psycopg.AsyncConnection", "asyncpg.Connection", "asyncpg.PoolConnectionProxy", "aiosqlite.Connection",
    "sqlalchemy.AsyncConnection", "sqlalchemy.AsyncSession", "sqlalchemy.async_scoped_session",
}  # fmt: skip
_LEADS_TO_ONE = {
    "sqlalchemy.Engine": "with engine.begin() as connection: …",
    "sqlalchemy.AsyncEngine": "async with engine.begin() as connection: …",
    "sqlalchemy.sessionmaker": "with maker.begin() as session: …",
    "sqlalchemy.async_sessionmaker": "async with maker.begin() as session: …",
    "sqlite3.Cursor": "cursor.connection",
    "aiosqlite.Cursor": "the one it was made by",
    "psycopg.BaseCursor": "cursor.connection",
    "psycopg_pool.ConnectionPool": "with pool.connection() as connection: …",
    "psycopg_pool.AsyncConnectionPool": "async with pool.connection() as connection: …",
    "asyncpg.Pool": "async with pool.acquire() as connection: …",
}


def runner(connection: Any, store: Store) -> Runner:
    """A runner on a caller's sync connection, inside its transaction."""
    raw = _unwrap(connection)
    store.check_foreign()
    match _library(raw), store.dialect.name:
        case "psycopg", "postgres":
            return _Psycopg(raw, store.dialect.statements)
        case "sqlite3", "sqlite":
            _check_open(raw)
            cursor = raw.cursor()
            cursor.row_factory = None
            _check_path(cursor.execute("PRAGMA database_list").fetchall(), store)
            return _Sqlite(raw, store.dialect.statements)
        case library, database:
            raise _refused(library, database, connection)


async def async_runner(connection: Any, store: Store) -> AsyncRunner:
    """A runner on a caller's async connection, inside its transaction."""
    raw = await _aunwrap(connection)
    store.check_foreign()
    match _library(raw), store.dialect.name:
        case "psycopg", "postgres":
            return _AsyncPsycopg(raw, store.dialect.statements)
        case "asyncpg", "postgres":
            if raw.is_closed():
                raise _closed()
            if not raw.is_in_transaction():
                raise _no_transaction("async with connection.transaction(): …")
            return _Asyncpg(raw, store.dialect.statements)
        case "aiosqlite", "sqlite":
            _check_open(raw)
            async with raw.cursor() as cursor:
                cursor.row_factory = None
                await cursor.execute("PRAGMA database_list")
                _check_path(await cursor.fetchall(), store)
            return _Aiosqlite(raw, store.dialect.statements)
        case library, database:
            raise _refused(library, database, connection)


class _Theirs:
    """What every runner on a caller's connection does the same: the caller ends the transaction, not we."""

    def __init__(self, connection: Any, statements: Mapping[str, Sql]) -> None:
        self._connection, self._statements = connection, statements

    def commit(self) -> None:
        """The caller's."""

    def rollback(self) -> None:
        """The caller's."""

    def _bound(self, statement: Statement) -> tuple[str, list[Any]]:
        sql = self._statements[statement.name]
        params = postgres_bind.bound(statement)
        return sql.text, [params[p] for p in sql.parameters]


class _TheirsAsync(_Theirs):
    async def commit(self) -> None:  # type: ignore[override]
        """The caller's."""

    async def rollback(self) -> None:  # type: ignore[override]
        """The caller's."""


class _Psycopg(_Theirs):
    def __init__(self, connection: Any, statements: Mapping[str, Sql]) -> None:
        super().__init__(connection, statements)
        _check_psycopg(connection)

    def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        from psycopg import RawCursor
        from psycopg.rows import tuple_row

        text, params = self._bound(statement)
        with RawCursor(self._connection, row_factory=tuple_row) as cursor:
            cursor.execute(text, params, prepare=False, binary=True)
            rows = cursor.fetchall() if cursor.description is not None else []
            return Result(rows, max(cursor.rowcount, 0))


class _AsyncPsycopg(_TheirsAsync):
    def __init__(self, connection: Any, statements: Mapping[str, Sql]) -> None:
        super().__init__(connection, statements)
        _check_psycopg(connection)

    async def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        from psycopg import AsyncRawCursor
        from psycopg.rows import tuple_row

        text, params = self._bound(statement)
        async with AsyncRawCursor(self._connection, row_factory=tuple_row) as cursor:
            await cursor.execute(text, params, prepare=False, binary=True)
            rows = await cursor.fetchall() if cursor.description is not None else []
            return Result(rows, max(cursor.rowcount, 0))


class _Asyncpg(_TheirsAsync):
    async def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        text, params = self._bound(statement)
        prepared = await self._connection.prepare(text)
        rows = [tuple(r) for r in await prepared.fetch(*params)]
        last = (prepared.get_statusmsg() or "").rpartition(" ")[2]
        return Result(rows, int(last) if last.isdigit() else 0)


class _Sqlite(_Theirs):
    def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        connection = self._connection
        if not connection.in_transaction:
            _check_sqlite_mode(connection)
            if not statement.reads:
                connection.execute("BEGIN IMMEDIATE")
        text, params, rows = sqlite_bind.bound(statement, self._statements, _with_now(statement.params))
        cursor = connection.cursor()
        cursor.row_factory = None
        if rows is not None:
            cursor.executemany(text, rows)
            return Result([], max(cursor.rowcount, 0))
        cursor.execute(text, params)
        answer = cursor.fetchall()
        return Result(answer, max(cursor.rowcount, 0))


class _Aiosqlite(_TheirsAsync):
    async def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        connection = self._connection
        if not connection.in_transaction:
            _check_sqlite_mode(connection)
            if not statement.reads:
                await connection.execute("BEGIN IMMEDIATE")
        text, params, rows = sqlite_bind.bound(statement, self._statements, _with_now(statement.params))
        async with connection.cursor() as cursor:
            cursor.row_factory = None
            if rows is not None:
                await cursor.executemany(text, rows)
                return Result([], max(cursor.rowcount, 0))
            await cursor.execute(text, params)
            answer = list(await cursor.fetchall())
            return Result(answer, max(cursor.rowcount, 0))


def _with_now(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**params, "now": machine_micros()} if params.get("now", 0) is None else params


def _check_psycopg(connection: Any) -> None:
    if connection.closed:
        raise _closed()
    if connection.autocommit and connection.info.transaction_status.name == "IDLE":
        raise _no_transaction("with connection.transaction(): …")


def _check_open(connection: Any) -> None:
    import sqlite3

    try:
        _ = connection.in_transaction
    except (sqlite3.ProgrammingError, ValueError):  # sqlite3 says the one, aiosqlite the other
        raise _closed() from None


def _check_sqlite_mode(connection: Any) -> None:
    if connection.isolation_level is None or getattr(connection, "autocommit", None) is True:
        raise _no_transaction('connection.execute("BEGIN IMMEDIATE")')


def _check_path(rows: Any, store: Any) -> None:
    path = next((r[2] for r in rows if r[1] == "main"), "")
    if not path or not store.same_file(path):
        raise UsageError(
            f"this connection is on {path or 'a database in memory'}, the queue is in {store.place.path}: "
            "one transaction cannot span both; use the same file"
        )


def _no_transaction(how: str) -> UsageError:
    return UsageError(
        f"the connection has no transaction open, so nothing would commit together; begin one first: {how}"
    )


def _closed() -> UsageError:
    return UsageError(
        "this connection is closed, so nothing can commit with it; open it again, or use another"
    )


def _refused(library: str, database: str, connection: object) -> UsageError:
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    return UsageError(
        f"a {kind} ({library}) cannot carry a transaction of a {database} store here; use {_ACCEPTED}"
    )


def _library(raw: object) -> str:
    for kind in type(raw).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in ("psycopg", "asyncpg", "sqlite3", "aiosqlite"):
            return root
    return type(raw).__module__


def _is_sqlalchemy(connection: object) -> bool:
    return any(kind.__module__.startswith("sqlalchemy.") for kind in type(connection).__mro__)


def _unwrap(connection: Any) -> Any:
    """The driver's connection inside, with SQLAlchemy's own transaction begun."""
    if not _is_sqlalchemy(connection):
        return connection
    if hasattr(connection, "get_bind"):
        connection = connection.connection()
    elif connection.closed:
        raise _closed()
    elif not connection.in_transaction():
        connection.begin()
    return connection.connection.driver_connection


async def _aunwrap(connection: Any) -> Any:
    if not _is_sqlalchemy(connection):
        return connection
    if hasattr(connection, "get_bind"):
        connection = await connection.connection()
    elif connection.closed:
        raise _closed()
    elif not connection.in_transaction():
        await connection.begin()
    raw = (await connection.get_raw_connection()).driver_connection
    if _library(raw) == "asyncpg" and not raw.is_in_transaction():
        # SQLAlchemy begins on asyncpg with its first statement; this is it.
        await connection.exec_driver_sql("SELECT 1")
    return raw
