"""PgQueuer on asyncpg, with batches: claims, completions and enqueues of many jobs in one statement."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version as version_of
from typing import Any

import asyncpg
import uvloop
from driving import PAD, WAIT, WARM, Begun, Stamps, Terms, by_tasks, in_chunks, main, paces, ready
from pgqueuer import PgQueuer, RetryRequested
from pgqueuer.queries import Queries

CHUNK = 5_000
"""Jobs in one bulk enqueue."""
# From the newest id down: jobs are done oldest first, so a row that still lives is found without passing dead ones; to
# the oldest of the kind, for before it may stand many that nobody does. Not EXISTS, which drops the order.
OLDEST = "SELECT id FROM pgqueuer WHERE entrypoint = $1 ORDER BY id LIMIT 1"
LEFT = """
SELECT count(*) FROM (SELECT FROM pgqueuer WHERE entrypoint = $1 AND id >= $2 ORDER BY id DESC LIMIT 1) AS last
"""


def version(_: Terms) -> dict[str, Any]:
    """Which PgQueuer this is."""
    return {"version": version_of("pgqueuer")}


async def reset(terms: Terms) -> dict[str, Any]:
    """Its tables anew, with the vacuum settings that it brings for them."""
    async with _queries(terms) as queries:
        if await queries.schema_is_installed():
            await queries.uninstall()
        await queries.install()
        await queries.optimize_autovacuum()
    return {}


def enqueue(terms: Terms) -> dict[str, Any]:
    """Single enqueues, over one connection or a pool."""

    async def run() -> dict[str, Any]:
        async with _queries(terms, pool=16 if terms["concurrency"] > 1 else 1) as queries:
            await asyncio.gather(*[queries.enqueue("warm", _payload(n)) for n in range(WARM)])
            await queries.clear_queue("warm")
            return await by_tasks(lambda n: queries.enqueue(terms["kind"], _payload(n)), terms)

    return uvloop.run(run())


def bulk(terms: Terms) -> dict[str, Any]:
    """Lists of jobs; `unique` gives each a key."""
    unique = terms.get("unique", False)

    async def run() -> dict[str, Any]:
        async with _queries(terms) as queries:

            async def put(some: range) -> None:
                await queries.enqueue(
                    [terms["kind"]] * len(some),
                    [_payload(n) for n in some],
                    [0] * len(some),
                    dedupe_key=[f"u{n}" for n in some] if unique else None,
                )

            return await in_chunks(put, CHUNK, terms)

    return uvloop.run(run())


async def paced(terms: Terms) -> dict[str, Any]:
    """One enqueue at a time, with rests between them."""
    async with _queries(terms) as queries:
        await queries.enqueue("noop", _payload(0))
        for rest, due in paces(terms):
            time.sleep(rest)  # noqa: ASYNC251 - an event loop would wake up to a millisecond late, and nothing else runs in it
            await queries.enqueue(terms["kind"], b'{"t": %d}' % due)
    return {"count": terms["count"]}


def work(terms: Terms) -> None:
    """A worker; its own command runs on uvloop where that is installed."""
    uvloop.run(_work(terms))


async def _work(terms: Terms) -> None:
    # Each retry is told about at the level WARNING; a user who looks for speed turns that off.
    logging.getLogger("pgqueuer").setLevel(logging.ERROR)
    settings = dict(terms["settings"])
    async with asyncpg.create_pool(terms["url"], min_size=2, max_size=settings.pop("pool", 4)) as pool:
        queue = PgQueuer.from_asyncpg_pool(pool)
        begun = Begun(terms["begun"])
        _register(queue, begun, Stamps(terms["out"]), settings.pop("only", ""))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, queue.shutdown.set)
        ready()
        begun()
        await queue.run(**settings)


def _register(queue: Any, begun: Begun, stamps: Stamps, only: str) -> None:
    async def noop(_: Any) -> None:
        if not begun.done:
            begun()

    def in_thread() -> None:
        if not begun.done:
            begun()

    async def threaded(_: Any) -> None:
        await asyncio.to_thread(in_thread)

    async def wait(_: Any) -> None:
        if not begun.done:
            begun()
        await asyncio.sleep(WAIT)

    async def stamp(job: Any) -> None:
        stamps(json.loads(job.payload)["t"])

    async def failing(job: Any) -> None:
        if not begun.done:
            begun()
        if job.attempts == 0:
            raise RetryRequested

    for job in (noop, threaded, wait, stamp, failing):
        if only in ("", job.__name__):
            queue.entrypoint(job.__name__)(job)


def left(terms: Terms) -> Callable[[], int]:
    """Jobs that still have a row: finished ones are moved to its log."""
    loop = asyncio.new_event_loop()
    link = loop.run_until_complete(
        asyncpg.connect(terms["url"], server_settings={"enable_seqscan": "off", "enable_sort": "off"}),
    )
    oldest = loop.run_until_complete(link.fetchval(OLDEST, terms["kind"])) or 0
    return lambda: int(loop.run_until_complete(link.fetchval(LEFT, terms["kind"], oldest)))


@contextlib.asynccontextmanager
async def _queries(terms: Terms, pool: int = 1) -> AsyncIterator[Any]:
    if pool > 1:
        async with asyncpg.create_pool(terms["url"], min_size=pool, max_size=pool) as links:
            yield Queries.from_asyncpg_pool(links)
    else:
        link = await asyncpg.connect(terms["url"])
        yield Queries.from_asyncpg_connection(link)
        await link.close()


def _payload(n: int) -> bytes:
    return json.dumps({"n": n, "pad": PAD}).encode()


if __name__ == "__main__":
    sys.exit(
        main(version=version, reset=reset, enqueue=enqueue, bulk=bulk, paced=paced, work=work, left=left)
    )
