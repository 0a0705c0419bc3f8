"""App: functions that are jobs, the store they are kept in, and the worker that runs them.

    app = tenure.App("sqlite:///jobs.db")

    @app.job(queue="mail", retry=tenure.Exponential(first="60s", cap="1h"), timeout="30s")
    async def send_email(to: str, subject: str) -> str: ...

    send_email.enqueue("a@b.c", subject="hi")
    app.run()

Making an app opens nothing: the store is opened when it is first needed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, Unpack, overload

from tenure.app_hooks import HookOptions, Told, check_hook
from tenure.app_schedules import CodeSchedule, Schedules
from tenure.client.async_queue import AsyncQueue, aopen
from tenure.client.queue import Queue
from tenure.client.queue import open as open_queue
from tenure.client.verbs import Clock, check_limits
from tenure.config import check_url, choose_url
from tenure.context import Context
from tenure.cron import Missed
from tenure.dead import DeadJob
from tenure.duration import Duration
from tenure.errors import FieldError, FieldTypeError, UnknownKind, UsageError
from tenure.events import Event, Listeners
from tenure.handle import Job
from tenure.janitor.settings import janitor_settings
from tenure.job import AsyncConnection, AsyncpgConnection, ClaimOwner, Enqueued, SyncConnection
from tenure.kinds import Kind, Kinds, Settling, check_options, terms_of
from tenure.newjob import NewJob, check_place_name
from tenure.payload import MAX_PAYLOAD
from tenure.producing import Batch, Producing
from tenure.retry import RetryPolicy
from tenure.store.upkeep import MAX_CRASHES
from tenure.transactions import AppTransaction, AsyncAppTransaction, app_transaction
from tenure.worker.address import address_of, loading
from tenure.worker.run import Middleware
from tenure.worker.settings import RunTerms

__all__ = ["App", "Standing"]

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K", bound="Kind[Any, Any, Any]")
M = TypeVar("M", bound=Middleware)
E = TypeVar("E", bound=Event)


class Standing(NamedTuple):
    """What an app stands on: the store it uses, by which clock, and the queues it has open there."""

    url: str | None
    clock: Clock | None
    queue: Queue | None = None
    async_queue: AsyncQueue | None = None


class _Decorator:
    """What `@app.job(…)` gives: takes the function, and keeps its signature for type checkers."""

    def __init__(self, make: Callable[[Callable[..., Any]], Kind[Any, Any, Any]]) -> None:
        self._make = make

    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]]
    ) -> Kind[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]]
    ) -> Kind[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R]) -> Kind[P, R, R]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> Kind[P, R, R]: ...

    def __call__(self, function: Callable[..., Any]) -> Kind[Any, Any, Any]:
        return self._make(function)


class App:
    """Jobs, and where they are kept. Without a URL: $TENURE_URL, a PostgreSQL $DATABASE_URL, else sqlite:///tenure.db.

    `retain` says how long finished jobs are kept: {"done": "7d", "mail": {"done": "1d"}}.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        clock: Clock | None = None,
        max_payload: int = MAX_PAYLOAD,
        max_crashes: int = MAX_CRASHES,
        retain: Mapping[str, Duration | Mapping[str, Duration]] | None = None,
    ) -> None:
        if url:
            check_url(url)
        self._url, self._clock = url, clock
        self.janitor = janitor_settings(retain)
        self._max_payload, self._max_crashes = check_limits(max_payload, max_crashes)
        self._queue: Queue | None = None
        self._async_queue: AsyncQueue | None = None
        self._opening = threading.Lock()
        self._module = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001 - where children find it
        self.kinds = Kinds()
        self.listeners = Listeners()
        self.middlewares: list[Middleware] = []
        self.producing: Producing | None = None
        """What stands around this app's enqueues."""
        self.crons: list[CodeSchedule] = []
        self.schedules = Schedules(self)

    @property
    def url(self) -> str:
        """Where the jobs are kept."""
        return choose_url(self._url)

    @property
    def address(self) -> str | None:
        """How another process finds this app, "module:app"; None if it cannot."""
        return address_of(self, self._module)

    @property
    def queue(self) -> Queue:
        """The queue itself, opened when first asked for."""
        queue = self._queue
        if queue is None:
            with self._opening:
                queue = self._queue = self._queue or self.open()
        return queue

    def open(self) -> Queue:
        """A queue of one's own on the same store."""
        return open_queue(
            self._url, clock=self._clock, max_payload=self._max_payload, max_crashes=self._max_crashes
        )

    async def aqueue(self) -> AsyncQueue:
        """The queue to be awaited, opened when first asked for."""
        if self._async_queue is None:
            opened = await aopen(
                self._url, clock=self._clock, max_payload=self._max_payload, max_crashes=self._max_crashes
            )
            quicker: AsyncQueue | None = getattr(self, "_async_queue")  # noqa: B009 - another task's, meanwhile
            if quicker is not None:
                await opened.close()
                return quicker
            self._async_queue = opened
        return self._async_queue

    @property
    def claim_owner(self) -> ClaimOwner:
        """Who settles this app's claims in a handler's own transaction."""
        return self.queue.claim_owner

    @overload
    def job(
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> Kind[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def job(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Kind[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def job(self, function: Callable[Concatenate[Context, P], R], /) -> Kind[P, R, R]: ...
    @overload
    def job(self, function: Callable[P, R], /) -> Kind[P, R, R]: ...
    @overload
    def job(
        self,
        /,
        *,
        kind: str | None = None,
        queue: str = "default",
        priority: int = 0,
        max_attempts: int = 5,
        retry: RetryPolicy | None = None,
        timeout: Duration | None = None,
        isolate: bool = False,
        settle: Settling = "batch",
        keep_result: bool = True,
        on_dead: Kind[Any, Any, Any] | None = None,
    ) -> _Decorator: ...

    def job(
        self,
        function: Any = None,
        /,
        *,
        kind: str | None = None,
        queue: str = "default",
        priority: int = 0,
        max_attempts: int = 5,
        retry: RetryPolicy | None = None,
        timeout: Duration | None = None,
        isolate: bool = False,
        settle: Settling = "batch",
        keep_result: bool = True,
        on_dead: Kind[Any, Any, Any] | None = None,
    ) -> Any:
        """Make a function a kind of job.

        An `async def` runs on the worker's event loop, a `def` in a thread, either in a child process with
        `isolate=True`. `settle="now"` ends each job by itself, at once, instead of with others a few milliseconds later.
        `on_dead` is another kind, whose function takes `dead: tenure.DeadJob`: it gets a job for every one that dies.
        """
        terms = terms_of(
            queue=queue, priority=priority, max_attempts=max_attempts, retry=retry, timeout=timeout, isolate=isolate,
            settle=settle, keep_result=keep_result, on_dead=on_dead,
        )  # fmt: skip
        if on_dead is not None:
            self.kinds.find(check_hook(on_dead).name)

        def make(given: Callable[..., Any]) -> Kind[Any, Any, Any]:
            if not callable(given):
                raise FieldTypeError("job", "must decorate a function", given)
            found = getattr(given, "__name__", None) if kind is None else kind
            if found is None:
                raise FieldTypeError(
                    "kind", "must be given for what has no name", given, '@app.job(kind="…")'
                )
            name = check_place_name(found, "kind")
            made: Kind[Any, Any, Any] = Kind(given, name, terms, self)
            self.kinds.add(made)
            return made

        return _Decorator(make) if function is None else make(function)

    @overload
    def on_dead(self, function: Told, /) -> Kind[[DeadJob], Any, Any]: ...
    @overload
    def on_dead(self, /, **options: Unpack[HookOptions]) -> Callable[[Told], Kind[[DeadJob], Any, Any]]: ...

    def on_dead(self, function: Any = None, /, **options: Any) -> Any:
        """Make a function a kind that gets a job for every job that dies, but for its own and other hooks'.

        `@app.on_dead` above `def tell(dead: tenure.DeadJob)`, bare or with the options of `@app.job`.
        """

        def make(given: Callable[..., Any]) -> Kind[[DeadJob], Any, Any]:
            made: Kind[[DeadJob], Any, Any] = self.job(**options)(given)
            try:
                self.kinds.told_all.append(check_hook(made).name)
            except BaseException:
                del self.kinds[made.name]
                raise
            return made

        return make if function is None else make(function)

    def cron(
        self,
        cron: str,
        *,
        tz: str = "UTC",
        missed: Missed = "one",
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
    ) -> Callable[[K], K]:
        """Run a kind by the clock: `@app.cron("0 3 * * *", tz="Europe/Berlin")` above `@app.job`."""

        def schedule(kind: K) -> K:
            if not isinstance(kind, Kind):
                raise FieldTypeError(
                    "cron", "must stand above @app.job", kind, "decorate with @app.job first"
                )
            CodeSchedule.of(name or kind.name, cron, kind, tz, missed, args).join(self.crons)
            return kind

        return schedule

    def middleware(self, function: M) -> M:
        """Run this around every handler: `async def timing(ctx, call): return await call()`."""
        self.middlewares.append(function)
        return function

    def listen(self, function: Callable[[E], object], *events: type[E]) -> None:
        """Call `function(event)` for these events of a worker's life (tenure.events); for all where none is named."""
        self.listeners.add(function, *events)

    def enqueue(
        self,
        kind: str | NewJob,
        payload: Mapping[str, Any] | None = None,
        *,
        force: bool = False,
        **options: Any,
    ) -> Job[Any]:
        """Store a job by its kind's name, or one made with `kind.call(…)`. `force`: a kind only other processes know."""
        return self.enqueue_job(*self._named(kind, payload, options, force=force))

    async def aenqueue(
        self,
        kind: str | NewJob,
        payload: Mapping[str, Any] | None = None,
        *,
        force: bool = False,
        **options: Any,
    ) -> Job[Any]:
        """The same, awaited."""
        return await self.aenqueue_job(*self._named(kind, payload, options, force=force))

    def enqueue_many(self, jobs: Iterable[NewJob], *, force: bool = False) -> list[Job[Any]]:
        """Store many jobs, made with `kind.call(…)`, in one transaction: all or none. `force`: as for `enqueue`."""
        batch = Batch(self.kinds.fit_all(jobs, force=force))
        if self.producing is None:
            return self._handles(batch.jobs, self.queue.enqueue_many(batch.jobs))
        with self.producing(batch):
            batch.stored = self.queue.enqueue_many(batch.jobs)
        return self._handles(batch.jobs, batch.stored)

    async def aenqueue_many(self, jobs: Iterable[NewJob], *, force: bool = False) -> list[Job[Any]]:
        """The same, awaited."""
        batch = Batch(self.kinds.fit_all(jobs, force=force))
        if self.producing is None:
            return self._handles(batch.jobs, await (await self.aqueue()).enqueue_many(batch.jobs))
        with self.producing(batch):
            batch.stored = await (await self.aqueue()).enqueue_many(batch.jobs)
        return self._handles(batch.jobs, batch.stored)

    def enqueue_job(self, job: NewJob, kind: Kind[Any, R, Any]) -> Job[R]:
        """Store a job of this kind."""
        if self.producing is None:
            return self._handle(self.queue.enqueue_job(job), kind)
        batch = Batch([job])
        with self.producing(batch):
            batch.stored = [self.queue.enqueue_job(*batch.jobs)]
        return self._handle(batch.stored[0], kind)

    async def aenqueue_job(self, job: NewJob, kind: Kind[Any, R, Any]) -> Job[R]:
        """The same, awaited."""
        if self.producing is None:
            return self._handle(await (await self.aqueue()).enqueue_job(job), kind)
        batch = Batch([job])
        with self.producing(batch):
            batch.stored = [await (await self.aqueue()).enqueue_job(*batch.jobs)]
        return self._handle(batch.stored[0], kind)

    @overload
    def using(self, connection: SyncConnection) -> AppTransaction: ...
    @overload
    def using(self, connection: AsyncConnection | AsyncpgConnection) -> AsyncAppTransaction: ...

    def using(self, connection: Any) -> Any:
        """Enqueue inside your own transaction: `app.using(connection).enqueue(next.call(…))` commits or rolls back with it."""
        return app_transaction(self, connection)

    def run(self, **settings: Unpack[RunTerms]) -> None:
        """Work until told to stop (SIGTERM, SIGINT): `app.run(concurrency=50, queues=["mail:10", "*:4"], processes=2)`."""
        from tenure.worker.start import start

        if loading():  # otherwise each worker that imports the script would start another
            raise UsageError(
                "app.run() was called while a worker imports this app; guard it with if __name__ == '__main__':"
            )

        start(self, **settings)

    def stand_on(self, place: Standing) -> Standing:
        """Use another store from now on, as tests do; what it stood on before, to go back to. Closes nothing."""
        before = Standing(self._url, self._clock, self._queue, self._async_queue)
        self._url, self._clock, self._queue, self._async_queue = place
        return before

    def close(self) -> None:
        """Let go of the store."""
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    async def aclose(self) -> None:
        """Let go of the store, awaited."""
        if self._async_queue is not None:
            await self._async_queue.close()
            self._async_queue = None
        self.close()

    def _handle(self, enqueued: Enqueued, kind: Kind[Any, R, Any]) -> Job[R]:
        return Job(enqueued.id, enqueued.inserted, kind, self)

    def handle(self, enqueued: Enqueued, kind: str) -> Job[Any]:
        """A job in the hands of who made it."""
        return self._handle(enqueued, self._kind_of(kind))

    def _handles(self, jobs: list[NewJob], answers: list[Enqueued]) -> list[Job[Any]]:
        return [self._handle(a, self._kind_of(j.kind)) for j, a in zip(jobs, answers, strict=True)]

    def _kind_of(self, name: str) -> Kind[Any, Any, Any]:
        kind = self.kinds.get(name)
        return self._foreign(name) if kind is None else kind

    def _foreign(self, name: str) -> Kind[Any, Any, Any]:
        """A kind that only other processes know."""

        def elsewhere() -> None:
            raise UnknownKind("kind", "is not registered with this app", name)

        return Kind(elsewhere, name, terms_of(queue="default", priority=0, max_attempts=5, retry=None, timeout=None, isolate=False, settle="batch", keep_result=True, on_dead=None), self)  # fmt: skip

    def _named(
        self,
        kind: str | NewJob,
        payload: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        *,
        force: bool,
    ) -> tuple[NewJob, Kind[Any, Any, Any]]:
        if isinstance(kind, NewJob):
            if payload is not None or options:
                raise FieldError(
                    "options", "must not stand beside a job made with kind.call(…)", {"payload": payload, **options},
                    "write kind.options(…).call(…)",
                )  # fmt: skip
            job = self.kinds.fit(kind, force=force)
            return job, self._kind_of(job.kind)
        if not isinstance(kind, str):
            raise FieldTypeError(
                "kind",
                "must be a kind's name, or a job made with kind.call(…)",
                kind,
                "write kind.enqueue(…)",
            )
        check_options(options)
        if force and kind not in self.kinds:
            return NewJob(kind=kind, payload=payload, **options), self._foreign(kind)
        found = self.kinds.find(kind)
        given = found.signature.fitted({} if payload is None else payload)
        return found.options(**options).new_job(given), found
