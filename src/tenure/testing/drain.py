"""Drain: run every job that is ready, one at a time and in order, by the same code a worker runs.

Claims, runs and settles are the real ones; only the threads around them are not there. Handlers run in this process, also
those of kinds with isolate=True. The store is asked in a thread of its own, so that a handler's task that still holds
a transaction is never waited for by the event loop it needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tenure.app import App
from tenure.context import Context
from tenure.errors import PayloadError, TenureError, UsageError
from tenure.events import Settled
from tenure.janitor.janitor import Janitor
from tenure.job import Claim, JobSeen
from tenure.outcome import Bury, Cancel, Fail, Outcome, Release, RetryIn, Snooze, name_of
from tenure.testing.killed import CrashPoints, Killed
from tenure.worker.run import Runner
from tenure.worker.threads import Crew

__all__ = ["LEASE", "Drain", "Ran", "do_chores"]

LEASE = "30s"
_MOST = 10_000
_SAID = (Snooze, Release, Bury, Cancel, RetryIn)
"""What a handler raises to say how its job ends; no error."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run that ended: the job as it stood then, how the run ended, and what the handler raised.

    An outcome of None: the handler settled the job in its own transaction, or had lost its claim.
    """

    job: JobSeen
    outcome: Outcome | None
    error: BaseException | None

    def __repr__(self) -> str:
        ended = "settled by itself" if self.outcome is None else name_of(self.outcome)
        error = "" if self.error is None else f", {self.error!r}"
        return f"<ran {self.job.kind} {self.job.id}: {ended}, now {self.job.state.value}{error}>"


class _Recorder:
    """The outermost middleware: keeps what one run raised and told, and whether somebody else cancelled it."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.context: Context | None = None
        self.interrupted = False

    async def __call__(self, ctx: Context, call: Callable[[], Awaitable[Any]]) -> Any:
        self.context = ctx
        try:
            return await call()
        except BaseException as error:
            self.error = error
            raise
        finally:
            task = asyncio.current_task()
            told = ctx.cancelled or ctx.lost or ctx._timed_out  # noqa: SLF001 - the worker's own, as in worker.run
            self.interrupted = task is not None and task.cancelling() > 0 and not told


class _NoMarks:
    """Nobody looks for what a test left behind."""

    def start(self, place: int, claim: Claim, *, apart: bool = False) -> None:
        """Nothing to put down."""


def do_chores(app: App, *names: str) -> int:
    """Do some of the janitor's chores once, and let what they raise through; how much they moved."""
    queue = app.queue
    janitor = Janitor(
        queue, app.janitor, listeners=app.listeners, worker=queue.worker, kinds=app.kinds, crons=app.crons
    )
    return sum(chore.work() for chore in janitor.chores if chore.name in names)


class Drain:
    """One drain of an app's ready jobs."""

    def __init__(self, app: App, crashes: CrashPoints) -> None:
        if not app.kinds:
            raise UsageError("this app has no kinds to run; register one with @app.job")
        self._app, self._queue, self._crashes = app, app.queue, crashes
        self._kinds = sorted(app.kinds)
        self._loop = asyncio.get_running_loop()
        self._crew = Crew(1, self._loop)
        self._desk = ThreadPoolExecutor(1, thread_name_prefix="tenure-testing")

    async def run(
        self, limit: int | None, until: Callable[[Ran], object] | None, *, raise_errors: bool
    ) -> list[Ran]:
        """Run what is ready until nothing is, or `limit` have run, or `until` says so of one."""
        finished: list[Ran] = []
        try:
            await self._hop(self._fire)
            for _ in range(_MOST if limit is None else limit):
                claim = await self._hop(self._next)
                if claim is None:
                    return finished
                ran = await self._one(claim)
                if ran is None:
                    continue
                finished.append(ran)
                if raise_errors and ran.error is not None and not isinstance(ran.error, _SAID):
                    raise ran.error
                if until is not None and until(ran):
                    return finished
        finally:
            self._crew.close()
            self._desk.shutdown()
        if limit is None:
            raise UsageError(
                f"{_MOST:,} jobs have run, the last {finished[-1:]}, and there may be no end of them: does one enqueue or "
                "release itself again and again? Say limit= to run so many"
            )
        return finished

    async def _hop(self, work: Callable[..., Any], *given: Any) -> Any:
        return await self._loop.run_in_executor(self._desk, work, *given)

    def _next(self) -> Claim | None:
        """The next job that is ready; where none is, a handler may have moved the clock to when a schedule is due."""
        return self._claim() or (self._claim() if self._fire() else None)

    def _claim(self) -> Claim | None:
        # Whoever is to die before the run has not started, and so does not crash: see claim(started=…).
        started = not self._crashes.waits("before_run")
        claims = self._queue.claim(
            1, kinds=self._kinds, lease=LEASE, worker=self._crashes.worker, started=started
        )
        return claims[0] if claims else None

    def _fire(self) -> bool:
        """Make the jobs of schedules that are due; whether there were any."""
        fired = 0
        while more := do_chores(self._app, "fire"):
            fired += more
        return fired > 0

    async def _one(self, claim: Claim) -> Ran | None:
        """Run one claim to its end; None: it crashed."""
        pending = self._crashes.waits("before_run")
        if self._crashes.hits("before_run", claim.kind):
            return None
        if pending:
            await self._hop(lambda: self._queue.renew([claim], lease=LEASE, started=[claim]))
        recorder = _Recorder()
        runner = Runner(
            self._app.kinds, worker=claim.worker, crew=self._crew, apart=None, marks=_NoMarks(),
            listeners=self._app.listeners, middleware=[recorder, *self._app.middlewares],
            look=lambda claim: self._hop(self._queue.get, claim.id),
        )  # fmt: skip
        outcome = await runner.run(claim, 0)
        if recorder.interrupted and isinstance(recorder.error, asyncio.CancelledError):
            outcome = Release()
        if isinstance(recorder.error, Killed):
            self._crashes.die()
            return None
        if self._crashes.hits("before_settle", claim.kind):
            return None
        ran: Ran = await self._hop(self._settle, claim, outcome, recorder)
        if recorder.interrupted:
            raise asyncio.CancelledError
        if not isinstance(ran.error, (Exception, SystemExit, asyncio.CancelledError, type(None))):
            raise ran.error  # the test runner's own: Ctrl-C, pytest.fail, a timeout
        return ran

    def _settle(self, claim: Claim, outcome: Outcome | None, recorder: _Recorder) -> Ran:
        if recorder.context is not None and recorder.context._progress is not None:  # noqa: SLF001 - as in worker.lease
            self._queue.progress(claim, *recorder.context.told)
        if outcome is not None:
            stood = self._queue.settle(claim, outcome)
            self._app.listeners.tell(Settled(claim.worker, int(stood), int(not stood)))
            outcome = outcome if stood else None
        job = self._queue.get(claim.id)
        return Ran(claim.job if job is None else job, outcome, self._error(claim, outcome, recorder.error))

    def _error(
        self, claim: Claim, outcome: Outcome | None, raised: BaseException | None
    ) -> BaseException | None:
        """What went wrong, as the exception it was, or as the one it would have been."""
        if raised is not None and not isinstance(raised, asyncio.CancelledError):
            return raised
        if isinstance(outcome, Bury):
            try:
                self._app.kinds[claim.kind].signature.arguments(claim.payload_text)
            except PayloadError as misfit:
                return misfit
        if isinstance(outcome, Fail):
            error = TimeoutError if outcome.kind == "TimeoutError" else TenureError
            return error(outcome.error)
        return None
