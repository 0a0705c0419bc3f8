"""run and arun: an app on a store of its own, by a clock of the test's own, for as long as a block lasts.

Afterwards the app stands where it stood before, and the store is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import copy_context
from typing import Any
from weakref import WeakSet

from tenure.app import App, Standing
from tenure.client.queue import Queue
from tenure.errors import FieldTypeError, UsageError
from tenure.handle import Job
from tenure.job import JobSeen, State
from tenure.newjob import check_whole
from tenure.testing.clock import Clock
from tenure.testing.drain import Drain, Ran, do_chores
from tenure.testing.enqueued import KindOrName, Looks, name_of_kind
from tenure.testing.killed import CrashAt, CrashPoints
from tenure.testing.place import fresh_store

__all__ = ["AsyncStage", "Stage", "arun", "run"]

Until = Job[Any] | JobSeen | str | Callable[[Ran], object] | None
_STORED = ("schedule", "hook")
"""What the code names and the store must know of."""
_ENDED = frozenset({State.DONE, State.DEAD, State.CANCELLED})
_on_stage: WeakSet[App] = WeakSet()


class _Stage(Looks):
    """An app under test."""

    def __init__(self, app: App, clock: Clock) -> None:
        self.app, self.clock = app, clock
        self._crashes = CrashPoints()
        do_chores(app, *_STORED)

    @property
    def queue(self) -> Queue:
        """The queue itself, on the test's store."""
        return self.app.queue

    def crash(self, at: CrashAt, *, kind: KindOrName | None = None, times: int = 1) -> None:
        """The next run of this kind (None: of any) dies there, as if its process was killed: nothing of it is settled.

        "before_run": before the handler begins; "before_settle": after it has ended. The job is claimable again when its
        lease has run out, 30 s later by the test's clock. Raise testing.Killed to die inside a handler.
        """
        name = None if kind is None else name_of_kind(self.app, kind)
        self._crashes.add(at, name, times)

    async def _drain(self, limit: int | None, until: Until, *, raise_errors: bool) -> list[Ran]:
        most = None if limit is None else check_whole(limit, "limit", 1, 1_000_000_000)
        enough = _predicate(until)
        do_chores(self.app, *_STORED)
        return await Drain(self.app, self._crashes).run(most, enough, raise_errors=raise_errors)

    def check_crashes(self) -> None:
        """A crash that never came has proven nothing."""
        if left := self._crashes.left():
            raise AssertionError(f"these crashes never came: {'; '.join(left)}; drain the jobs they are for")


class Stage(_Stage):
    """An app under test, in a sync test."""

    def __init__(self, app: App, clock: Clock, loop: asyncio.Runner) -> None:
        self._loop = loop
        super().__init__(app, clock)

    def drain(
        self, limit: int | None = None, *, until: Until = None, raise_errors: bool = False
    ) -> list[Ran]:
        """Run every job that is ready now, and those that these enqueue, one at a time and in order; the runs that ended.

        Schedules that are due fire. The clock stays: what waits for a retry waits until the test advances the clock and
        drains again. `until`: stop once this job has ended, or once this function of a run is true. `raise_errors`: raise
        what a handler raised, after the run is settled. A run that crashed is not among those that ended.
        """
        _refuse_loop()
        work = self._drain(limit, until, raise_errors=raise_errors)
        return self._loop.run(work, context=copy_context())


class AsyncStage(_Stage):
    """An app under test, in an async test: only `drain` is awaited."""

    async def drain(
        self, limit: int | None = None, *, until: Until = None, raise_errors: bool = False
    ) -> list[Ran]:
        """Run every job that is ready now, on this event loop; as Stage.drain has it."""
        return await self._drain(limit, until, raise_errors=raise_errors)


@contextmanager
def run(app: App, *, clock: Clock | None = None, url: str | None = None) -> Iterator[Stage]:
    """Test an app on a store of its own: a temporary SQLite file, or a corner of its own in the database `url` names."""
    _refuse_loop()
    with _moved(app, clock, url) as time, asyncio.Runner() as loop:
        try:
            stage = Stage(app, time, loop)
            yield stage
            stage.check_crashes()
        finally:
            loop.run(app.aclose())


@asynccontextmanager
async def arun(app: App, *, clock: Clock | None = None, url: str | None = None) -> AsyncIterator[AsyncStage]:
    """The same in an async test."""
    with _moved(app, clock, url) as time:
        try:
            stage = AsyncStage(app, time)
            yield stage
            stage.check_crashes()
        finally:
            await app.aclose()


@contextmanager
def _moved(app: App, clock: Clock | None, url: str | None) -> Iterator[Clock]:
    """The app on a fresh store, by the test's clock; back where it was afterwards."""
    if not isinstance(app, App):
        raise FieldTypeError("app", "must be a tenure.App", app)
    if clock is not None and not isinstance(clock, Clock):
        raise FieldTypeError("clock", "must be a testing.Clock", clock, "testing.Clock(start=…)")
    if app in _on_stage:
        raise UsageError("this app is under test already; use the t of the outer testing.run(app)")
    time = Clock() if clock is None else clock
    with fresh_store(url) as place:
        _on_stage.add(app)
        before = app.stand_on(Standing(place, time))
        try:
            yield time
        finally:
            app.stand_on(before)
            _on_stage.discard(app)


def _refuse_loop() -> None:
    if asyncio._get_running_loop() is not None:  # noqa: SLF001 - the question without the exception
        raise UsageError("an event loop runs here; use async with testing.arun(app), and await t.drain()")


def _predicate(until: Until) -> Callable[[Ran], object] | None:
    if until is None or callable(until):
        return until
    wanted = until if isinstance(until, str) else until.id
    return lambda ran: ran.job.id == wanted and ran.job.state in _ENDED
