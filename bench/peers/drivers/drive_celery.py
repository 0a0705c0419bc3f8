"""Celery on Redis: acknowledges a job when it starts (its default), keeps no results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import celery
import redis
from driving import PAD, Begun, Terms, by_threads, empty_twice, main, paces, plain_jobs, ready

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
    tasks = _app(terms).tasks
    put = tasks[terms["kind"]]
    tasks["noop"].apply_async((0, PAD))
    for rest, due in paces(terms):
        time.sleep(rest)
        put.apply_async((due,))
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
    """Whether jobs of any kind are in the queue, or held by a worker that has not started them.

    It takes a job from the queue before it notes that it holds it, and forgets it when it starts.
    """
    link = redis.Redis.from_url(terms["url"])

    def look() -> int:
        asked = link.pipeline(transaction=True)
        asked.llen(QUEUE)
        asked.hlen("unacked")
        return int(any(asked.execute()))

    return empty_twice(look)


def _app(terms: Terms, **settings: Any) -> Any:
    app = celery.Celery("arena", broker=terms["url"], set_as_current=False)
    app.conf.update(
        task_ignore_result=True, broker_pool_limit=64, worker_hijack_root_logger=False, **settings
    )
    for kind, job in plain_jobs(terms).items():
        app.task(name=kind)(job)
    begun = Begun(terms.get("begun", ""))

    def failing(task: Any, n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        if task.request.retries == 0:
            raise task.retry(exc=RuntimeError("once"), countdown=0)

    app.task(name="failing", bind=True, max_retries=2)(failing)
    app.finalize()
    return app


if __name__ == "__main__":
    sys.exit(main(version=version, reset=reset, enqueue=enqueue, paced=paced, work=work, left=left))
