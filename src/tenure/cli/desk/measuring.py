"""What a store can do, measured: jobs a second in and out, and milliseconds from enqueue to the handler's start.

Everything is as durable as the store is told to be, nothing is switched off, and the worker is the one people run, in this
process, with jobs that do nothing.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import tenure
from tenure.events import Settled, WorkerStarted
from tenure.worker.settings import WorkerSettings
from tenure.worker.start import make_worker, run_here, worker_settings
from tenure.worker.worker import Worker

__all__ = ["Interrupted", "measure"]

_BATCH: Final = 1_000
_AT_ONCE: Final = 64
_MOST: Final = 200_000
"""No more jobs than this are stored by one measurement, however fast it is."""
_PICKS: Final = 1_000
_PATIENCE: Final = 30.0


class Interrupted(Exception):
    """A signal stopped the worker before it was done."""


class _Told:
    """Stands before a worker to hear of signals."""

    def __init__(self) -> None:
        self.told = False

    def start(self) -> None:
        """Nothing begins here."""

    def stop(self) -> None:
        """A signal."""
        self.told = True

    def hurry(self) -> None:
        """A second one."""

    def join(self, timeout: float) -> bool:  # noqa: ARG002 - its shape
        """There is nothing to wait for."""
        return True


def measure(url: str, seconds: float, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A row for each measurement, none of which takes much longer than so many seconds; `say` is told what begins."""
    app = tenure.App(url)

    @app.job
    async def noop(n: int) -> None:
        pass

    with app.open() as queue:
        say("enqueue, one at a time")
        yield _one(queue, seconds)
        say(f"enqueue, {_AT_ONCE} at once")
        yield asyncio.run(_at_once(url, seconds))
        say(f"enqueue_many, {_BATCH:,} at a time")
        yield _many(queue, seconds)
        say("drain, one worker")
        yield _drain(app, queue, seconds)
    say("pick-up on an idle worker")
    yield _picks(url, seconds)


def _one(queue: tenure.Queue, seconds: float) -> dict[str, Any]:
    spent: list[float] = []
    began = time.perf_counter()
    while (before := time.perf_counter()) - began < seconds and len(spent) < _MOST:
        queue.enqueue("noop", {"n": len(spent)})
        spent.append(time.perf_counter() - before)
    return {**_speed("enqueue, one at a time", len(spent), time.perf_counter() - began), **_times(spent)}


async def _at_once(url: str, seconds: float) -> dict[str, Any]:
    """Concurrent callers of one process, who share commits."""
    count = 0
    async with await tenure.aopen(url) as queue:
        began = time.perf_counter()

        async def caller() -> None:
            nonlocal count
            while time.perf_counter() - began < seconds and count < _MOST:
                count += 1
                await queue.enqueue("noop", {"n": count})

        await asyncio.gather(*(caller() for _ in range(_AT_ONCE)))
        return _speed(f"enqueue, {_AT_ONCE} at once (async)", count, time.perf_counter() - began)


def _many(queue: tenure.Queue, seconds: float) -> dict[str, Any]:
    jobs = [tenure.NewJob(kind="noop", payload={"n": n}) for n in range(_BATCH)]
    count, began = 0, time.perf_counter()
    while not count or (time.perf_counter() - began < seconds and count < _MOST):
        count += len(queue.enqueue_many(jobs))
    return _speed(f"enqueue_many, {_BATCH:,} at a time", count, time.perf_counter() - began)


def _drain(app: tenure.App, queue: tenure.Queue, seconds: float) -> dict[str, Any]:
    """From the worker's start to the last settle, of what was enqueued before; where that is much, for so long."""
    waiting = sum(states["ready"] for states in queue.counts().values())
    began = ended = 0.0
    settled = 0
    stopping = threading.Event()

    def on_start(_: WorkerStarted) -> None:
        nonlocal began
        began = time.perf_counter()

    def on_settled(event: Settled) -> None:
        nonlocal settled, ended
        if stopping.is_set():
            return
        settled, ended = settled + event.stood, time.perf_counter()
        if settled >= waiting or ended - began >= seconds:
            stopping.set()
            worker.stop()

    app.listen(on_start, WorkerStarted)
    app.listen(on_settled, Settled)
    settings = worker_settings(janitor=False, grace="10s")
    worker = make_worker(app, settings)
    _work(worker, settings)
    return _speed("drain, one worker, no-op async job", settled, ended - began)


def _picks(url: str, seconds: float) -> dict[str, Any]:
    """From the call of enqueue to the first line of the handler, one job at a time."""
    app = tenure.App(url)
    started, heard = 0.0, threading.Event()

    @app.job
    async def pick() -> None:
        nonlocal started
        started = time.perf_counter()
        heard.set()

    spent: list[float] = []

    def caller() -> None:
        try:
            with app.open() as queue:
                until = time.monotonic() + seconds
                while time.monotonic() < until and len(spent) < _PICKS and not gone.is_set():
                    heard.clear()
                    before = time.perf_counter()
                    queue.enqueue("pick")
                    if not heard.wait(_PATIENCE):
                        return
                    spent.append(started - before)
                    gone.wait(random.uniform(0.005, 0.02))  # so that it is idle again
        finally:
            worker.stop()

    settings = worker_settings(janitor=False, grace="10s")
    worker = make_worker(app, settings)
    gone = threading.Event()
    calling = threading.Thread(target=caller, name="tenure-bench", daemon=True)
    app.listen(lambda _: calling.start(), WorkerStarted)
    try:
        _work(worker, settings)
    finally:
        gone.set()
        heard.set()
        if calling.ident is not None:
            calling.join(_PATIENCE)
    if not spent:
        raise tenure.StoreUnavailable(f"an idle worker did not start a job within {_PATIENCE:g} s")
    return {"what": "pick-up on an idle worker", "jobs": len(spent), **_times(spent[1:] or spent)}


def _work(worker: Worker, settings: WorkerSettings) -> None:
    """Until it is told to stop; by a signal is too early."""
    front = _Told()
    run_here(worker, settings, front)
    if front.told:
        raise Interrupted


def _speed(what: str, count: int, seconds: float) -> dict[str, Any]:
    return {"what": what, "jobs": count, "per_second": round(count / max(seconds, 1e-9), 1)}


def _times(spent: list[float]) -> dict[str, float]:
    ordered = sorted(spent)
    last = ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)]
    return {"p50_ms": round(statistics.median(ordered) * 1000, 3), "p99_ms": round(last * 1000, 3)}
