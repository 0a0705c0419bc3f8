"""Huey on a SQLite file, each commit on disk (`fsync`). A job is deleted when it is taken: it runs at most once."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huey
from driving import PAD, Terms, by_threads, main, plain_jobs, ready, rests


def version(_: Terms) -> dict[str, Any]:
    """Which Huey this is."""
    return {"version": huey.__version__}


def reset(terms: Terms) -> dict[str, Any]:
    """A new file."""
    for end in ("", "-wal", "-shm"):
        Path(_file(terms) + end).unlink(missing_ok=True)
    _queue(terms)
    return {}


def enqueue(terms: Terms) -> dict[str, Any]:
    """Single enqueues, by one thread or many."""
    apart, warm_tasks = _queue(terms, "warm")
    warm = warm_tasks["noop"]
    _, tasks = _queue(terms)
    put = tasks[terms["kind"]]
    return by_threads(lambda n: put(n, PAD), terms, lambda n: warm(n, PAD), apart.storage.flush_queue)


def paced(terms: Terms) -> dict[str, Any]:
    """One enqueue at a time, with rests between them."""
    _, tasks = _queue(terms)
    put = tasks[terms["kind"]]
    for rest in rests(terms):
        time.sleep(rest)
        put(time.monotonic_ns())
    return {"count": terms["count"]}


def work(terms: Terms) -> None:
    """A consumer."""
    queue, _ = _queue(terms)
    consumer = queue.create_consumer(graceful_signal="TERM", periodic=False, **terms["settings"])
    ready()
    consumer.run()


def left(terms: Terms) -> Callable[[], int]:
    """Jobs of all kinds that were not taken yet: it keeps nothing of those that are running."""
    link = sqlite3.connect(_file(terms), isolation_level=None)
    text = "SELECT count(*) FROM (SELECT 1 FROM task WHERE queue = 'arena' LIMIT 1000)"
    return lambda: int(link.execute(text).fetchone()[0])


def _queue(terms: Terms, name: str = "arena") -> tuple[Any, dict[str, Any]]:
    queue = huey.SqliteHuey(name, filename=_file(terms), fsync=True, timeout=30, immediate=False)
    return queue, {kind: queue.task(name=kind)(job) for kind, job in plain_jobs(terms).items()}


def _file(terms: Terms) -> str:
    url: str = terms["url"]
    return url.removeprefix("sqlite:///")


if __name__ == "__main__":
    sys.exit(main(version=version, reset=reset, enqueue=enqueue, paced=paced, work=work, left=left))
