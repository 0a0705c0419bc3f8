"""Start a worker in this process, or a pool of them: signals, the grace period, and what the environment says.

The first SIGTERM or SIGINT drains, the second gives back what runs and leaves, also while a handler blocks the event loop.
Whatever hangs (a handler, a thread, a database that does not answer), the process is gone when the grace period is over.
Only code that holds the interpreter itself is beyond this: no signal is heard before it lets go.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Protocol, Unpack

from tenure.app_schedules import CodeSchedule
from tenure.client.queue import Queue
from tenure.duration import Duration, parse
from tenure.environment import Setting
from tenure.errors import UsageError
from tenure.events import Listeners
from tenure.janitor.janitor import Janitor
from tenure.janitor.settings import JanitorSettings
from tenure.kinds import Kinds
from tenure.logs import log_alike
from tenure.newjob import check_whole
from tenure.service import Service
from tenure.worker.pool import MADE_ROOM, Pool
from tenure.worker.pool import PARENT as _POOL_PARENT
from tenure.worker.run import Middleware
from tenure.worker.settings import (
    DEFAULT_PREFETCH,
    WorkerSettings,
    WorkerTerms,
    check_terms,
    lines_of,
    positive_span,
)
from tenure.worker.signals import awake
from tenure.worker.turn import Front, InTurn
from tenure.worker.worker import Worker

__all__ = ["Startable", "make_worker", "run_here", "start", "worker_settings"]

log = logging.getLogger("tenure")
_SWITCH = 0.001
"""Handlers keep the interpreter busy, and threads that have heard from the database wait for it: not the usual 5 ms."""
_LITTER = 10_000
"""The claims in flight alone are thousands of objects: they are not worth the garbage collector's look at every 700th new one."""
MAX_PREFETCH, MAX_PROCESSES = 100_000, 1_000
_ANSWER = 2.0
"""How long the event loop may take to answer before it counts as blocked, in seconds; less where the grace period is short."""


class Startable(Protocol):
    """What a worker needs of an app."""

    kinds: Kinds
    listeners: Listeners
    middlewares: list[Middleware]
    crons: list[CodeSchedule]
    janitor: JanitorSettings

    @property
    def url(self) -> str: ...
    @property
    def address(self) -> str | None: ...
    def open(self) -> Queue: ...


def worker_settings(
    *,
    concurrency: int | None = None,
    queues: Sequence[str] | None = None,
    lease: Duration | None = None,
    poll: Duration = "5s",
    prefetch: int = DEFAULT_PREFETCH,
    settle_delay: Duration = "10ms",
    grace: Duration = "25s",
    children: int = 0,
    child_jobs: int | None = None,
    janitor: bool = True,
    max_jobs: int | None = None,
    max_memory: int | None = None,
) -> WorkerSettings:
    """What a worker is told, checked; the lease from the environment where none is given."""
    given = Setting.LEASE.read() if lease is None else positive_span(lease, "lease")
    return WorkerSettings(
        lines=lines_of(queues, concurrency),
        lease=given,
        poll=min(positive_span(poll, "poll"), parse("5s")),
        prefetch=check_whole(prefetch, "prefetch", 0, MAX_PREFETCH),
        settle_delay=parse(settle_delay, "settle_delay"),
        grace=positive_span(grace, "grace"),
        children=check_whole(children, "children", 0, MAX_PROCESSES),
        child_jobs=None if child_jobs is None else check_whole(child_jobs, "child_jobs", 1, sys.maxsize),
        janitor=janitor,
        max_jobs=None if max_jobs is None else check_whole(max_jobs, "max_jobs", 1, sys.maxsize),
        max_memory=None if max_memory is None else check_whole(max_memory, "max_memory", 1, sys.maxsize),
    )


def make_worker(app: Startable, settings: WorkerSettings, *, address: str | None = None) -> Worker:
    """A worker for this app; its child processes import it from `address`, if not from its own."""

    def chores(queue: Queue, listeners: Listeners, name: str) -> Janitor:
        return Janitor(
            queue, app.janitor, listeners=listeners, worker=name, kinds=app.kinds, crons=app.crons,
            only_declared=not settings.janitor,
        )  # fmt: skip

    return Worker(
        app.kinds,
        app.open,
        settings,
        address=address or app.address,
        listeners=app.listeners,
        middleware=app.middlewares,
        chores=chores,
        place=app.url,
    )


def start(app: Startable, *, processes: int = 1, **given: Unpack[WorkerTerms]) -> None:
    """Work until told to stop."""
    check_terms(given)
    settings = worker_settings(**given)
    several = check_whole(processes, "processes", 1, MAX_PROCESSES) > 1
    if several and app.address is None:
        raise UsageError("other processes cannot import this app; define it in a module or a script")
    with log_alike():
        if several and app.address is not None:
            Pool(app.address, app.open, processes, settings, place=app.url).run()
        else:
            worker = make_worker(app, settings)
            run_here(worker, settings)
            if worker.made_room and os.environ.get(_POOL_PARENT) == str(os.getppid()):
                sys.exit(MADE_ROOM)


def run_here(worker: Worker, settings: WorkerSettings, front: Front | None = None) -> None:
    """Run a worker, and what takes requests before it, in this process until a signal stops them."""
    end = _End(worker, settings.grace.total_seconds())
    if front is None:
        worker.on_stop, stop = end.near, worker.stop
    else:
        stop = InTurn(worker, front, end.near).stop
    told: set[int] = set()

    def on_signal(number: int, _frame: object) -> None:
        # A pool's worker may hear the same word from its parent and from whoever tells all processes: once is meant.
        if number not in told or _POOL_PARENT not in os.environ:
            told.add(number)
            stop()

    before = {s: signal.signal(s, on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
    parent = _Parent(worker)
    parent.start()
    try:
        if front is not None:
            front.start()
        with _tuned():
            asyncio.run(awake(worker.run()))
    finally:
        end.reached()
        parent.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _tuned() -> Iterator[None]:
    """The interpreter as workers need it, and then as it was; a garbage collector that is off stays off."""
    switching, (young, *older) = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH)
    if young:
        gc.set_threshold(max(young, _LITTER), *older)
    try:
        yield
    finally:
        sys.setswitchinterval(switching)
        gc.set_threshold(young, *older)


class _End:
    """Sees to it that a worker told to stop is gone when the grace period is over, and soon if told twice.

    As long as the event loop answers, the worker stops by itself. If a handler blocks it, a thread gives back what the
    worker holds, and ends the process.
    """

    def __init__(self, worker: Worker, grace: float) -> None:
        self._worker, self._grace, self._answer = worker, grace, min(_ANSWER, grace / 20)
        self._words: SimpleQueue[int | None] = SimpleQueue()
        """How often it was told to stop; None: it has. The one kind of queue that a signal handler may put something into."""
        self._alarm: tuple[float, float] | None = None
        threading.Thread(target=self._watch, name="tenure-end", daemon=True).start()

    def near(self, words: int) -> None:
        """The worker is to stop, and was told so this often."""
        if self._alarm is None:
            self._worker.near_end()
            # Should even giving up hang (on a log that nobody reads), the kernel ends the process.
            self._alarm = signal.setitimer(signal.ITIMER_REAL, self._grace + 2)
        self._words.put(words)

    def reached(self) -> None:
        """The worker has stopped in time."""
        self._words.put(None)
        if self._alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, *self._alarm)

    def _watch(self) -> None:
        if (words := self._words.get()) is None:
            return
        deadline = time.monotonic() + self._grace
        late = deadline - self._grace / 10
        log.info("told to stop; %g s are left", self._grace)
        while (now := time.monotonic()) < deadline:
            rest = self._answer if words > 1 or now >= late else late - now
            try:
                heard = self._words.get(timeout=min(rest, deadline - now))
                if heard is None:
                    return
                words = heard
            except Empty:
                pass
            if (words > 1 or time.monotonic() >= late) and not self._worker.answers(self._answer):
                self._rescue(deadline)
        self._leave("the grace period is over; leaving what hangs behind")

    def _rescue(self, deadline: float) -> None:
        """The event loop is blocked, so nobody else will do it."""
        given_back = self._worker.give_back(deadline)
        left = "what was held is given back" if given_back else "what is held is left to the next start"
        self._leave(f"a handler blocks the event loop; {left}")

    def _leave(self, why: str) -> None:
        self._worker.leave()
        log.error(why)
        logging.shutdown()
        sys.stdout.flush()
        os._exit(1)


class _Parent(Service):
    """Stops a pool's worker when the pool's parent is gone."""

    def __init__(self, worker: Worker) -> None:
        super().__init__("parent")
        self._worker, self._told = worker, False
        self._pid = os.environ.get(_POOL_PARENT)

    def tick(self) -> float:
        """Look whether the parent is still there."""
        if self._pid is not None and str(os.getppid()) != self._pid and not self._told:
            self._told = True
            log.warning("the pool's parent is gone: the worker stops")
            self._worker.retire()
        return 1.0 if self._pid is not None else 3_600.0
