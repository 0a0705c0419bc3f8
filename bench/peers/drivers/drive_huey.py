"""Huey on a SQLite file, each commit on disk (`fsync`). A job is deleted when it is taken: it runs at most once."""

from __future__ import annotations

import logging
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huey
from driving import PAD, Begun, Terms, by_threads, empty_twice, main, paces, plain_jobs, ready

RETRIES = 2
"""What a job of the kind `failing` may still be retried at its first attempt."""


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
    tasks["noop"](0, PAD)
    for rest, due in paces(terms):
        time.sleep(rest)
        put(due)
    return {"count": terms["count"]}


def work(terms: Terms) -> None:
    """A consumer."""
    # Each failure is told about with its stack; a user who looks for speed turns that off.
    logging.getLogger("huey").setLevel(logging.CRITICAL)
    queue, _ = _queue(terms)
    consumer = queue.create_consumer(graceful_signal="TERM", periodic=False, **terms["settings"])
    ready()
    consumer.run()


def left(terms: Terms) -> Callable[[], int]:
    """Whether jobs of any kind were not taken yet or are to be tried again: it keeps nothing of those that are running."""
    link = sqlite3.connect(_file(terms), isolation_level=None)
    text = "SELECT " + " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE queue = 'arena')" for table in ("task", "schedule")
    )
    return empty_twice(lambda: int(link.execute(text).fetchone()[0]))


def _queue(terms: Terms, name: str = "arena") -> tuple[Any, dict[str, Any]]:
    queue = huey.SqliteHuey(name, filename=_file(terms), fsync=True, timeout=30, immediate=False)
    begun = Begun(terms.get("begun", ""))

    def failing(n: int, pad: str, task: Any) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        if task.retries == RETRIES:
            raise RuntimeError("once")

    tasks = {kind: queue.task(name=kind)(job) for kind, job in plain_jobs(terms).items()}
    tasks["failing"] = queue.task(name="failing", retries=RETRIES, retry_delay=0, context=True)(failing)
    return queue, tasks


def _file(terms: Terms) -> str:
    url: str = terms["url"]
    return url.removeprefix("sqlite:///")


if __name__ == "__main__":
    sys.exit(main(version=version, reset=reset, enqueue=enqueue, paced=paced, work=work, left=left))
