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
from driving import PAD, WAIT, WARM, Begun, Stamps, Terms, by_tasks, in_chunks, main, ready, rests

CHUNK = 1_000
"""Jobs in one bulk enqueue."""
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
# Read from the newest job on: the other end of the index is full of entries of jobs that are gone.
LEFT = """
SELECT (SELECT count(*) FROM (SELECT FROM procrastinate_jobs WHERE status = 'todo' AND task_name = %(kind)s
                              ORDER BY priority, id DESC LIMIT 1000) AS todo)
     + (SELECT count(*) FROM (SELECT FROM procrastinate_jobs
                              WHERE status = 'doing' AND worker_id IS NOT NULL AND task_name = %(kind)s
                              LIMIT 1000) AS doing)
"""


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
    """Many jobs in one statement."""
    app, tasks = _app(terms, pool=1)
    put = tasks[terms["kind"]]

    def put_some(some: range) -> Awaitable[object]:
        done: Awaitable[object] = put.batch_defer_async(*[{"n": n, "pad": PAD} for n in some])
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
        for rest in rests(terms):
            await asyncio.sleep(rest)
            await put.defer_async(t=time.monotonic_ns())
    return {"count": terms["count"]}


async def work(terms: Terms) -> None:
    """A worker; it leaves at SIGTERM by itself."""
    settings = dict(terms["settings"])
    app, _ = _app(terms, pool=settings.pop("pool", 4))
    async with app.open_async():
        ready()
        await app.run_worker_async(**settings)


def left(terms: Terms) -> Callable[[], int]:
    """Jobs to do and jobs being done."""
    link = psycopg.connect(terms["url"], autocommit=True, options="-c enable_seqscan=off")
    return lambda: int(link.execute(LEFT, {"kind": terms["kind"]}).fetchone()[0])  # type: ignore[index]


def _analyze(terms: Terms) -> None:
    """What the server does by itself within a minute: without statistics a fetch takes ten times as long."""
    with psycopg.connect(terms["url"], autocommit=True) as link:
        link.execute("ANALYZE procrastinate_jobs")


def _app(terms: Terms, pool: int = 4) -> tuple[Any, dict[str, Any]]:
    # Each job is told about at the level INFO; a user who looks for speed turns that off.
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
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

    return app, {job.__name__: app.task(name=job.__name__)(job) for job in (noop, threaded, wait, stamp)}


if __name__ == "__main__":
    sys.exit(
        main(version=version, reset=reset, enqueue=enqueue, bulk=bulk, paced=paced, work=work, left=left)
    )
