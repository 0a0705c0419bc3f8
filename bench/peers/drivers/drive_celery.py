"""Celery on Redis: acknowledges a job when it starts (its default), keeps no results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import celery
import redis
from driving import PAD, Terms, by_threads, main, plain_jobs, ready, rests

QUEUE = "celery"


def version(_: Terms) -> dict[str, Any]:
    """Which Celery this is."""
    return {"version": celery.__version__}


def reset(terms: Terms) -> dict[str, Any]:
    """An empty database of Redis."""
    redis.Redis.from_url(terms["url"]).flushdb()
    return {}


def enqueue(terms: Terms) -> dict[str, Any]:
    """Single enqueues, by one thread or many."""
    tasks = _app(terms).tasks
    put = tasks[terms["kind"]]
    link = redis.Redis.from_url(terms["url"])
    return by_threads(
        lambda n: put.apply_async((n, PAD)),
        terms,
        lambda n: tasks["noop"].apply_async((n, PAD), queue="warm"),
        lambda: link.delete("warm", "_kombu.binding.warm"),
    )


def paced(terms: Terms) -> dict[str, Any]:
    """One enqueue at a time, with rests between them."""
    put = _app(terms).tasks[terms["kind"]]
    for rest in rests(terms):
        time.sleep(rest)
        put.apply_async((time.monotonic_ns(),))
    return {"count": terms["count"]}


def work(terms: Terms) -> None:
    """A worker of one pool, without the talk between workers; it leaves at SIGTERM by itself."""
    settings = dict(terms["settings"])
    pool, concurrency = settings.pop("pool"), settings.pop("concurrency")
    app = _app(terms, **settings)
    options = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=ERROR"]
    ready()
    app.worker_main(["--quiet", "worker", f"--pool={pool}", f"--concurrency={concurrency}", *options])


def left(terms: Terms) -> Callable[[], int]:
    """Jobs of all kinds in the queue, and those that a worker holds but has not started."""
    link = redis.Redis.from_url(terms["url"])

    def count() -> int:
        asked = link.pipeline(transaction=True)
        asked.llen(QUEUE)
        asked.hlen("unacked")
        return sum(asked.execute())

    return count


def _app(terms: Terms, **settings: Any) -> Any:
    app = celery.Celery("arena", broker=terms["url"], set_as_current=False)
    app.conf.update(
        task_ignore_result=True, broker_pool_limit=64, worker_hijack_root_logger=False, **settings
    )
    for kind, job in plain_jobs(terms).items():
        app.task(name=kind)(job)
    app.finalize()
    return app


if __name__ == "__main__":
    sys.exit(main(version=version, reset=reset, enqueue=enqueue, paced=paced, work=work, left=left))
