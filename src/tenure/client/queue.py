"""Queue and AsyncQueue: the two faces of one client, and the transactions of `using`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from weakref import WeakKeyDictionary, ref

from tenure.client.commit import GroupCommit
from tenure.client.commit_on_loop import Heard, LoopCommit
from tenure.client.faces import asynchronous, synchronous
from tenure.client.verbs import Call, Clock, Verbs, check_limits
from tenure.config import choose_url
from tenure.errors import ClaimLost, UsageError
from tenure.job import AsyncConnection, AsyncpgConnection, Claim, ClaimOwner, Enqueued, SyncConnection
from tenure.newjob import BareParams, NewJob, Row, is_bare
from tenure.outcome import Outcome
from tenure.payload import MAX_PAYLOAD
from tenure.store.base import Make, Pid, Store, Watch
from tenure.store.enqueue import enqueue
from tenure.store.foreign import async_runner, foreign_capabilities, is_async, runner
from tenure.store.open import open_store
from tenure.store.plan import arun, run
from tenure.store.upkeep import MAX_CRASHES

__all__ = [
    "AsyncQueue",
    "AsyncTransaction",
    "Queue",
    "Transaction",
    "aopen",
    "group_commit",
    "is_sweeping",
    "open",
]

T = TypeVar("T")
_THREADS = 8
_BARE = frozenset({"queue", "priority", "max_attempts"})


def open(  # noqa: A001 - tenure.open, as in io.open
    url: str | None = None,
    *,
    clock: Clock | None = None,
    max_payload: int = MAX_PAYLOAD,
    max_crashes: int = MAX_CRASHES,
) -> Queue:
    """Open a queue, creating or migrating its schema where needed.

    Without a URL: $TENURE_URL, else a PostgreSQL $DATABASE_URL, else sqlite:///tenure.db. `clock` overrules the store's
    own clock, for tests. A job whose workers vanished `max_crashes` times while they ran it is dead.
    """
    check_limits(max_payload, max_crashes)
    store = open_store(choose_url(url))
    return Queue(store, clock=clock, max_payload=max_payload, max_crashes=max_crashes)


async def aopen(
    url: str | None = None,
    *,
    clock: Clock | None = None,
    max_payload: int = MAX_PAYLOAD,
    max_crashes: int = MAX_CRASHES,
) -> AsyncQueue:
    """The same, to be awaited."""
    check_limits(max_payload, max_crashes)
    store = await asyncio.get_running_loop().run_in_executor(None, open_store, choose_url(url))
    return AsyncQueue(store, clock=clock, max_payload=max_payload, max_crashes=max_crashes)


def group_commit(queue: AsyncQueue, loop: asyncio.AbstractEventLoop) -> GroupCommit:
    """The rows that share the commits of this event loop, the running one, for who waits for them without a task."""
    return queue._group(loop)  # noqa: SLF001 - for the gateway, and no verb


def is_sweeping(queue: Queue) -> bool:
    """Whether `promote` has looked at some of the groups, and not yet at all of them."""
    return bool(queue._store.memory.swept_groups)  # noqa: SLF001 - for the janitor, and no verb


class _Owner:
    """Settles claims inside a caller's own transaction."""

    def __init__(self, store: Store, clock: Clock | None, max_crashes: int) -> None:
        self._store, self._clock, self._max_crashes = store, clock, max_crashes

    def verbs(self, max_payload: int = MAX_PAYLOAD) -> Verbs:
        """The verbs as they are said inside a caller's transaction."""
        return Verbs(
            foreign_capabilities(self._store),
            lambda: self._store.memory,
            clock=self._clock,
            owner=self,
            inside=True,
            max_payload=max_payload,
            max_crashes=self._max_crashes,
        )

    def settle_in(self, claim: Claim, connection: Any, outcome: Outcome) -> Coroutine[Any, Any, None] | None:
        """Settle inside the caller's transaction, or raise ClaimLost so that it rolls back."""
        call = self.verbs().settle_in(claim, outcome)
        if is_async(connection):
            return self._settle_later(claim, connection, call)
        if not run(call.make(False), runner(connection, self._store)):
            raise ClaimLost(claim.id, claim.epoch)
        return None

    async def _settle_later(self, claim: Claim, connection: Any, call: Call[bool]) -> None:
        if not await arun(call.make(False), await async_runner(connection, self._store)):
            raise ClaimLost(claim.id, claim.epoch)


class Transaction:
    """The verbs inside a caller's own sync transaction: they commit or roll back with it."""

    def __init__(self, owner: _Owner, store: Store, connection: Any, max_payload: int) -> None:
        self._store, self._connection = store, connection
        self._verbs = owner.verbs(max_payload)

    def _run(self, call: Call[T]) -> T:
        return run(call.make(False), runner(self._connection, self._store))

    enqueue = synchronous(Verbs.enqueue)
    enqueue_job = synchronous(Verbs.enqueue_job)
    enqueue_many = synchronous(Verbs.enqueue_many)
    settle = synchronous(Verbs.settle)
    settle_many = synchronous(Verbs.settle_many)
    progress = synchronous(Verbs.progress)
    cancel = synchronous(Verbs.cancel)
    replay = synchronous(Verbs.replay)
    get = synchronous(Verbs.get)
    counts = synchronous(Verbs.counts)
    note = synchronous(Verbs.note)
    set_note = synchronous(Verbs.set_note)
    rollups = synchronous(Verbs.rollups)
    error_groups = synchronous(Verbs.error_groups)
    add_figures = synchronous(Verbs.add_figures)
    tidy_figures = synchronous(Verbs.tidy_figures)


class AsyncTransaction:
    """The verbs inside a caller's own async transaction: they commit or roll back with it."""

    def __init__(self, owner: _Owner, store: Store, connection: Any, max_payload: int) -> None:
        self._store, self._connection = store, connection
        self._verbs = owner.verbs(max_payload)

    async def _run(self, call: Call[T]) -> T:
        return await arun(call.make(False), await async_runner(self._connection, self._store))

    enqueue = asynchronous(Verbs.enqueue)
    enqueue_job = asynchronous(Verbs.enqueue_job)
    enqueue_many = asynchronous(Verbs.enqueue_many)
    settle = asynchronous(Verbs.settle)
    settle_many = asynchronous(Verbs.settle_many)
    progress = asynchronous(Verbs.progress)
    cancel = asynchronous(Verbs.cancel)
    replay = asynchronous(Verbs.replay)
    get = asynchronous(Verbs.get)
    counts = asynchronous(Verbs.counts)
    note = asynchronous(Verbs.note)
    set_note = asynchronous(Verbs.set_note)
    rollups = asynchronous(Verbs.rollups)
    error_groups = asynchronous(Verbs.error_groups)
    add_figures = asynchronous(Verbs.add_figures)
    tidy_figures = asynchronous(Verbs.tidy_figures)


class Queue:
    """A durable job queue that answers at once. Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        max_payload: int = MAX_PAYLOAD,
        max_crashes: int = MAX_CRASHES,
    ) -> None:
        self._store, self._max_payload = store, max_payload
        self._owner = _Owner(store, clock, max_crashes)
        self._verbs = Verbs(
            store.dialect.can,
            lambda: store.memory,
            clock=clock,
            owner=self._owner,
            max_payload=max_payload,
            max_crashes=max_crashes,
        )

    @property
    def worker(self) -> str:
        """The worker name that claims carry unless they name another: fresh for every queue opened."""
        return self._verbs.worker

    def _run(self, call: Call[T]) -> T:
        return self._store.run(
            call.make, reads=call.reads, repeatable=call.repeatable, promises=call.promises
        )

    def _enqueue_bare(self, args: tuple[Any, ...], options: dict[str, Any]) -> Enqueued | None:
        """A job without options by the shortest way to the disk; None: it has some."""
        if len(args) != 2 or (options and not options.keys() <= _BARE):
            return None
        return self._insert(self._verbs.enqueue_bare(*args, **options))

    def _enqueue_bare_job(self, args: tuple[Any, ...], options: dict[str, Any]) -> Enqueued | None:
        if options or len(args) != 1 or not isinstance(args[0], NewJob) or not is_bare(args[0]):
            return None
        job = args[0]
        return self._insert(
            self._verbs.enqueue_bare(
                job.kind, job.payload, queue=job.queue, priority=job.priority, max_attempts=job.max_attempts
            )
        )

    def _insert(self, params: BareParams) -> Enqueued:
        if self._store.insert(params):
            return Enqueued(params["id"], inserted=True)
        return self._run(self._verbs.enqueue_bare_again(params))

    @property
    def claim_owner(self) -> ClaimOwner:
        """Who settles this queue's claims in somebody's own transaction."""
        return self._owner

    def inside(self, connection: Any) -> Transaction | AsyncTransaction:
        """`using` for any connection: what it gives is awaited where the connection is."""
        kind = AsyncTransaction if is_async(connection) else Transaction
        return kind(self._owner, self._store, connection, self._max_payload)

    def using(self, connection: SyncConnection) -> Transaction:
        """The queue inside the caller's own transaction: what is said through it commits or rolls back with it."""
        if is_async(connection):
            raise UsageError("this connection is an async one; open the queue with tenure.aopen to use it")
        return Transaction(self._owner, self._store, connection, self._max_payload)

    def watch(self) -> Watch:
        """A new ear for a thread that waits for jobs: it wakes when something was committed. Closed with the queue."""
        return self._store.watch()

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    enqueue = synchronous(Verbs.enqueue, short=_enqueue_bare)
    enqueue_job = synchronous(Verbs.enqueue_job, short=_enqueue_bare_job)
    enqueue_many = synchronous(Verbs.enqueue_many)
    holder = synchronous(Verbs.holder)
    claim = synchronous(Verbs.claim)
    renew = synchronous(Verbs.renew)
    progress = synchronous(Verbs.progress)
    settle = synchronous(Verbs.settle)
    settle_many = synchronous(Verbs.settle_many)
    cancel = synchronous(Verbs.cancel)
    cancel_many = synchronous(Verbs.cancel_many)
    discard = synchronous(Verbs.discard)
    restore = synchronous(Verbs.restore)
    promote = synchronous(Verbs.promote)
    expire = synchronous(Verbs.expire)
    reclaim = synchronous(Verbs.reclaim)
    vanished = synchronous(Verbs.vanished)
    retain = synchronous(Verbs.retain)
    purge = synchronous(Verbs.purge)
    replay = synchronous(Verbs.replay)
    replay_many = synchronous(Verbs.replay_many)
    unreplay = synchronous(Verbs.unreplay)
    pause = synchronous(Verbs.pause)
    resume = synchronous(Verbs.resume)
    paused = synchronous(Verbs.paused)
    counts = synchronous(Verbs.counts)
    count = synchronous(Verbs.count)
    pulse = synchronous(Verbs.pulse)
    sample = synchronous(Verbs.sample)
    samples = synchronous(Verbs.samples)
    get = synchronous(Verbs.get)
    list = synchronous(Verbs.list)
    history = synchronous(Verbs.history)
    request = synchronous(Verbs.request)
    explain = synchronous(Verbs.explain)
    next_due = synchronous(Verbs.next_due)
    beat = synchronous(Verbs.beat)
    leave = synchronous(Verbs.leave)
    workers = synchronous(Verbs.workers)
    schedule = synchronous(Verbs.schedule)
    unschedule = synchronous(Verbs.unschedule)
    pause_schedule = synchronous(Verbs.pause_schedule)
    resume_schedule = synchronous(Verbs.resume_schedule)
    schedules = synchronous(Verbs.schedules)
    run_schedule = synchronous(Verbs.run_schedule)
    fire = synchronous(Verbs.fire)
    next_fire = synchronous(Verbs.next_fire)
    hook = synchronous(Verbs.hook)
    unhook = synchronous(Verbs.unhook)
    hooks = synchronous(Verbs.hooks)
    note = synchronous(Verbs.note)
    set_note = synchronous(Verbs.set_note)
    rollups = synchronous(Verbs.rollups)
    error_groups = synchronous(Verbs.error_groups)
    add_figures = synchronous(Verbs.add_figures)
    tidy_figures = synchronous(Verbs.tidy_figures)
    add_audit = synchronous(Verbs.add_audit)
    audits = synchronous(Verbs.audits)


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
        self._owner = _Owner(store, clock, max_crashes)
        self._verbs = Verbs(
            store.dialect.can,
            lambda: store.memory,
            clock=clock,
            owner=self._owner,
            max_payload=max_payload,
            max_crashes=max_crashes,
        )
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
    audits = asynchronous(Verbs.audits)
