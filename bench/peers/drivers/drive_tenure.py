"""Tenure, driven as its users would: what only PostgreSQL needs is imported only there, for memory is measured too."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driving import PAD, WAIT, WARM, Begun, Stamps, Terms, by_tasks, by_threads, in_chunks, main, paces, ready

import tenure

_CHUNK = 20_000


def make_app(terms: Terms) -> tenure.App:
    """The kinds that every worker of the arena knows."""
    app = tenure.App(terms["url"])
    begun, stamps = Begun(terms.get("begun", "")), Stamps(terms.get("out", ""))
    app.listeners.add(lambda _: begun(), tenure.events.WorkerStarted)

    @app.job
    async def noop(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()

    @app.job
    def threaded(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()

    @app.job
    async def wait(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        await asyncio.sleep(WAIT)

    @app.job
    async def stamp(t: int) -> None:
        stamps(t)

    @app.job(retry=tenure.Fixed("0s"), max_attempts=3)
    async def failing(ctx: tenure.Context, n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        if ctx.attempt == 1:
            raise RuntimeError("once")

    return app


def version(_: Terms) -> dict[str, Any]:
    """Which Tenure this is."""
    return {"version": tenure.__version__}


def reset(terms: Terms) -> dict[str, Any]:
    """An empty store."""
    url = terms["url"]
    if url.startswith("sqlite"):
        for end in ("", "-wal", "-shm"):
            Path(url.removeprefix("sqlite:///") + end).unlink(missing_ok=True)
    else:
        import psycopg

        with psycopg.connect(url, autocommit=True) as link:
            link.execute("DROP SCHEMA IF EXISTS tenure CASCADE")
    tenure.open(url).close()
    return {}


def enqueue(terms: Terms) -> Any:
    """Single enqueues, one after the other or many at once."""
    if terms["concurrency"] > 1:
        return _concurrently(terms)
    app = make_app(terms)
    put = app.kinds[terms["kind"]].enqueue
    for n in range(WARM):
        put(n, PAD)
    return by_threads(lambda n: put(n, PAD), terms)


async def _concurrently(terms: Terms) -> dict[str, Any]:
    put = make_app(terms).kinds[terms["kind"]].aenqueue
    for n in range(WARM):
        await put(n, PAD)
    return await by_tasks(lambda n: put(n, PAD), terms)


def bulk(terms: Terms) -> Any:
    """Many at once; `groups` spreads them over that many groups, `unique` gives each a key."""
    app = make_app(terms)
    job, groups, unique = app.kinds[terms["kind"]], terms.get("groups", 0), terms.get("unique", False)

    def call(n: int) -> Any:
        if groups:
            return job.options(group=f"g{n % groups}").call(n, PAD)
        return job.options(unique=f"u{n}").call(n, PAD) if unique else job.call(n, PAD)

    async def put(some: range) -> None:
        app.enqueue_many([call(n) for n in some])

    app.queue.counts(cap=1)  # it is open before the clock starts

    return in_chunks(put, _CHUNK, terms)


def paced(terms: Terms) -> dict[str, Any]:
    """One enqueue at a time, with rests between them."""
    kinds = make_app(terms).kinds
    put = kinds[terms["kind"]].enqueue
    kinds["noop"].enqueue(0, PAD)
    for rest, due in paces(terms):
        time.sleep(rest)
        put(due)
    return {"count": terms["count"]}


def work(terms: Terms) -> None:
    """A worker, until it is told to stop."""
    app = make_app(terms)
    logging.getLogger("tenure").setLevel(
        logging.CRITICAL
    )  # as the others' loggers are: jobs that fail are not told of
    ready()
    app.run(**terms["settings"])


def left(terms: Terms) -> Callable[[], int]:
    """Whether jobs are not finished, asked of the tables themselves: what is cheap at any size."""
    url: str = terms["url"]
    if url.startswith("sqlite"):
        unfinished = (
            "state = 'ready'",
            "state = 'scheduled'",
            "lease_until IS NOT NULL",
            "state = 'waiting'",
        )
        file = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        text = " OR ".join(f"EXISTS (SELECT 1 FROM tenure_jobs WHERE {rule})" for rule in unfinished)
        return lambda: int(file.execute(f"SELECT {text}").fetchone()[0])
    import psycopg

    link = psycopg.connect(url, autocommit=True, options="-c enable_seqscan=off")
    # From the newest on, which ends last: what has ended before it is not read again by every look.
    text = "SELECT count(*) FROM (SELECT FROM tenure.jobs ORDER BY id DESC LIMIT 1) j"
    return lambda: int(link.execute(text).fetchone()[0])  # type: ignore[index]


if __name__ == "__main__":
    sys.exit(
        main(version=version, reset=reset, enqueue=enqueue, bulk=bulk, paced=paced, work=work, left=left)
    )
