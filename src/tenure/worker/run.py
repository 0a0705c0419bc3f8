"""Run one claim: its handler is called with its arguments, and whatever happens becomes an outcome. Never raises.

An async handler runs inside its slot's task, step by step in a context of its own, so that a short job costs no task and
leaks no context variable into the next. A sync handler runs in a thread, an isolated one in a child process; a job that
was in flight when a worker crashed runs apart from the others, in a child process, until it is cleared or convicted.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextvars import Context as Variables
from contextvars import copy_context
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol, cast

from tenure.context import Context, current
from tenure.errors import FieldError
from tenure.events import Abandoned, Ended, Event, Listeners, SlotStuck, Started, tell_all
from tenure.job import Claim, JobId, JobSeen
from tenure.kinds import Kind, Kinds
from tenure.logs import job_fields
from tenure.outcome import Cancelled, Outcome, Release
from tenure.worker.outcomes import (
    DONE,
    completed,
    left_to_settle,
    misfit,
    outcome_of_error,
    outcome_of_result,
)
from tenure.worker.threads import Crew, NoThread

__all__ = ["Apart", "Middleware", "Run", "Runner"]

log = logging.getLogger("tenure")
_GRACE = 2.0
"""How long a handler that was told to stop may take before its slot is reported as stuck, in seconds."""
_REST = 1.0
"""How long a slot rests that found no thread for its job, in seconds: the job may come back to it at once."""
Next = Callable[[], Awaitable[Any]]
Middleware = Callable[[Context, Next], Awaitable[Any]]


if TYPE_CHECKING:
    Running = CoroutineType[Any, Any, Outcome | None]
_NOT_BEGUN: Any = object()


class _Decided(Exception):
    """There is an outcome already."""

    def __init__(self, outcome: Outcome | None) -> None:
        self.outcome = outcome


class Apart(Protocol):
    """Runs a claim in a child process."""

    @property
    def able(self) -> bool:
        """Whether a child could import the app."""
        ...

    async def run(self, run: Run, begun: Callable[[Run], None], *, suspect: bool) -> Outcome | None:
        """Run it there, and say when it has begun; never raises."""
        ...


class Marking(Protocol):
    """Puts down which slot starts which job."""

    def start(self, place: int, claim: Claim, *, apart: bool = False) -> None:
        """This slot starts this job, here or apart in a child process."""
        ...


class Run:
    """A job in flight, as those see it who may have to stop it. Its methods are called on the event loop."""

    __slots__ = (
        "active",
        "apart",
        "began",
        "begun",
        "claim",
        "context",
        "in_thread",
        "kind",
        "task",
        "timeout",
        "timer",
        "told",
    )

    def __init__(
        self, claim: Claim, kind: Kind[Any, Any, Any], task: asyncio.Task[Any] | None, context: Context
    ) -> None:
        self.claim, self.kind, self.task, self.context = claim, kind, task, context
        self.began = time.monotonic()
        self.active = True
        self.begun = True
        """False while it waits for a child process: it has not started, and no time counts."""
        self.in_thread = False
        """Whether a thread has it, which cannot be stopped."""
        self.timer: asyncio.TimerHandle | None = None
        self.apart: Callable[[str], None] | None = None
        self.told: Callable[[Run], object] | None = None
        """Who wants to know that its handler was told to stop, and cannot be made to."""
        timeout = claim.timeout
        if timeout is None and kind.terms.timeout is not None:
            timeout = kind.terms.timeout.total_seconds()
        self.timeout = timeout

    def wait_again(self) -> None:
        """The child that was there for it had died before: it has not started."""
        self.begun, self.apart = False, None
        if self.timer is not None:
            self.timer.cancel()

    def lose(self) -> None:
        """Its claim is lost."""
        self._stop("_lost", "lost")

    def ask(self) -> None:
        """Somebody asked for it to be cancelled."""
        self._stop("_asked", "cancel")

    def time_out(self) -> None:
        """It has run too long."""
        self._stop("_timed_out", "timeout")

    def leave(self) -> None:
        """The worker cannot wait for it any longer: it is given back."""
        self._stop("_leaving", "leave")

    def _stop(self, flag: str, why: str) -> None:
        if not self.active or getattr(self.context, flag):
            return
        setattr(self.context, flag, True)
        if self.apart is not None:
            self.apart(why)
            return
        if self.task is not None and not self.in_thread:
            self.task.cancel()
        if self.told is not None and why != "leave":
            self.told(self)

    @property
    def leaving(self) -> bool:
        """Whether its worker could not wait for it."""
        return self.context._leaving  # noqa: SLF001 - one worker, two modules

    @property
    def told_to_stop(self) -> bool:
        """Whether it was told to stop, for whatever reason."""
        context = self.context
        return context.lost or context.cancelled or context._timed_out or self.leaving  # noqa: SLF001 - one worker, two modules

    def stopped(self, error: BaseException | None = None) -> Outcome | None:
        """What it means that the handler was cancelled: it was told to stop, or it failed by a cancellation of its own."""
        context = self.context
        if context.lost:
            return None
        if context.cancelled:
            return Cancelled()
        if context._timed_out:  # noqa: SLF001 - one worker, two modules
            return _too_long(self)
        if self.leaving or error is None:
            return Release()
        return outcome_of_error(self.kind, self.claim, error)


def _too_long(run: Run) -> Outcome | None:
    return outcome_of_error(
        run.kind, run.claim, TimeoutError(f"the job ran longer than its timeout of {run.timeout:g} s")
    )


class Runner:
    """Runs claims for one worker."""

    def __init__(
        self,
        kinds: Kinds,
        *,
        worker: str,
        crew: Crew,
        apart: Apart | None,
        marks: Marking,
        listeners: Listeners,
        middleware: Sequence[Middleware],
        look: Callable[[Claim], Awaitable[JobSeen | None]] | None = None,
        timeouts: bool = True,
    ) -> None:
        self._kinds, self._worker, self._crew, self._apart, self._marks = kinds, worker, crew, apart, marks
        self._listeners, self._middleware = listeners, list(middleware)
        self._on_start, self._on_end = listeners.of(Started), listeners.of(Ended)
        self._on_abandon = listeners.of(Abandoned)
        self._look = look
        self._complete = self._completed  # bound once: every claim is given it
        watched = self._on_start or self._on_end or self._on_abandon or self._middleware
        self._quick = (
            {} if watched else {name: start for name, kind in kinds.items() if (start := _quick(kind))}
        )
        """How to start what needs nothing around it: an async function on this loop."""
        self._loop, self._timeouts = asyncio.get_running_loop(), timeouts
        self._when_told = (
            self._told if timeouts else None
        )  # whoever counts the time sees to it that they stop
        self.progress: Callable[[Context], None] | None = None
        """Who is told of a handler's progress."""
        self.runs: dict[JobId, Run] = {}
        self.stuck: set[Run] = set()
        """Those that were told to stop, and did not."""
        self.disturbed: set[asyncio.Task[Any]] = set()
        """Tasks that were cancelled: the next thing they await may still hear of it."""

    def begin(self, claim: Claim, place: int, task: asyncio.Task[Any] | None) -> Outcome | Running | None:
        """Start it in this slot. What it gives is its outcome, or something to await for it: most short jobs never wait.

        An outcome of None: the claim is lost, or was settled in the handler's own transaction.
        """
        claim.completed = self._complete
        start = self._quick.get(claim.kind)
        if start is None or claim.apart:
            return self._slowly(claim, self._kinds[claim.kind], place, task)
        self._marks.start(place, claim)
        context = Context(claim, self.progress)
        try:
            handler = start(claim.payload_text, context)
        except Exception as error:
            return misfit(error)
        variables = copy_context()
        outcome: Outcome | None
        try:
            waited_for = variables.run(_first_step, handler, context)
        except StopIteration as end:
            value, kind = end.value, self._kinds[claim.kind]
            outcome = DONE if value is None else outcome_of_result(kind, claim, value)
        except BaseException as error:
            outcome = outcome_of_error(self._kinds[claim.kind], claim, error)
        else:
            run = Run(claim, self._kinds[claim.kind], task, context)
            self.runs[claim.id] = run
            return cast("Running", self._to_the_end(run, _driven(handler, variables, waited_for)))
        return outcome if claim.settled_as is None else cast("Running", self._left(claim, outcome))

    async def run(self, claim: Claim, place: int) -> Outcome | None:
        """Run it in this slot to its end."""
        begun = self.begin(claim, place, asyncio.current_task())
        return await begun if isinstance(begun, CoroutineType) else begun

    def _slowly(
        self, claim: Claim, kind: Kind[Any, Any, Any], place: int, task: asyncio.Task[Any] | None
    ) -> Running:
        run = Run(claim, kind, task, Context(claim, self.progress))
        run.begun = self._apart is None or not (kind.terms.isolate or (claim.apart and self._apart.able))
        self.runs[claim.id] = run
        if self._on_start:
            tell_all(self._on_start, Started(self._worker, claim))
        return cast("Running", self._to_the_end(run, self._value(run, place)))

    async def _to_the_end(self, run: Run, value: Awaitable[Any]) -> Outcome | None:
        """Await what the handler returns; whatever happens becomes an outcome."""
        run.told = self._when_told
        if run.begun:
            self._count_time(run)
        try:
            outcome = await self._outcome(run, value)
        finally:
            run.active = False
            self.stuck.discard(run)
            if run.timer is not None:
                run.timer.cancel()
            if run.task is not None and run.task.cancelling():
                self.disturbed.add(run.task)
                while run.task.cancelling():
                    run.task.uncancel()
            if self.runs.get(run.claim.id) is run:  # a lost job may run here again
                del self.runs[run.claim.id]
        seconds = time.monotonic() - run.began
        if run.claim.settled_as is not None:
            outcome = await self._left(run.claim, outcome)
        if self._on_end or self._on_abandon:
            self._tell_end(run.claim, outcome, seconds)
        return outcome

    def _completed(self, claim: Claim, outcome: Outcome) -> Outcome:
        return completed(self._kinds[claim.kind], claim, outcome)

    async def _left(self, claim: Claim, outcome: Outcome | None) -> Outcome | None:
        """Its handler settled it in a transaction of its own: the store knows what came of that."""
        if self._look is None:
            return outcome
        return left_to_settle(self._kinds[claim.kind], claim, outcome, await self._look(claim))

    async def _outcome(self, run: Run, value: Awaitable[Any]) -> Outcome | None:
        kind, claim = run.kind, run.claim
        try:
            returned = await value
        except asyncio.CancelledError as error:
            return run.stopped(error)
        except _Decided as decided:
            return decided.outcome
        except TimeoutError as error:
            return _too_long(run) if run.context._timed_out else outcome_of_error(kind, claim, error)  # noqa: SLF001
        except BaseException as error:
            return outcome_of_error(kind, claim, error)
        return outcome_of_result(kind, claim, returned)

    async def _value(self, run: Run, place: int) -> Any:
        """What the handler returns, by the way that fits it: a child process, middleware, this loop or a thread."""
        kind, claim = run.kind, run.claim
        if self._apart is not None and not run.begun:
            raise _Decided(await self._apart.run(run, partial(self._begun, place), suspect=claim.apart))
        self._marks.start(place, claim)
        try:
            arguments = kind.signature.arguments(claim.payload_text)
        except Exception as error:
            raise _Decided(misfit(error)) from None
        variables = copy_context()
        variables.run(current.set, run.context)
        if self._middleware:
            return await _driven(self._around(run, arguments, variables), variables)
        if kind.is_async:
            return await _driven(variables.run(kind.signature.call, arguments, run.context), variables)
        return await self._in_thread(run, arguments, variables)

    def _around(self, run: Run, arguments: Any, variables: Variables) -> Coroutine[Any, Any, Any]:
        """The handler with the middleware around it, the first registered outermost."""

        async def handler() -> Any:
            if run.told_to_stop:  # and a middleware did not let that through
                raise asyncio.CancelledError
            if run.kind.is_async:
                return await run.kind.signature.call(arguments, run.context)
            return await self._in_thread(run, arguments, variables.copy())

        def wrapped(inner: Next, middleware: Middleware) -> Next:
            async def call() -> Any:
                return await middleware(run.context, inner)

            return call

        call: Next = handler
        for middleware in reversed(self._middleware):
            call = wrapped(call, middleware)

        async def whole() -> Any:
            return await call()

        return whole()

    async def _in_thread(self, run: Run, arguments: Any, variables: Variables) -> Any:
        """The slot waits for the thread to the end: a thread cannot be stopped, only told."""
        call = run.kind.signature.call
        try:
            work = self._crew.submit(lambda: variables.run(call, arguments, run.context))
        except NoThread as error:
            log.error("job %s (%s) is given back: %s", run.claim.id, run.claim.kind, error, extra=job_fields(run.claim))  # noqa: TRY400 - told  # fmt: skip
            await asyncio.sleep(_REST)
            run.context._leaving = True  # noqa: SLF001 - one worker, two modules
            raise asyncio.CancelledError from error
        run.in_thread = True
        try:
            while True:
                try:
                    return await asyncio.shield(work)
                except asyncio.CancelledError:
                    if work.done() or run.leaving or run.context.lost:
                        raise
        finally:
            run.in_thread = False

    def _begun(self, place: int, run: Run) -> None:
        """A child process is there for it: it starts now. Marked too: it may take its worker with it."""
        self._marks.start(place, run.claim, apart=True)
        run.begun, run.began = True, time.monotonic()
        run.claim.began = run.began  # waiting for a child is no part of how long it ran
        self._count_time(run)

    def _count_time(self, run: Run) -> None:
        if run.timeout is not None and self._timeouts:
            run.timer = self._loop.call_later(run.timeout, run.time_out)

    def _told(self, run: Run) -> None:
        self._loop.call_later(_GRACE, self._look_after, run)

    def _look_after(self, run: Run) -> None:
        """Its handler was told to stop a while ago: neither a thread nor a handler that swallows it can be made to."""
        if run.active and run not in self.stuck:
            self.stuck.add(run)
            claim, seconds = run.claim, time.monotonic() - run.began
            log.warning("job %s (%s) runs on after %.1f s, though it was told to stop: its slot is stuck until it ends", claim.id, claim.kind, seconds, extra=job_fields(claim))  # fmt: skip
            self._tell(SlotStuck(self._worker, claim, seconds))

    def _tell(self, event: Event) -> None:
        self._listeners.tell(event)

    def _tell_end(self, claim: Claim, outcome: Outcome | None, seconds: float) -> None:
        told = outcome if claim.settled_as is None else claim.settled_as
        if told is None:
            tell_all(self._on_abandon, Abandoned(self._worker, claim, seconds))
        else:
            tell_all(self._on_end, Ended(self._worker, claim, told, seconds))


def _quick(kind: Kind[Any, Any, Any]) -> Callable[[str, Any], Any] | None:
    if kind.terms.isolate or not inspect.iscoroutinefunction(kind.function):
        return None
    try:
        return kind.signature.start
    except FieldError:
        return None  # an annotation names nothing: each of its jobs says so


def _first_step(handler: Coroutine[Any, Any, Any], context: Context) -> Any:
    current.set(context)
    return handler.send(None)


@types.coroutine
def _driven(
    handler: Coroutine[Any, Any, Any], variables: Variables, waited_for: Any = _NOT_BEGUN
) -> Generator[Any, Any, Any]:
    """Await `handler` here, each of its steps in a context of its own; it may have begun, and wait for something."""
    step: Callable[..., Any] = handler.send
    given: Any = None
    try:
        while True:
            if waited_for is _NOT_BEGUN:
                try:
                    waited_for = variables.run(step, given)
                except StopIteration as end:
                    return end.value
            try:
                given = yield waited_for
            except GeneratorExit:
                raise
            except BaseException as error:
                step, given = handler.throw, error
            else:
                step = handler.send
            waited_for = _NOT_BEGUN
    finally:
        handler.close()
