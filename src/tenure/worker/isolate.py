"""Jobs in child processes: warm, one job at a time, and killed when they must stop.

`isolate=True` kinds run here, and so does every suspect (a job that was in flight when a worker crashed): if it kills its
process again, only that process dies, and nobody else is blamed. Before a suspect starts, the store is told that it does, and
not before a child is there for it: one that only waits has started nowhere, should the whole machine be lost meanwhile.
A child that is to be killed gets no other job; one that dies before it said that it began a job is no crash of that job, and
another child gets it; where no child can be started, jobs wait, and no attempt of theirs is burnt.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tenure.errors import StoreUnavailable, UsageError
from tenure.events import ChildCrashed, Listeners, Outage
from tenure.job import Claim
from tenure.logs import job_fields
from tenure.outcome import Crashed, Outcome, Release, Snooze
from tenure.worker.process import Child
from tenure.worker.run import Run
from tenure.worker.threads import NoThread
from tenure.worker.wire import (
    Begun,
    End,
    Ready,
    Refused,
    Start,
    Stop,
    Told,
    outcome_from,
)

__all__ = ["Children"]

log = logging.getLogger("tenure")
_PATIENCE = {"cancel": 5.0, "leave": 1.0}
"""How long a child may take to stop by itself, by why it should; otherwise it is killed at once."""
_GOODBYE = 1.0
_BIRTH = 60.0
"""How long a child may take to import the app."""
_REST = "30s"
"""How long a job waits when no child could be started for it."""
_FRESH = (False, True, True)
"""How often a job is given to a child, should each die before it begins: to an idle one first, then to new ones."""


class _Unborn(Exception):
    """No child could be started."""


class _Unbegun(Exception):
    """The child was gone before it began the job."""


class Children:
    """A worker's child processes."""

    def __init__(
        self,
        address: str | None,
        *,
        most: int,
        jobs_each: int | None = None,
        marking: Callable[[Claim], Awaitable[bool]],
        listeners: Listeners,
        worker: str,
    ) -> None:
        self._address, self._marking, self._jobs_each = address, marking, jobs_each
        self._listeners, self._worker = listeners, worker
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._ending: set[asyncio.Future[str]] = set()
        self.most = most or os.cpu_count() or 1
        self._free = asyncio.Semaphore(self.most)

    @property
    def able(self) -> bool:
        """Whether a child could import the app."""
        return self._address is not None

    async def run(self, run: Run, begun: Callable[[Run], None], *, suspect: bool) -> Outcome | None:
        """Run it in a child, and say when it has begun; never raises for what becomes of it there."""
        try:
            async with self._free:
                return await self._run(run, begun, suspect=suspect)
        except asyncio.CancelledError:
            return run.stopped()
        except (StoreUnavailable, NoThread):
            return Release()  # it has not started, so this is no failure of its own
        except _Unborn as error:
            log.error("job %s (%s) waits %s: %s", run.claim.id, run.claim.kind, _REST, error, extra=job_fields(run.claim))  # noqa: TRY400 - told  # fmt: skip
            self._listeners.tell(Outage(self._worker, "starting a child process", str(error)))
            return Snooze(_REST)

    async def close(self) -> None:
        """Let all of them go, and wait until they have gone; those that do not go are killed."""
        self._idle.clear()
        children = list(self._all)
        for child in children:
            child.close()
        if children:
            leaving = [asyncio.ensure_future(child.wait()) for child in children]
            await asyncio.wait(leaving, timeout=_GOODBYE)
            for child in children:
                child.kill_while(lambda: True)
            await asyncio.wait(leaving, timeout=_GOODBYE)

    async def _run(self, run: Run, begun: Callable[[Run], None], *, suspect: bool) -> Outcome | None:
        for fresh in _FRESH:
            child = (None if fresh else await self._living()) or await self._spawn()
            if suspect and not await self._mark(run.claim, child):
                return None
            begun(run)
            with suppress(_Unbegun):
                return await self._run_in(child, run)
            run.wait_again()
        raise _Unborn(f"{len(_FRESH)} child processes for {self._address} died before they began it")

    async def _mark(self, claim: Claim, child: Child) -> bool:
        """Tell the store that this suspect starts; whether its claim stands. If it does not, the child is there for the next one."""
        stands = False
        try:
            stands = await self._marking(claim)
        finally:
            if not stands:
                self._idle.append(child)
        return stands

    async def _run_in(self, child: Child, run: Run) -> Outcome | None:
        killed: list[str] = []
        loop = asyncio.get_running_loop()
        began = False

        def stop(why: str) -> None:
            killed.append(why)
            child.doomed = child.doomed or why not in _PATIENCE
            child.send(Stop(why))
            loop.call_later(_PATIENCE.get(why, 0.0), child.kill_while, lambda: run.active)

        run.apart = stop
        child.send(Start(list(run.claim.row), run.claim.worker))
        while True:
            match await child.receive():
                case End(outcome=plain, settled_as=said, unawaited=unawaited):
                    self._put_back(child)
                    run.claim.settled_as, run.claim.unawaited = outcome_from(said), unawaited
                    return run.stopped() if run.context.lost else outcome_from(plain)
                case Told(done=done, note=note):
                    run.context.progress(done, note)
                case Begun():
                    began = True
                case None:
                    return await self._died(run, child, killed, began=began)
                case _:
                    pass

    def _put_back(self, child: Child) -> None:
        """It is free for another job, unless it is to be killed or has run enough of them."""
        child.jobs += 1
        if child.doomed:
            child.kill()
        elif child.jobs == self._jobs_each:
            child.close()
        else:
            self._idle.append(child)
            return
        ending = asyncio.ensure_future(self._end(child))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _living(self) -> Child | None:
        """An idle child; one that died in its idleness is no crash of the job that would have been its next."""
        while self._idle:
            child = self._idle.pop()
            if not child.gone:
                return child
            log.warning("an idle child: %s", await self._end(child))
        return None

    async def _died(self, run: Run, child: Child, killed: list[str], *, began: bool) -> Outcome | None:
        story = await self._end(child)
        if killed:
            return run.stopped()
        if not began:
            log.warning("an idle child: %s", story)
            raise _Unbegun
        log.warning("job %s (%s): %s", run.claim.id, run.claim.kind, story, extra=job_fields(run.claim))
        self._listeners.tell(ChildCrashed(self._worker, run.claim, story))
        return Crashed(f"{story} while it ran this job")

    async def _spawn(self) -> Child:
        if self._address is None:
            raise UsageError("a child process cannot import this app; define it in a module or a script")
        # Whoever waits for it may be told to stop meanwhile; the child is there for the next one all the same.
        spawning = asyncio.ensure_future(self._start(self._address))
        try:
            return await asyncio.shield(spawning)
        except asyncio.CancelledError:
            spawning.add_done_callback(self._spare)
            raise

    def _spare(self, spawning: asyncio.Future[Child]) -> None:
        if not spawning.cancelled() and spawning.exception() is None:
            self._idle.append(spawning.result())

    async def _start(self, address: str) -> Child:
        try:
            child = await Child.start(address)
        except OSError as error:
            raise _Unborn(f"a child process for {address} could not be started: {error}") from error
        self._all.add(child)
        try:
            first = await asyncio.wait_for(child.receive(), _BIRTH)
        except TimeoutError:
            child.kill()
            await self._end(child)
            raise _Unborn(f"a child process did not import {address} within {_BIRTH:g} s") from None
        match first:
            case Ready():
                return child
            case Refused(why=why):
                await self._end(child)
                raise _Unborn(f"a child process could not import {address}: {why}")
            case _:
                raise _Unborn(f"a child process for {address} did not start: {await self._end(child)}")

    async def _end(self, child: Child) -> str:
        story = await child.story()
        self._all.discard(child)
        return story
