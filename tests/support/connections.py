"""Every kind of connection a caller may bring, behind one shape: open, run SQL, commit, roll back.

An `Own` is a transaction of the caller's own that is about to begin. On the async kinds each of its methods is awaited on
the place's event loop.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import aiosqlite
import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

import tenure
from tests.support.places import Loop, Place, Store, Way

__all__ = ["KINDS", "Kind", "Own", "each", "every_kind", "one_per_way"]


@dataclass
class Own:
    """A caller's connection; `connection` is what Tenure is given, the rest is the caller's own business."""

    connection: Any
    execute: Callable[[str], Any]
    commit: Callable[[], Any]
    rollback: Callable[[], Any]
    close: Callable[[], Any]

    def settle_in(self, claim: tenure.Claim, outcome: tenure.Outcome) -> Any:
        """Settle the claim on this connection (to be awaited where the connection is)."""
        return claim.settle_in(self.connection, outcome)


class AwaitedOwn(Own):
    """The same over an async connection, each call awaited on the loop."""

    def __init__(self, own: Own, loop: Loop) -> None:
        async def done(work: Awaitable[Any]) -> Any:
            return await work

        def awaited(method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
            return lambda *args: loop.wait(done(method(*args)))

        super().__init__(
            own.connection,
            awaited(own.execute),
            awaited(own.commit),
            awaited(own.rollback),
            awaited(own.close),
        )
        self._settle = awaited(own.settle_in)

    def settle_in(self, claim: tenure.Claim, outcome: tenure.Outcome) -> Any:
        return self._settle(claim, outcome)


@dataclass(frozen=True)
class Kind:
    """One kind of connection: the store it is for, the way it is called, and how it is opened."""

    name: str
    store: Store
    way: Way
    make: Callable[..., Any]

    @contextmanager
    def open(self, place: Place, **options: Any) -> Iterator[Own]:
        """A connection with its transaction about to begin; what was not committed is rolled back at the end."""
        own: Own = (
            self.make(place, **options)
            if self.way == "sync"
            else AwaitedOwn(place.loop.wait(self.make(place, **options)), place.loop)
        )
        run = own.execute
        own.execute = lambda sql: run(place._placed(sql))
        try:
            yield own
        finally:
            own.close()


def _psycopg(place: Place, **options: Any) -> Own:
    c = psycopg.connect(place.postgres_url, **options)

    def execute(sql: str) -> list[Any]:
        cursor = c.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

    return Own(c, execute, c.commit, c.rollback, c.close)


async def _psycopg_async(place: Place, **options: Any) -> Own:
    c = await psycopg.AsyncConnection.connect(place.postgres_url, **options)

    async def execute(sql: str) -> list[Any]:
        cursor = await c.execute(sql.encode())
        return await cursor.fetchall() if cursor.description else []

    return Own(c, execute, c.commit, c.rollback, c.close)


def _asyncpg_own(c: Any, transaction: Any, close: Callable[[], Awaitable[Any]]) -> Own:
    async def execute(sql: str) -> list[Any]:
        return cast("list[Any]", await c.fetch(sql))

    return Own(c, execute, transaction.commit, transaction.rollback, close)


async def _asyncpg(place: Place) -> Own:
    c = await asyncpg.connect(place.postgres_url)
    transaction = c.transaction()
    await transaction.start()
    return _asyncpg_own(c, transaction, c.close)


async def _asyncpg_pool(place: Place) -> Own:
    pool = await asyncpg.create_pool(place.postgres_url, min_size=1, max_size=1)
    c = await pool.acquire()
    transaction = c.transaction()
    await transaction.start()

    async def close() -> None:
        await pool.release(c)
        await pool.close()

    return _asyncpg_own(c, transaction, close)


def _sqlite3(place: Place, **options: Any) -> Own:
    c = sqlite3.connect(str(place.path), **{"timeout": 10, "check_same_thread": False, **options})
    return Own(c, lambda sql: c.execute(sql).fetchall(), c.commit, c.rollback, c.close)


async def _aiosqlite(place: Place, **options: Any) -> Own:
    c = await aiosqlite.connect(str(place.path), **{"timeout": 10, **options})

    async def execute(sql: str) -> list[Any]:
        async with c.execute(sql) as cursor:
            return list(await cursor.fetchall())

    return Own(c, execute, c.commit, c.rollback, c.close)


def _alchemy_url(place: Place, driver: str) -> str:
    if place.store == "postgres":
        return f"postgresql+{driver}://{place.postgres_url.partition('://')[2]}"
    return f"sqlite+{driver}:///{place.path}"


def _alchemy(driver: str, *, session: bool) -> Callable[..., Own]:
    def make(place: Place, **options: Any) -> Own:
        engine = create_engine(_alchemy_url(place, driver), poolclass=NullPool, **options)
        c: Any = Session(engine) if session else engine.connect()

        def execute(sql: str) -> list[Any]:
            result = c.execute(text(sql))
            return list(result) if result.returns_rows else []

        return Own(c, execute, c.commit, c.rollback, c.close)

    return make


def _async_alchemy(driver: str, *, session: bool) -> Callable[..., Any]:
    async def make(place: Place, **options: Any) -> Own:
        engine = create_async_engine(_alchemy_url(place, driver), poolclass=NullPool, **options)
        c: Any = AsyncSession(engine) if session else await engine.connect()

        async def execute(sql: str) -> list[Any]:
            result = await c.execute(text(sql))
            return list(result) if result.returns_rows else []

        return Own(c, execute, c.commit, c.rollback, c.close)

    return make


_PLAIN = [
    Kind("psycopg", "postgres", "sync", _psycopg),
    Kind("psycopg-async", "postgres", "async", _psycopg_async),
    Kind("asyncpg", "postgres", "async", _asyncpg),
    Kind("asyncpg-pool", "postgres", "async", _asyncpg_pool),
    Kind("sqlite3", "shared", "sync", _sqlite3),
    Kind("aiosqlite", "shared", "async", _aiosqlite),
]
_ALCHEMY = [
    *(
        Kind(f"{driver}-{what}", store, "sync", _alchemy(driver, session=what == "Session"))
        for driver, store in cast(
            "list[tuple[str, Store]]", [("psycopg", "postgres"), ("pysqlite", "shared")]
        )
        for what in ("Connection", "Session")
    ),
    *(
        Kind(f"{driver}-{what}", store, "async", _async_alchemy(driver, session=what == "AsyncSession"))
        for driver, store in cast(
            "list[tuple[str, Store]]",
            [("psycopg", "postgres"), ("asyncpg", "postgres"), ("aiosqlite", "shared")],
        )
        for what in ("AsyncConnection", "AsyncSession")
    ),
]
KINDS = {kind.name: kind for kind in _PLAIN + _ALCHEMY}


def each(*names: str) -> pytest.MarkDecorator:
    """Run a test on the named kinds of connection, each on a fresh store it is for: (own_place, kind)."""
    kinds = [KINDS[name] for name in names]
    return pytest.mark.parametrize(
        ("own_place", "kind"),
        [pytest.param((kind.store, kind.way), kind, id=kind.name) for kind in kinds],
        indirect=["own_place"],
    )


every_kind = each(*KINDS)
one_per_way = each("psycopg", "psycopg-async", "sqlite3", "aiosqlite")
