"""Procrastinate on psycopg, with its asynchronous worker."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version as version_of
from typing import Any

import procrastinate
import psycopg
from driving import PAD, WAIT, WARM, Begun, Stamps, Terms, by_tasks, in_chunks, main, paces, ready

CHUNK = 1_000
"""Jobs in one bulk enqueue."""
ELSEWHERE = "elsewhere"
"""The queue of kinds that no worker knows."""
# All of the text is put together before anything is dropped: what is gone has no name any more.
DROP = """
DO $$
DECLARE told text;
BEGIN
    SELECT string_agg(format('DROP %s CASCADE', what), ';') INTO told FROM (
        SELECT format('TABLE IF EXISTS %s', oid::regclass) AS what FROM pg_class
        WHERE relkind = 'r' AND relname LIKE 'procrastinate%'
        UNION ALL
        SELECT format('FUNCTION IF EXISTS %s', oid::regprocedure) FROM pg_proc
        WHERE proname LIKE 'procrastinate%'
        UNION ALL
        SELECT format('TYPE IF EXISTS %s', t.oid::regtype) FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = typrelid
        WHERE typname LIKE 'procrastinate%' AND (typtype = 'e' OR c.relkind = 'c')
    ) AS everything;
    IF told IS NOT NULL THEN
        EXECUTE told;
    END IF;
END $$
"""
# Its index of what is to do or being done, from the newest id down: jobs are done oldest first, so one that is left is
# found without passing dead entries; to the oldest of the kind, for before it may stand many that nobody does. Not
# EXISTS, which drops the order.
OLDEST = """
SELECT id FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name = %(kind)s ORDER BY id, lock LIMIT 1
"""
LEFT = """
SELECT count(*) FROM (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name = %(kind)s
                      AND id >= %(oldest)s ORDER BY id DESC, lock DESC LIMIT 1) AS last
"""


LOCKS = "SELECT count(DISTINCT lock) FROM procrastinate_jobs WHERE status = 'todo' AND lock LIKE 'g%'"


def version(_: Terms) -> dict[str, Any]:
    """Which Procrastinate this is."""
    return {"version": version_of("procrastinate")}


async def reset(terms: Terms) -> dict[str, Any]:
    """Its tables, functions and types anew."""
    with psycopg.connect(terms["url"], autocommit=True) as link:
        link.execute("SET client_min_messages = warning")
        link.execute(DROP)
    app, _ = _app(terms)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
    return {}


async def enqueue(terms: Terms) -> dict[str, Any]:
    """Single enqueues; over a pool."""
    app, tasks = _app(terms, pool=16 if terms["concurrency"] > 1 else 1)
    put = tasks[terms["kind"]]
    async with app.open_async():
        warm = app.configure_task("warm")
        await asyncio.gather(*[warm.defer_async(n=n, pad=PAD) for n in range(WARM)])
        with psycopg.connect(terms["url"]) as link:
            link.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'warm'")
        told = await by_tasks(lambda n: put.defer_async(n=n, pad=PAD), terms)
    _analyze(terms)
    return told


async def bulk(terms: Terms) -> dict[str, Any]:
    """Many jobs in one statement; `groups` spreads them over that many locks, `unique` gives each a queueing lock."""
    app, tasks = _app(terms, pool=1)
    put = tasks.get(terms["kind"]) or app.configure_task(terms["kind"], queue=ELSEWHERE)
    groups, unique = terms.get("groups", 0), terms.get("unique", False)

    def job_of(n: int) -> Any:
        lock, own = f"g{n % groups}" if groups else None, f"u{n}" if unique else None
        return put.configure(lock=lock, queueing_lock=own, task_kwargs={"n": n, "pad": PAD}).job

    def put_some(some: range) -> Awaitable[object]:
        done: Awaitable[object]
        if groups or unique:
            # A task's own batch has one lock for all of its jobs.
            done = app.job_manager.batch_defer_jobs_async(jobs=[job_of(n) for n in some])
        else:
            done = put.batch_defer_async(*[{"n": n, "pad": PAD} for n in some])
        return done

    async with app.open_async():
        told = await in_chunks(put_some, CHUNK, terms)
    _analyze(terms)
    return told


async def paced(terms: Terms) -> dict[str, Any]:
    """One enqueue at a time, with rests between them."""
    app, tasks = _app(terms, pool=1)
    put = tasks[terms["kind"]]
    async with app.open_async():
        await tasks["noop"].defer_async(n=0, pad=PAD)
        for rest, due in paces(terms):
            time.sleep(rest)  # noqa: ASYNC251 - an event loop would wake up to a millisecond late, and nothing else runs in it
            await put.defer_async(t=due)
    return {"count": terms["count"]}


async def work(terms: Terms) -> None:
    """A worker; it leaves at SIGTERM by itself."""
    settings = dict(terms["settings"])
    app, _ = _app(terms, pool=settings.pop("pool", 4))
    # One that finds only jobs whose locks are held waits for seconds, so no more are run at once than there are locks.
    with psycopg.connect(terms["url"], autocommit=True) as link:
        [(locks,)] = link.execute(LOCKS).fetchall()
    if locks:
        settings["concurrency"] = min(settings.get("concurrency", 1), locks)
    async with app.open_async():
        ready()
        await app.run_worker_async(**settings)


def left(terms: Terms) -> Callable[[], int]:
    """Jobs to do and jobs being done."""
    link = psycopg.connect(
        terms["url"],
        autocommit=True,
        options="-c enable_seqscan=off -c enable_sort=off -c enable_incremental_sort=off",
    )
    first = link.execute(OLDEST, {"kind": terms["kind"]}).fetchone()
    about = {"kind": terms["kind"], "oldest": first[0] if first else 0}
    return lambda: int(link.execute(LEFT, about).fetchone()[0])  # type: ignore[index]


def _analyze(terms: Terms) -> None:
    """What the server does by itself within a minute: without statistics a fetch takes ten times as long."""
    with psycopg.connect(terms["url"], autocommit=True) as link:
        link.execute("ANALYZE procrastinate_jobs")


def _app(terms: Terms, pool: int = 4) -> tuple[Any, dict[str, Any]]:
    # Each job is told about at the level INFO, each failure at ERROR; a user who looks for speed turns that off.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    connector = procrastinate.PsycopgConnector(conninfo=terms["url"], min_size=pool, max_size=pool)
    app = procrastinate.App(connector=connector)
    begun, stamps = Begun(terms.get("begun", "")), Stamps(terms.get("out", ""))

    async def noop(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()

    def threaded(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()

    async def wait(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        await asyncio.sleep(WAIT)

    async def stamp(t: int) -> None:
        stamps(t)

    async def failing(context: Any, n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        if context.job.attempts == 0:
            raise RuntimeError("once")

    tasks = {job.__name__: app.task(name=job.__name__)(job) for job in (noop, threaded, wait, stamp)}
    at_once = procrastinate.RetryStrategy(max_attempts=3)
    tasks["failing"] = app.task(name="failing", pass_context=True, retry=at_once)(failing)
    return app, tasks


if __name__ == "__main__":
    sys.exit(
        main(version=version, reset=reset, enqueue=enqueue, bulk=bulk, paced=paced, work=work, left=left)
    )
