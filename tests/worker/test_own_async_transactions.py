"""Async handlers that settle on an async connection of their own: what they wrote, what they enqueued there and the job's end
commit together, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiosqlite
import asyncpg
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

import tenure
from tests.worker.house import House, until

Make = Callable[[House], Any]


@dataclass
class Own:
    """A transaction of the handler's own."""

    connection: Any
    execute: Callable[[Any], Awaitable[Any]]
    commit: Callable[[], Awaitable[None]]
    rollback: Callable[[], Awaitable[None]]


@asynccontextmanager
async def _aiosqlite(house: House) -> AsyncIterator[Own]:
    async with aiosqlite.connect(_path(house), timeout=20) as db:
        yield Own(db, db.execute, db.commit, db.rollback)


@asynccontextmanager
async def _psycopg(house: House) -> AsyncIterator[Own]:
    db = await psycopg.AsyncConnection.connect(house.url.partition("?")[0])
    try:
        yield Own(db, lambda sql: db.execute(sql.encode()), db.commit, db.rollback)
    finally:
        await db.close()  # what is not committed is gone with it


@asynccontextmanager
async def _asyncpg(house: House) -> AsyncIterator[Own]:
    db = await asyncpg.connect(house.url.partition("?")[0])
    transaction = db.transaction()
    await transaction.start()
    try:
        yield Own(db, db.execute, transaction.commit, transaction.rollback)
    finally:
        await db.close()


def _session(driver: str) -> Make:
    @asynccontextmanager
    async def make(house: House) -> AsyncIterator[Own]:
        url = (
            f"postgresql+{driver}://{house.url.partition('?')[0].partition('://')[2]}"
            if house.store == "postgres"
            else f"sqlite+{driver}:///{_path(house)}"
        )
        engine = create_async_engine(url, poolclass=NullPool)
        async with AsyncSession(engine) as session:
            yield Own(session, lambda sql: session.execute(text(sql)), session.commit, session.rollback)

    return make


KINDS = {
    "aiosqlite": ("shared", _aiosqlite),
    "psycopg": ("postgres", _psycopg),
    "asyncpg": ("postgres", _asyncpg),
    "AsyncSession over aiosqlite": ("shared", _session("aiosqlite")),
    "AsyncSession over psycopg": ("postgres", _session("psycopg")),
    "AsyncSession over asyncpg": ("postgres", _session("asyncpg")),
}
every_kind = pytest.mark.parametrize(
    ("own_house", "make"),
    [pytest.param(store, make, id=name) for name, (store, make) in KINDS.items()],
    indirect=["own_house"],
)


def _path(house: House) -> str:
    return house.url.removeprefix("sqlite:///").partition("?")[0]


def _table(house: House) -> str:
    """A table of the handler's own, in the store's database."""
    house.queue.counts()
    schema = house.url.partition("?schema=")[2]
    name = f'"{schema}".effects' if house.store == "postgres" else "effects"
    with house.connection() as db:
        db.execute(f"CREATE TABLE {name} (n INTEGER)")
        db.commit()
    return name


def _rows(house: House, table: str) -> list[int]:
    with house.connection() as db:
        return [n for (n,) in db.execute(f"SELECT n FROM {table}").fetchall()]


def _kinds(house: House) -> dict[str, str]:
    """The jobs that are there, by kind: where each of them stands."""
    return {job.kind: str(job.state) for job in house.queue.list()}


async def _work(house: House, ctx: tenure.Context, own: Own, table: str) -> None:
    """Write, enqueue what comes next and settle, all in one transaction."""
    await own.execute(f"INSERT INTO {table} VALUES (7)")
    comes_next = tenure.NewJob(kind="comes_next", payload={"n": 7}, delay="1h")
    await house.app.using(own.connection).enqueue(comes_next, force=True)
    await ctx.claim.settle_in(own.connection, tenure.Done("mine"))


@every_kind
def test_what_it_wrote_what_it_enqueued_and_its_end_commit_together(own_house: House, make: Make) -> None:
    house, table = own_house, _table(own_house)

    @house.app.job
    async def works(ctx: tenure.Context) -> str:
        async with make(house) as own:
            await _work(house, ctx, own, table)
            await own.commit()
        return "is not what is kept"

    job = works.enqueue()
    house.start()
    assert job.result("30s") == "mine"
    assert _rows(house, table) == [7]
    assert _kinds(house) == {"works": "done", "comes_next": "scheduled"}
    assert house.story(job) == []


@every_kind
def test_a_transaction_that_is_rolled_back_is_a_failed_attempt_and_leaves_nothing(
    own_house: House, make: Make
) -> None:
    house, table = own_house, _table(own_house)

    @house.app.job(retry=tenure.Fixed("3h"))
    async def forgets(ctx: tenure.Context) -> None:
        async with make(house) as own:
            await _work(house, ctx, own, table)
            await own.rollback()

    job = forgets.enqueue()
    house.start()
    house.seen(job, lambda j: j.state == "scheduled")
    [told] = house.queue.history(job.id)
    assert (told.attempt, told.error_kind) == (1, "RolledBack")
    assert "was rolled back" in told.message
    assert (_rows(house, table), _kinds(house)) == ([], {"forgets": "scheduled"})


@every_kind
def test_who_raises_after_settling_has_failed_by_that_and_leaves_nothing(
    own_house: House, make: Make
) -> None:
    house, table = own_house, _table(own_house)

    @house.app.job(retry=tenure.Fixed("3h"))
    async def breaks(ctx: tenure.Context) -> None:
        async with make(house) as own:
            await _work(house, ctx, own, table)
            raise ValueError("before the commit")

    job = breaks.enqueue()
    house.start()
    house.seen(job, lambda j: j.state == "scheduled")
    assert house.story(job) == [(1, "ValueError", "before the commit")]
    assert (_rows(house, table), _kinds(house)) == ([], {"breaks": "scheduled"})


@every_kind
def test_a_claim_that_was_lost_rolls_all_of_it_back(own_house: House, make: Make) -> None:
    house, table = own_house, _table(own_house)
    lost: list[str] = []

    @house.app.job
    async def loses(ctx: tenure.Context) -> None:
        assert house.queue.settle(ctx.claim, tenure.Done("theirs"))
        async with make(house) as own:
            try:
                await _work(house, ctx, own, table)
                await own.commit()
            except tenure.ClaimLost as told:
                lost.append(told.job_id)
                raise

    job = loses.enqueue()
    working = house.start()
    until(lambda: lost)
    working.stop()
    assert lost == [job.id]
    assert job.result("30s") == "theirs"
    assert (_rows(house, table), _kinds(house)) == ([], {"loses": "done"})
    assert house.story(job) == []
