"""Worker: one process's worth of slots, wired together.

    claimer ──claims──▶ lines ──▶ slots: run ──outcomes──▶ settler
                          ▲                        keeper: leases, cancels, progress
                          └── released at the end  janitor: chores, schedules

The event loop runs handlers and nothing else: claiming, settling, renewing and the chores are services in threads of their
own. `stop()` the first time: claim nothing more, finish what runs, give back what waits, settle everything; the second
time: give back what runs too. All of it ends before the grace period does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from itertools import compress
from types import CoroutineType
from typing import Any

from tenure.client.queue import Queue
from tenure.errors import StoreUnavailable, UsageError
from tenure.events import ClaimGone, Listeners, Outage, Settled, WorkerStarted
from tenure.job import Claim, JobSeen, Renewed
from tenure.kinds import Kinds
from tenure.logs import job_fields
from tenure.outcome import Cancelled, Done, Fail, Outcome, Release, Snooze
from tenure.service import Service
from tenure.worker.berths import Berths
from tenure.worker.claim import Claimer
from tenure.worker.drain import Parts, drain
from tenure.worker.figures import Figures
from tenure.worker.isolate import Children
from tenure.worker.lease import Keeper
from tenure.worker.line import Line
from tenure.worker.marks import open_marks, report_the_dead
from tenure.worker.recycle import rationed, used_up
from tenure.worker.rescue import give_back
from tenure.worker.run import Middleware, Run, Runner
from tenure.worker.settings import WorkerSettings
from tenure.worker.settle import Settler
from tenure.worker.threads import Crew, NoThread

__all__ = ["Worker"]

log = logging.getLogger("tenure")
_UNSETTLED = 2_000
"""How many jobs that have ended are held, all in all, before no more are claimed: as many as are settled at once."""
_STANDSTILL = 0.02
_DESK = 4
"""How many threads do the worker's own work beside the services: short calls to the store."""
_TURNS = 20
"""How many jobs a slot runs before the others get their turn."""


class Worker:
    """Claims, runs and settles until it is told to stop."""

    def __init__(
        self,
        kinds: Kinds,
        open_queue: Callable[[], Queue],
        settings: WorkerSettings,
        *,
        address: str | None = None,
        listeners: Listeners | None = None,
        middleware: Sequence[Middleware] = (),
        chores: Callable[[Queue, Listeners, str], Service] | None = None,
        place: str = "",
    ) -> None:
        if not kinds:
            raise UsageError("this app has no kinds to work on; register one with @app.job")
        self._kinds, self._open, self._settings, self._address = kinds, open_queue, settings, address
        self._listeners = Listeners() if listeners is None else listeners
        self._middleware, self._chores, self._place = middleware, chores, place
        self._held: set[Claim] = set()
        self._figures = Figures()
        self._stops = 0
        """How often it was told to stop."""
        self._retired, self._retiring = False, threading.Lock()
        """Whether it stops for a reason of its own, which is nobody's word; two threads may come to see one."""
        self.grace = settings.grace.total_seconds()
        """How long stopping may take, in seconds; less is left where others had to stop first."""
        self.made_room = False
        """Whether it stops by itself, for a fresh one to take its place."""
        self.on_stop: Callable[[int], None] | None = None
        """Called when it is to stop, with how often it was told; the first to know."""
        self._ended = self._ended_apart = 0
        """Jobs that the settler ended, and those that handlers ended in their own transactions: two threads count."""
        self.name = ""

    async def run(self) -> None:
        """Work until stopped."""
        self._loop = asyncio.get_running_loop()
        self._stopping, self._told, self._leaving = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._tell_stops()
        self._desk = Crew(_DESK, self._loop, "desk")
        queues: list[Queue] = []
        try:
            await self._desk.submit(lambda: queues.extend(self._open() for _ in range(3)))
            self.name = queues[0].worker
            await self._desk.submit(partial(report_the_dead, queues[0], self._place))
            self._make(*queues)
            await self._work()
        finally:
            self._desk.close()
            closing = Crew(1, self._loop, "close")  # whatever may hang at the desk
            await closing.submit(partial(_close_all, queues))
            closing.close()

    def stop(self) -> None:
        """Stop in good order; said twice, at once. May be called from any thread or a signal handler."""
        self._stops += 1
        self._begin_to_stop()

    def retire(self) -> None:
        """Stop in good order, for a reason that is nobody's word: who is told so later is told for the first time."""
        with self._retiring:
            if self._retired:
                return
            self._retired = True
        self._begin_to_stop()

    def _begin_to_stop(self) -> None:
        if self.on_stop is not None:
            self.on_stop(self._stops)
        self._begin_to_end()

    def _begin_to_end(self) -> None:
        if hasattr(self, "_loop"):
            with contextlib.suppress(RuntimeError):  # it has stopped already
                self._loop.call_soon_threadsafe(self._tell_stops)

    def near_end(self) -> None:
        """It was told to stop: should it be killed before it has, none of what it runs has crashed."""
        if hasattr(self, "_marks"):
            self._marks.stopping()

    def answers(self, within: float) -> bool:
        """Whether its event loop answers in so many seconds: a handler may block it. Asked from another thread."""
        answered = threading.Event()
        try:
            self._loop.call_soon_threadsafe(answered.set)
        except (AttributeError, RuntimeError):  # it has not begun, or has ended
            return True
        return answered.wait(within)

    def give_back(self, deadline: float) -> bool:
        """Give back what it holds, from another thread than that of its event loop; whether the store has heard it."""
        return give_back(self._parts, deadline) if hasattr(self, "_parts") else False

    def leave(self) -> None:
        """The process goes now, whatever hangs: the next start gives back what is held, and none of it has crashed."""
        if hasattr(self, "_marks"):
            self._marks.clear()

    def _tell_stops(self) -> None:
        if self._stops >= 1 or self._retired:
            self._told.set()
        if self._told.is_set() or self.made_room:
            self._stopping.set()
        if self._stops >= 2:
            self._leaving.set()

    def _make(self, queue: Queue, keeper_queue: Queue, chores_queue: Queue) -> None:
        settings, loop = self._settings, self._loop
        names = sorted(self._kinds)
        self._marks = open_marks(self._place, self.name, settings.concurrency)
        self._crew = Crew(settings.concurrency, loop)
        self._settler = Settler(
            queue, delay=settings.settle_delay, held=self._held, steady=lambda: self._keeper.steady,
            settled=self._settled, outage=self._outage,
        )  # fmt: skip
        self._children = Children(
            self._address,
            most=settings.children,
            jobs_each=settings.child_jobs,
            marking=self._mark_started,
            listeners=self._listeners,
            worker=self.name,
        )
        isolated = [name for name, kind in self._kinds.items() if kind.terms.isolate]
        self._berths = Berths(self._children.most, isolated=isolated, able=self._children.able)
        self._lines = [Line(terms, settings.prefetch, loop, self._berths) for terms in settings.lines]
        self._berths.serve(self._lines)
        self._berths.on_late = self._put_off
        self._runner = Runner(
            self._kinds, worker=self.name, crew=self._crew, apart=self._children, marks=self._marks,
            listeners=self._listeners, middleware=self._middleware, look=self._look,
        )  # fmt: skip
        queues = None if any(t.queues is None for t in settings.lines) else [q for t in settings.lines for q in t.queues or ()]  # fmt: skip
        self._keeper = Keeper(
            keeper_queue, worker=self.name, queues=queues, kinds=names, lease=settings.lease, held=self._held,
            runs=self._runner.runs, renewed=self._hear, outage=self._outage, about=self._about, figures=self._figures,
        )  # fmt: skip
        self._runner.progress = self._keeper.progress
        self._claimer = Claimer(
            queue if settings.max_jobs is None else rationed(queue, self._left), self._lines, self._berths, kinds=names,
            worker=self.name, lease=settings.lease, poll=settings.poll,
            deliver=self._deliver, outage=self._outage, steady=lambda: self._keeper.steady,
            held=self._held, most=settings.concurrency + settings.prefetch * len(self._lines) + _UNSETTLED, loop=loop,
        )  # fmt: skip
        self._janitor = (
            None if self._chores is None else self._chores(chores_queue, self._listeners, self.name)
        )
        self._queue = queue

    async def _work(self) -> None:
        """The whole life: start, run, drain."""
        await self._desk.submit(self._keeper.beat)
        chores = None if self._janitor is None else self._desk.submit(self._janitor.tick)
        services = [s for s in (self._settler, self._keeper, self._janitor, self._claimer) if s is not None]
        if chores is not None and not await self._done_untold(chores):
            services = [self._settler, self._keeper]  # to say goodbye
        self._parts = Parts(
            self.name, self._lines, self._runner, self._held, self._claimer, self._settler, self._keeper, self._janitor,
            self._children, self._crew, self._marks, self._listeners,
        )  # fmt: skip
        for service in services:
            service.start()
        slots = []
        place = 0
        for line in self._lines:
            for _ in range(line.terms.concurrency):
                slots.append(self._loop.create_task(self._slot(line, place), name=f"tenure-slot-{place}"))
                place += 1
        names = tuple(t.name for t in self._settings.lines)
        self._listeners.tell(WorkerStarted(self.name, names, tuple(sorted(self._kinds))))
        log.info("worker %s works on %s (%d kinds)", self.name, " ".join(names), len(self._kinds))
        try:
            await self._stopping.wait()
        finally:
            deadline = await drain(self._parts, slots, self._told, self._leaving, lambda: self.grace)
            if chores is not None:
                await asyncio.wait({chores}, timeout=max(deadline - time.monotonic(), 0.0))

    async def _done_untold(self, chores: asyncio.Future[float]) -> bool:
        """Wait for the first chores; False if it is told to stop before they are done: they are to stop, too."""
        told = asyncio.ensure_future(self._stopping.wait())
        first: set[asyncio.Future[Any]] = {chores, told}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if self._stopping.is_set() and self._janitor is not None:
            self._janitor.stop()
            return False
        await chores
        return True

    async def _slot(self, line: Line, place: int) -> None:
        """Run what the line holds, whatever happens, until it is closed."""
        while not line.closed:
            try:
                await self._serve(line, place)
            except asyncio.CancelledError:
                if line.closed:
                    raise
            except Exception:
                log.exception("slot %d failed, and goes on", place)

    async def _serve(self, line: Line, place: int) -> None:
        """Run what the line holds, one job after the other."""
        buffer, settler, keeper, disturbed = line.buffer, self._settler, self._keeper, self._runner.disturbed
        aside, berths, monotonic = line.aside, self._berths, time.monotonic
        at_once = {name for name, kind in self._kinds.items() if kind.terms.settle == "now"}
        task, turns = asyncio.current_task(), 0
        while await line.something():
            while buffer or (aside and berths.free > 0):
                berth = False
                line.running += (
                    1  # before the buffer tells of a free place: the claimer looks from its own thread
                )
                try:
                    berth = bool(aside) and line.board()
                    claim = aside.popleft() if berth else buffer.popleft()
                    if len(buffer) == line.low:
                        self._claimer.ring()
                    claim.began = monotonic()
                    if claim.began >= keeper.safe_until and not await self._still_held(line, claim):
                        continue
                    outcome = await self._run(line, claim, place, task)
                    claim.ended = monotonic()
                finally:
                    line.running -= 1
                    if berth:
                        berths.give()
                line.ended += 1
                if (disturbed and task in disturbed) or (task is not None and task.cancelling()):
                    await self._calm(task)
                if outcome is None:
                    said = claim.settled_as
                    self._ended_apart += said is not None  # before it is held no more
                    self._held.discard(claim)
                    if said is not None:
                        self._figures.count([(claim, said)])
                    self._claimer.look()
                    self._make_room()
                else:
                    settler.add(claim, outcome, now=claim.kind in at_once)
                turns += 1
                if turns >= _TURNS:
                    turns = 0
                    await asyncio.sleep(0)
            self._claimer.ring()

    async def _run(
        self, line: Line, claim: Claim, place: int, task: asyncio.Task[None] | None
    ) -> Outcome | None:
        """One job to its end; a slot survives whatever it does."""
        try:
            begun = self._runner.begin(claim, place, task)
            return await begun if isinstance(begun, CoroutineType) else begun
        except asyncio.CancelledError:
            if line.closed:
                raise
            return Fail("its task was cancelled", kind="CancelledError")
        except Exception as error:
            log.exception("job %s (%s) could not be run", claim.id, claim.kind, extra=job_fields(claim))
            return Fail.of(error)

    async def _calm(self, task: asyncio.Task[None] | None) -> None:
        """A handler left its slot's task cancelled: the next job is not to hear of it."""
        if task is not None:
            self._runner.disturbed.discard(task)
            while task.cancelling():
                task.uncancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)

    async def _still_held(self, line: Line, claim: Claim) -> bool:
        """No lease was renewed for as long as one lasts (this process stood still): wait until it is known what is left."""
        while claim in self._held and not line.closed:
            if time.monotonic() < self._keeper.safe_until:
                return True
            await asyncio.sleep(_STANDSTILL)
        if line.closed and claim in self._held:
            self._settler.add(claim, Release())
        return False

    async def _look(self, claim: Claim) -> JobSeen | None:
        """The job as it is now, however long it takes to learn that."""
        while True:
            try:
                job: JobSeen | None = await self._desk.submit(partial(self._queue.get, claim.id))
            except (StoreUnavailable, NoThread) as error:
                self._outage("settle", error)
                await asyncio.sleep(1)
            else:
                return job

    async def _mark_started(self, claim: Claim) -> bool:
        """A suspect is about to start: the store is told first; whether the claim still stands."""
        renew = partial(self._queue.renew, [claim], lease=self._settings.lease, started=[claim.id])
        renewed: Renewed = await self._desk.submit(renew)
        return claim.id in renewed.kept

    def _deliver(self, line: Line, claims: list[Claim]) -> None:
        if line.closed:
            for claim in claims:
                self._settler.add(claim, Release())
            return
        self._figures.received(claims)
        newest = {claim.id: claim.epoch for claim in claims if claim.epoch > 1}
        for held in list(self._held) if newest else ():
            if held.epoch < newest.get(held.id, 0):
                self._taken_from_itself(held)
        apart = set(self._berths.needed_by(claims))
        kept = [claim for claim in claims if claim in self._held and claim not in apart]
        aside = [claim for claim in claims if claim in self._held and claim in apart] if apart else []
        line.deliver(kept, lost=len(claims) - len(kept) - len(aside), aside=aside)
        self._berths.received += len(apart)

    def _taken_from_itself(self, claim: Claim) -> None:
        """The job was claimed here again (a clock leapt): nobody else tells the store that this worker had not vanished."""
        if claim.settled_as is not None or self._settler.has(claim, refused=False) or claim not in self._held:
            return  # it has ended, and whoever ended it tells
        run = self._runner.runs.get(claim.id)
        if run is not None and run.claim is claim:
            self._lose(run)
        self._unbuffer(claim)
        self._held.discard(claim)
        self._settler.add(claim, Release())

    def _put_off(self, claim: Claim, rest: timedelta) -> None:
        """A suspect found no child process here: it is left to other workers, and has not run."""
        self._ended_apart -= 1  # the settler will count it
        self._settler.add(claim, Snooze(rest))

    def _settled(self, batch: Sequence[tuple[Claim, Outcome]], stands: Sequence[bool]) -> None:
        """The settler ended these."""
        self._ended += len(stands)  # before they are held no more: the claimer counts both
        self._held.difference_update([claim for claim, _ in batch])
        if any(type(outcome) is not Done or claim.group is not None for claim, outcome in batch):
            self._claimer.look()
        lost = len(stands) - sum(stands)
        if lost:
            for (claim, outcome), stood in zip(batch, stands, strict=True):
                if not stood:
                    log.warning("job %s: its claim was lost, so %s counts for nothing", claim.id, type(outcome).__name__, extra=job_fields(claim))  # fmt: skip
        self._figures.count(list(compress(batch, stands)) if lost else batch)
        if self._listeners.of(Settled):
            self._listeners.tell(Settled(self.name, len(stands) - lost, lost))
        self._make_room()

    def _make_room(self) -> None:
        """Stop, if this worker has run as many jobs as it may, or uses too much memory: once what it runs has ended, and not before.

        Nobody is in a hurry, and what takes longer than a grace period would be begun anew by each fresh one.
        """
        if self._stops or self._retired or self.made_room:
            return
        if used_up(self._settings, self._ended + self._ended_apart, self.name):
            self.made_room = True
            self._begin_to_end()

    def _left(self) -> int:
        """How many more jobs it may claim."""
        held = len(self._held)  # first: one that is settled meanwhile is counted twice, never not at all
        return (self._settings.max_jobs or 0) - self._ended - self._ended_apart - held

    def _hear(self, renewed: Renewed, claims: Sequence[Claim]) -> None:
        """The keeper learned of lost claims and of jobs asked to cancel."""
        self._loop.call_soon_threadsafe(self._heard, renewed, claims)

    def _heard(self, renewed: Renewed, claims: Sequence[Claim]) -> None:
        """What was said of these claims; a job that was lost may be held here again, by another claim."""
        asked = {claim.id: claim for claim in claims}
        for job_id in sorted(renewed.lost):
            run = self._runner.runs.get(job_id)
            if asked[job_id] not in self._held:
                continue
            if run is not None and run.claim is asked[job_id]:
                if run.claim.settled_as is None:  # else it has ended its job itself, and may go on
                    self._lose(run)
            elif not self._settler.has(asked[job_id], refused=False):
                self._unbuffer(asked[job_id])
                self._held.discard(asked[job_id])
        for job_id in sorted(renewed.cancelling):
            if (run := self._runner.runs.get(job_id)) is not None:
                run.ask()
            elif self._unbuffer(asked[job_id]):
                self._settler.add(asked[job_id], Cancelled())

    def _lose(self, run: Run) -> None:
        """Its claim is lost: its handler is told, once."""
        self._held.discard(run.claim)
        if not run.context.lost:
            log.warning("job %s: its claim is lost; its handler is told to stop", run.claim.id, extra=job_fields(run.claim))  # fmt: skip
            self._listeners.tell(ClaimGone(self.name, run.claim))
            run.lose()

    def _unbuffer(self, claim: Claim) -> bool:
        """Take a claim out of the line where it waits, so that it is not started; whether it was there."""
        return any(line.remove(claim) for line in self._lines)

    def _outage(self, doing: str, error: Exception) -> None:
        log.warning("%s: %s", doing, error)
        self._listeners.tell(Outage(self.name, doing, str(error)))

    def _about(self) -> dict[str, object]:
        runs = list(self._runner.runs.values())
        return {
            "running": len(runs),
            "waiting": len(self._held) - len(runs),
            "stuck": len(self._runner.stuck),
            "lines": [t.name for t in self._settings.lines],
            "ended": self._ended + self._ended_apart,
        }


def _close_all(queues: list[Queue]) -> None:
    for queue in queues:
        queue.close()
