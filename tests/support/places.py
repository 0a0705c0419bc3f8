"""Every store and both ways of calling, behind one shape: what a conformance test is run on.

A `Place` opens queues on one fresh store. Its queues look like `tenure.Queue` to the test; on the async way each call is
awaited on an event loop in a thread of its own. `transaction()` is a transaction of the caller's own in the same database.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import aiosqlite
import apsw
import psycopg

import tenure
from tenure.clock import from_micros, machine_micros
from tests.support.schemas import give_back

__all__ = ["WAYS", "Caller", "Place", "Tx"]

T = TypeVar("T")
Store = Literal["sqlite", "shared", "postgres"]
Way = Literal["sync", "async"]

WAYS: list[tuple[Store, Way]] = [
    ("sqlite", "sync"), ("sqlite", "async"), ("shared", "sync"), ("shared", "async"), ("postgres", "sync"), ("postgres", "async"),
]  # fmt: skip


class Loop:
    """An event loop in a thread of its own, for tests that call async code as if it were sync."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-loop", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop; its answer."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        """Stop the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


class Caller:
    """An async queue or transaction whose methods answer at once."""

    def __init__(self, target: Any, loop: Loop) -> None:
        self.target, self._loop = target, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.target, name)
        if name == "using":
            return lambda connection: Caller(found(connection), self._loop)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._loop.wait(found(*args, **kwargs))

        return call


@dataclass
class Tx:
    """A transaction of the caller's own: `queue` speaks inside it, `execute` runs the caller's own SQL in it."""

    queue: tenure.Transaction
    connection: Any
    execute: Callable[[str], list[Any]]
    settle_in: Callable[[tenure.Claim, tenure.Outcome], None]


@dataclass
class Place:
    """One fresh store, and one way of calling it."""

    store: Store
    way: Way
    url: str
    path: Path | None
    postgres_url: str
    schema: str
    loop: Loop
    _open: list[Any] = field(default_factory=list)

    @property
    def prefix(self) -> str:
        """What stands before a table's name in SQL: `tenure_` on SQLite, the schema and a dot on PostgreSQL."""
        return f'"{self.schema}".' if self.store == "postgres" else "tenure_"

    @property
    def transactional(self) -> bool:
        """Whether callers can have transactions of their own in this store."""
        return self.store != "sqlite"

    def open(self, **options: Any) -> tenure.Queue:
        """Another queue on the same store (options as for tenure.open)."""
        if self.way == "sync":
            queue: Any = tenure.open(self.url, **options)
        else:
            queue = Caller(self.loop.wait(tenure.aopen(self.url, **options)), self.loop)
        self._open.append(queue)
        return cast("tenure.Queue", queue)

    def close(self) -> None:
        """Close every queue, and give the schema back."""
        for queue in self._open:
            queue.close()
        if self.store == "postgres":
            give_back(self.postgres_url, self.schema)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run SQL of the test's own on the store, committed at once; `tenure.` and `tenure_` both name our tables."""
        if self.store == "postgres":
            with psycopg.connect(self.postgres_url, autocommit=True) as connection:
                cursor = connection.execute(self._placed(text).encode())
                return cursor.fetchall() if cursor.description else []
        if self.store == "shared":
            with_sqlite = sqlite3.connect(str(self.path), isolation_level=None)
            try:
                return with_sqlite.execute(self._placed(text)).fetchall()
            finally:
                with_sqlite.close()
        with_apsw = apsw.Connection(str(self.path))
        with_apsw.set_busy_timeout(10_000)
        try:
            return with_apsw.execute(self._placed(text)).fetchall()
        finally:
            with_apsw.close()

    def now(self) -> datetime:
        """The store's own clock: the server's, or for a file the machine's."""
        if self.store != "postgres":
            return from_micros(machine_micros())
        [(now,)] = self.sql("SELECT clock_timestamp()")
        return cast("datetime", now)

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """A transaction of the caller's own; commits at the end, rolls back if the block raises."""
        queue = self.open()
        if self.way == "sync":
            yield from self._sync_transaction(queue)
        else:
            yield from self._async_transaction(cast("Any", queue))

    def _placed(self, text: str) -> str:
        return (
            text.replace("tenure.", self.prefix)
            if self.store == "postgres"
            else text.replace("tenure.", "tenure_")
        )

    def _sync_transaction(self, queue: tenure.Queue) -> Iterator[Tx]:
        connection: Any = (
            psycopg.connect(self.postgres_url)
            if self.store == "postgres"
            else sqlite3.connect(str(self.path), timeout=10)
        )

        def execute(text: str) -> list[Any]:
            cursor = connection.execute(self._placed(text))
            return cast("list[Any]", cursor.fetchall() if cursor.description else [])

        def settle_in(claim: tenure.Claim, outcome: tenure.Outcome) -> None:
            claim.settle_in(connection, outcome)

        try:
            yield Tx(queue.using(connection), connection, execute, settle_in)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            connection.close()

    def _async_transaction(self, queue: Caller) -> Iterator[Tx]:
        wait = self.loop.wait
        connection: Any = (
            wait(psycopg.AsyncConnection.connect(self.postgres_url))
            if self.store == "postgres"
            else wait(_aiosqlite(str(self.path)))
        )

        async def run(text: str) -> list[Any]:
            cursor = await connection.execute(text)
            return cast("list[Any]", await cursor.fetchall() if cursor.description else [])

        async def settle(claim: tenure.Claim, outcome: tenure.Outcome) -> None:
            await claim.settle_in(connection, outcome)

        try:
            yield Tx(
                cast("tenure.Transaction", queue.using(connection)),
                connection,
                lambda text: wait(run(self._placed(text))),
                lambda claim, outcome: wait(settle(claim, outcome)),
            )
            wait(connection.commit())
        except BaseException:
            wait(connection.rollback())
            raise
        finally:
            wait(connection.close())


async def _aiosqlite(path: str) -> aiosqlite.Connection:
    return await aiosqlite.connect(path, timeout=10)
