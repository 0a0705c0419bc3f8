"""AsyncQueue: the client for who awaits. The sync one (`queue.py`) does without an event loop, and without importing one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from weakref import WeakKeyDictionary, ref

from tenure.client.commit import GroupCommit
from tenure.client.commit_on_loop import Heard, LoopCommit
from tenure.client.faces import asynchronous
from tenure.client.transaction import AsyncTransaction, Owner
from tenure.client.verbs import Call, Clock, Verbs, check_limits
from tenure.config import choose_url
from tenure.errors import UsageError
from tenure.job import AsyncConnection, AsyncpgConnection, Enqueued
from tenure.newjob import Row
from tenure.payload import MAX_PAYLOAD
from tenure.store.base import Make, Pid, Store
from tenure.store.enqueue import enqueue
from tenure.store.foreign import is_async
from tenure.store.open import open_store
from tenure.store.upkeep import MAX_CRASHES

__all__ = ["AsyncQueue", "aopen", "group_commit"]

T = TypeVar("T")
_THREADS = 8


async def aopen(
    url: str | None = None,
    *,
    clock: Clock | None = None,
    max_payload: int = MAX_PAYLOAD,
    max_crashes: int = MAX_CRASHES,
) -> AsyncQueue:
    """`open`, to be awaited."""
    check_limits(max_payload, max_crashes)
    opening = asyncio.get_running_loop().run_in_executor(None, open_store, choose_url(url))
    try:
        store = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_let_go)  # a thread goes on opening it
        raise
    return AsyncQueue(store, clock=clock, max_payload=max_payload, max_crashes=max_crashes)


def _let_go(opened: asyncio.Future[Store]) -> None:
    """Close what nobody waited for."""
    if not opened.cancelled() and opened.exception() is None:
        opened.result().close()


def group_commit(queue: AsyncQueue, loop: asyncio.AbstractEventLoop) -> GroupCommit:
    """The rows that share the commits of this event loop, the running one, for who waits for them without a task."""
    return queue._group(loop)  # noqa: SLF001 - for the gateway, and no verb


class AsyncQueue:
    """A durable job queue to be awaited: plans run in a few threads of its own, a whole plan in one hop."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        max_payload: int = MAX_PAYLOAD,
        max_crashes: int = MAX_CRASHES,
    ) -> None:
        self._store, self._max_payload = store, max_payload
        self._owner = Owner(store, clock, max_crashes)
        self._verbs = self._owner.verbs(max_payload)
        self._pid, self._closed = Pid(), False
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tenure")
        self._tasks: set[asyncio.Future[Any]] = set()
        self._commits: WeakKeyDictionary[asyncio.AbstractEventLoop, GroupCommit] = WeakKeyDictionary()
        self._last_group: tuple[ref[asyncio.AbstractEventLoop] | None, GroupCommit | None] = (None, None)

    @property
    def worker(self) -> str:
        """The worker name that claims carry unless they name another: fresh for every queue opened."""
        return self._verbs.worker

    async def _run(self, call: Call[T]) -> T:
        if call.row is not None:
            return cast("T", await self._group(asyncio.get_running_loop()).enqueue(call.row))

        def work() -> T:
            return self._store.run(
                call.make, reads=call.reads, repeatable=call.repeatable, promises=call.promises
            )

        hop = asyncio.ensure_future(self._hop(work))
        try:
            return await asyncio.shield(hop)
        except asyncio.CancelledError:
            self._tasks.add(hop)
            hop.add_done_callback(lambda done: self._take_back(call, done))
            raise

    def _take_back(self, call: Call[T], done: asyncio.Future[T]) -> None:
        """Nobody waits for the answer any more, or hears of an error; what was claimed is given back, not left to its lease."""
        self._tasks.discard(done)
        if not done.cancelled() and done.exception() is None and call.undo is not None and done.result():
            task = asyncio.ensure_future(self._run(call.undo(done.result())))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _commit(self, rows: Sequence[Row], asked: bool) -> Sequence[Enqueued]:
        return self._store.run(self._enqueuing(rows), patient=not rows[0].may_wait, asked=asked)

    def _begin(self, rows: Sequence[Row], tell: Heard) -> bool:
        return not self._closed and self._store.begin(
            self._enqueuing(rows), tell, patient=not rows[0].may_wait
        )

    def _enqueuing(self, rows: Sequence[Row]) -> Make[list[Enqueued]]:
        now = self._verbs._now()  # noqa: SLF001 - one client, two modules
        return lambda again: enqueue(rows, self._store.dialect.can, now=now, again=again, ends=True)

    async def _hop(self, work: Callable[[], T]) -> T:
        """Run it in one of our threads; a forked child has none of its parent's, and starts its own."""
        if self._closed:
            raise UsageError("this queue is closed; open it again")
        if not self._pid.mine:
            self._pid, self._threads = Pid(), ThreadPoolExecutor(_THREADS, thread_name_prefix="tenure")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _group(self, loop: asyncio.AbstractEventLoop) -> GroupCommit:
        last, commits = self._last_group
        if last is None or last() is not loop or commits is None:
            lanes = 2 if self._store.dialect.can.defers else 1
            commits = self._commits.get(loop) or (
                LoopCommit(self._begin, self._commit, self._hop, lanes)
                if self._store.on_loop
                else GroupCommit(self._commit, self._hop, lanes)
            )
            self._commits[loop], self._last_group = commits, (ref(loop), commits)
        return commits

    def using(self, connection: AsyncConnection | AsyncpgConnection) -> AsyncTransaction:
        """The queue inside the caller's own transaction: what is said through it commits or rolls back with it."""
        if not is_async(connection):
            raise UsageError("this connection is a sync one; open the queue with tenure.open to use it")
        return AsyncTransaction(self._owner, self._store, connection, self._max_payload)

    async def close(self) -> None:
        """Let go of the database, once what is on its way has ended."""
        loop = asyncio.get_running_loop()
        for other, commits in list(self._commits.items()):
            if other is loop:
                await commits.finish()
            else:
                commits.end()
        while mine := [task for task in self._tasks if task.get_loop() is loop]:
            await asyncio.wait(mine)
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    def _close(self) -> None:
        self._threads.shutdown(wait=True)
        self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    enqueue = asynchronous(Verbs.enqueue)
    enqueue_job = asynchronous(Verbs.enqueue_job)
    enqueue_many = asynchronous(Verbs.enqueue_many)
    holder = asynchronous(Verbs.holder)
    claim = asynchronous(Verbs.claim)
    renew = asynchronous(Verbs.renew)
    progress = asynchronous(Verbs.progress)
    settle = asynchronous(Verbs.settle)
    settle_many = asynchronous(Verbs.settle_many)
    cancel = asynchronous(Verbs.cancel)
    cancel_many = asynchronous(Verbs.cancel_many)
    discard = asynchronous(Verbs.discard)
    restore = asynchronous(Verbs.restore)
    promote = asynchronous(Verbs.promote)
    expire = asynchronous(Verbs.expire)
    reclaim = asynchronous(Verbs.reclaim)
    vanished = asynchronous(Verbs.vanished)
    retain = asynchronous(Verbs.retain)
    purge = asynchronous(Verbs.purge)
    replay = asynchronous(Verbs.replay)
    replay_many = asynchronous(Verbs.replay_many)
    unreplay = asynchronous(Verbs.unreplay)
    pause = asynchronous(Verbs.pause)
    resume = asynchronous(Verbs.resume)
    paused = asynchronous(Verbs.paused)
    counts = asynchronous(Verbs.counts)
    count = asynchronous(Verbs.count)
    pulse = asynchronous(Verbs.pulse)
    sample = asynchronous(Verbs.sample)
    samples = asynchronous(Verbs.samples)
    get = asynchronous(Verbs.get)
    list = asynchronous(Verbs.list)
    history = asynchronous(Verbs.history)
    request = asynchronous(Verbs.request)
    explain = asynchronous(Verbs.explain)
    next_due = asynchronous(Verbs.next_due)
    beat = asynchronous(Verbs.beat)
    leave = asynchronous(Verbs.leave)
    running = asynchronous(Verbs.running)
    workers = asynchronous(Verbs.workers)
    schedule = asynchronous(Verbs.schedule)
    unschedule = asynchronous(Verbs.unschedule)
    pause_schedule = asynchronous(Verbs.pause_schedule)
    resume_schedule = asynchronous(Verbs.resume_schedule)
    schedules = asynchronous(Verbs.schedules)
    run_schedule = asynchronous(Verbs.run_schedule)
    fire = asynchronous(Verbs.fire)
    next_fire = asynchronous(Verbs.next_fire)
    hook = asynchronous(Verbs.hook)
    unhook = asynchronous(Verbs.unhook)
    hooks = asynchronous(Verbs.hooks)
    note = asynchronous(Verbs.note)
    set_note = asynchronous(Verbs.set_note)
    rollups = asynchronous(Verbs.rollups)
    error_groups = asynchronous(Verbs.error_groups)
    add_figures = asynchronous(Verbs.add_figures)
    tidy_figures = asynchronous(Verbs.tidy_figures)
    add_audit = asynchronous(Verbs.add_audit)
    begin_audit = asynchronous(Verbs.begin_audit)
    progress_audit = asynchronous(Verbs.progress_audit)
    audits = asynchronous(Verbs.audits)
