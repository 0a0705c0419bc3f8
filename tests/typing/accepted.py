"""What type checkers must accept, and the types they must see. Checked by `make types`; nothing here is run."""

from __future__ import annotations

import sqlite3
from collections.abc import Coroutine
from datetime import date, timedelta
from typing import Any, assert_type

import aiosqlite

import tenure
import tenure.events
from tenure.transactions import AppTransaction, AsyncAppTransaction

app = tenure.App()


@app.job
async def bare_async(to: str, copies: int = 1) -> str:
    return to * copies


@app.job
def bare_sync(day: date, *, dry: bool = False) -> list[int]:
    return [day.year] if dry else []


@app.job
async def bare_context(ctx: tenure.Context, to: str) -> bytes:
    return to.encode()


@app.job
def bare_sync_context(ctx: tenure.Context, to: str) -> float:
    return ctx.attempt / len(to)


@app.job
def context_last(to: str, ctx: tenure.Context) -> float:
    """Type checkers take its context for an argument: it belongs first."""
    return ctx.attempt / len(to)


@app.job(queue="mail", retry=tenure.Exponential(first="60s"), timeout="30s", settle="now", on_dead=bare_sync)
async def full_async(to: str, copies: int = 1) -> str:
    return to * copies


@app.job(isolate=True, keep_result=False)
def full_sync(day: date) -> None: ...


@app.job(kind="context")
async def full_context(ctx: tenure.Context, to: str) -> dict[str, int]:
    return {to: ctx.attempt}


@app.cron("0 3 * * *", tz="Europe/Berlin")
@app.job
async def nightly(days: int = 7) -> int:
    return days


def results() -> None:
    assert_type(bare_async.enqueue("a"), tenure.Job[str])
    assert_type(bare_async.enqueue("a", 2).result(), str)
    assert_type(bare_sync.enqueue(date(2024, 1, 1), dry=True).result("30s"), list[int])
    assert_type(bare_context.enqueue("a").result(timeout=5), bytes)
    assert_type(bare_sync_context.enqueue(to="a").result(), float)
    assert_type(full_async.enqueue("a", copies=3).result(), str)
    assert_type(full_sync.enqueue(date(2024, 1, 1)), tenure.Job[None])
    assert_type(full_context.enqueue("a").result(), dict[str, int])
    assert_type(nightly.enqueue(days=3).result(), int)
    assert_type(full_async.options(delay="1h", unique="k").enqueue("a").result(), str)
    assert_type(full_async.options(request=tenure.Request(b"{}", {})).enqueue("a").result(), str)
    assert_type(bare_async.call("a", copies=2), tenure.NewJob)
    assert_type(app.enqueue("bare_async", {"to": "a"}), tenure.Job[Any])
    assert_type(
        app.enqueue_many([bare_async.call("a"), full_sync.call(date(2024, 1, 1))]), list[tenure.Job[Any]]
    )
    job = bare_async.enqueue("a")
    assert_type(job.get(), tenure.JobSeen | None)
    assert_type(job.cancel(), tenure.Cancelling)
    assert_type(job.replay(), tenure.Replayed)


async def awaited() -> None:
    assert_type(await bare_async.aenqueue("a"), tenure.Job[str])
    assert_type(await (await bare_context.aenqueue("a")).aresult("30s"), bytes)
    assert_type(await (await full_context.options(priority=3).aenqueue(to="a")).aresult(), dict[str, int])
    assert_type(await app.aenqueue("bare_async", {"to": "a"}), tenure.Job[Any])


async def plain_calls() -> None:
    await assert_type(bare_async("a"), Coroutine[Any, Any, str])
    assert_type(await full_async("a", 2), str)
    assert_type(await bare_context("a"), bytes)
    assert_type(bare_sync(date(2024, 1, 1)), list[int])
    assert_type(bare_sync_context("a"), float)


def transactions(mine: sqlite3.Connection, theirs: aiosqlite.Connection) -> None:
    assert_type(app.using(mine), AppTransaction)
    assert_type(app.using(mine).enqueue(bare_async.call("a")), tenure.Enqueued)
    assert_type(app.using(theirs), AsyncAppTransaction)


async def settles(ctx: tenure.Context, mine: sqlite3.Connection, theirs: aiosqlite.Connection) -> None:
    assert_type(ctx.claim.settle_in(mine, tenure.Done("a")), None)
    ctx.claim.settle_in(mine, tenure.Bury("no use"))
    await ctx.claim.settle_in(theirs, tenure.Fail("no", retry_in="1h"))


def a_worker_s_terms() -> None:
    app.run()
    app.run(concurrency=50, queues=["mail:10", "*:4"], processes=2)
    app.run(lease="30s", poll=0.5, grace=timedelta(seconds=5), max_jobs=None, janitor=False)


@app.middleware
async def timing(ctx: tenure.Context, call: Any) -> Any:
    return await call()


def ended(event: tenure.events.Ended) -> None: ...


app.listen(ended, tenure.events.Ended)
