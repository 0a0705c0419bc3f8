"""Dramatiq on Redis, its workers run by its own command."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import CurrentMessage
from driving import PAD, Begun, Terms, by_threads, main, paces, plain_jobs, ready

TERMS = "ARENA_TERMS"
"""Where its worker processes, which import this module, find the terms."""


def version(_: Terms) -> dict[str, Any]:
    """Which Dramatiq this is."""
    return {"version": dramatiq.__version__}


def reset(terms: Terms) -> dict[str, Any]:
    """An empty database of Redis."""
    redis.Redis.from_url(terms["url"]).flushdb()
    return {}


def enqueue(terms: Terms) -> dict[str, Any]:
    """Single enqueues, by one thread or many."""
    broker = _broker(terms)
    put = broker.get_actor(terms["kind"]).send
    broker.declare_queue("warm")
    warm = broker.get_actor("noop")
    return by_threads(
        lambda n: put(n, PAD),
        terms,
        lambda n: broker.enqueue(warm.message(n, PAD).copy(queue_name="warm")),
        lambda: broker.flush("warm"),
    )


def paced(terms: Terms) -> dict[str, Any]:
    """One enqueue at a time, with rests between them."""
    broker = _broker(terms)
    put = broker.get_actor(terms["kind"]).send
    broker.get_actor("noop").send(0, PAD)
    for rest, due in paces(terms):
        time.sleep(rest)
        put(due)
    return {"count": terms["count"]}


def work(terms: Terms) -> None:
    """Its own command takes over this process; settings beside processes and threads are environment variables."""
    settings = dict(terms["settings"])
    options = [f"--processes={settings.pop('processes')}", f"--threads={settings.pop('threads')}"]
    env = {
        **os.environ,
        **{name: str(value) for name, value in settings.items()},
        "PYTHONPATH": os.path.dirname(__file__),  # noqa: PTH120
        TERMS: json.dumps(terms),
    }
    ready()
    os.execve(sys.executable, [sys.executable, "-m", "dramatiq", "drive_dramatiq", *options], env)


def left(terms: Terms) -> Callable[[], int]:
    """Whether jobs of any kind were not acknowledged; one to be tried again is in the queue of delays for a moment."""
    link = redis.Redis.from_url(terms["url"])

    def look() -> int:
        asked = link.pipeline(transaction=True)
        asked.hlen("dramatiq:default.msgs")
        asked.hlen("dramatiq:default.DQ.msgs")
        return int(any(asked.execute()))

    return look


def _broker(terms: Terms) -> Any:
    broker = RedisBroker(url=terms["url"])
    broker.add_middleware(CurrentMessage())
    dramatiq.set_broker(broker)
    for kind, job in plain_jobs(terms).items():
        dramatiq.actor(job, actor_name=kind)
    begun = Begun(terms.get("begun", ""))

    def failing(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        message = CurrentMessage.get_current_message()
        if message is None or not message.options.get("retries"):
            raise dramatiq.errors.Retry("once", delay=0)

    dramatiq.actor(failing, actor_name="failing", max_retries=3)
    return broker


if __name__ == "__main__":
    sys.exit(main(version=version, reset=reset, enqueue=enqueue, paced=paced, work=work, left=left))
elif TERMS in os.environ:
    # Each job is told about at the level INFO; a user who looks for speed turns that off.
    logging.getLogger("dramatiq").setLevel(logging.ERROR)
    broker = _broker(json.loads(os.environ[TERMS]))
