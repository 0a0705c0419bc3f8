"""Queue: the client for who waits for each answer."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, TypeVar

from tenure.client.faces import synchronous
from tenure.client.transaction import AsyncTransaction, Owner, Transaction
from tenure.client.verbs import Call, Clock, Verbs, check_limits
from tenure.config import choose_url
from tenure.errors import UsageError
from tenure.job import ClaimOwner, Enqueued, SyncConnection
from tenure.newjob import BareParams, NewJob, is_bare
from tenure.payload import MAX_PAYLOAD
from tenure.store.base import Store, Watch
from tenure.store.foreign import is_async
from tenure.store.open import open_store
from tenure.store.upkeep import MAX_CRASHES

__all__ = ["Queue", "is_sweeping", "open"]

T = TypeVar("T")
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


def is_sweeping(queue: Queue) -> bool:
    """Whether `promote` has looked at some of the groups, and not yet at all of them."""
    return bool(queue._store.memory.swept_groups)  # noqa: SLF001 - for the janitor, and no verb


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
        self._owner = Owner(store, clock, max_crashes)
        self._verbs = self._owner.verbs(max_payload)

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
    running = synchronous(Verbs.running)
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
    begin_audit = synchronous(Verbs.begin_audit)
    progress_audit = synchronous(Verbs.progress_audit)
    audits = synchronous(Verbs.audits)
