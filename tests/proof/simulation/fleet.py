"""The workers of a simulated hour: started on one of two machines, killed, stopped, deployed, and started again.

Which jobs were in flight when one died is put down here: these may be blamed for it, and nobody else.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenure.client.queue import Queue
from tenure.errors import StoreUnavailable
from tenure.janitor.janitor import Janitor
from tenure.janitor.settings import JanitorSettings, Kept
from tenure.job import Claim
from tenure.worker import marks
from tenure.worker.settings import LineTerms, WorkerSettings
from tenure.worker.worker import Worker
from tests.proof.simulation.cast import app
from tests.proof.simulation.doubles import Flag
from tests.proof.simulation.hub import Process
from tests.proof.simulation.loop import run_loop

if TYPE_CHECKING:
    from tests.proof.simulation.world import World

__all__ = ["Fleet"]

_FOREVER = Kept(done=timedelta(0), cancelled=timedelta(0), dead=timedelta(0))


class _Worker(Worker):
    """Puts down which suspects the store is being told of: it may take them for started before they are."""

    announced: list[Claim]
    alarm: Callable[[BaseException], None]
    ahead: int
    """How many claims wait in each of its lines, beyond those that its slots can take."""

    def _make(self, queue: Queue, keeper_queue: Queue, chores_queue: Queue) -> None:
        super()._make(queue, keeper_queue, chores_queue)
        for line in self._lines:
            line._ahead = lambda: self.ahead  # type: ignore[method-assign]

    async def _mark_started(self, claim: Claim) -> bool:
        self.announced.append(claim)
        children: Any = self._children
        free = [child for child in children._all if child.waits and child not in children._idle]
        if len(free) < len(self.announced):
            self.alarm(AssertionError(f"{claim!r} is told to start, and no child is there for it"))
        try:
            return await super()._mark_started(claim)
        finally:
            self.announced.remove(claim)


class Fleet:
    """Whoever works now, and what became of those before."""

    def __init__(self, world: World) -> None:
        self._world, self._hub, self._weather = world, world.hub, world.weather
        self._chance = random.Random(f"{world.seed}-fleet")
        self.workers: dict[int, tuple[Process, Worker]] = {}
        self.processes: list[Process] = []
        self.kills = 0
        self.crashes: Counter[str] = Counter()
        """How many claims on each job were in flight in a process that died."""
        self.stood: Counter[str] = Counter()
        """How many claims on each job a worker held when it was made to stand still."""
        self._blamed: set[tuple[str, int]] = set()
        self._leaving = Flag(world.hub)

    def leave(self) -> None:
        """Stop all of them in good order, and wait until they have."""
        self._leaving.set()
        while self.workers:
            for _, worker in list(self.workers.values()):
                if not worker._stops:
                    worker.stop()
            self._hub.sleep(1.0)

    def kill_some(self) -> None:
        """kill -9 of one of them, or of one of its children."""
        place = self._one(self._chance, patient=self._chance.random() < 0.5)
        if place is not None:
            process, _ = self.workers[place]
            children = [c for c in process.children if not c.dead]
            self._weather.count("killed")
            alone = children and self._chance.random() < 0.3
            self.kill(self._chance.choice(children) if alone else process)

    def deploy(self, draw: random.Random) -> None:
        """A worker is told to stop in good order."""
        place = self._one(draw)
        if place is not None:
            _, worker = self.workers[place]
            worker.stop()

    def stand_still(self, draw: random.Random) -> None:
        """A worker's process is stopped for a while, as by SIGSTOP, while it holds something if it can be waited for."""
        place = self._one(draw, patient=True)
        if place is not None:
            process, worker = self.workers[place]
            self.stood.update(claim.id for claim in worker._held)
            until = self._hub.now + draw.choice((10.0, 50.0, 100.0, 200.0))
            for one in (process, *process.children):
                one.stands_still_until = until
            self._weather.count("stands still")

    def _one(self, draw: random.Random, *, patient: bool = False) -> int | None:
        """The place of a worker, if there is any and the weather is bad; who is patient waits for one that is busy, for two minutes."""
        for _ in range(40 if patient else 0):
            if self._weather.clear:
                break
            busy = [p for p, (_, worker) in sorted(self.workers.items()) if worker._held]
            if busy:
                return draw.choice(busy)
            self._hub.sleep(3.0)
        return draw.choice(sorted(self.workers)) if self.workers and not self._weather.clear else None

    def supervise(self, place: int) -> None:
        """Keep one worker running, here or on the other machine, whatever it dies of."""
        while not self._leaving.is_set():
            self._start(place).wait()
            if not self._leaving.is_set():
                self._hub.sleep(self._chance.choice((0.2, 2.0, 10.0, 70.0)))

    def _start(self, place: int) -> Flag:
        machine = place % 2 if self._chance.random() < 0.7 else self._chance.randrange(2)
        process = Process(f"worker-{place}-{len(self.processes)}")
        gone = Flag(self._hub)
        process.after_death.append(gone.set)
        self.processes.append(process)
        self._hub.spawn(process, lambda: self._work(place, machine, process))
        return gone

    def _work(self, place: int, machine: int, process: Process) -> None:
        lines = (
            (LineTerms(("mail",), None, 2), LineTerms(None, ("mail",), 3))
            if place == 1
            else (LineTerms(None, None, 4),)
        )
        settings = WorkerSettings(
            lines=lines, children=2, lease=timedelta(seconds=90), poll=timedelta(seconds=60), prefetch=50,
            grace=timedelta(seconds=15),
            settle_delay=timedelta(milliseconds=self._chance.choice((0, 10, 500))),
        )  # fmt: skip
        kept = self._world.kept
        chores = JanitorSettings(
            kept=kept or _FOREVER, look_every=timedelta(seconds=120), retain_every=timedelta(seconds=60 if kept else 0)
        )  # fmt: skip
        worker = _Worker(
            app.kinds, lambda: self._world.open(process), settings, address="simulated", listeners=app.listeners,
            chores=lambda queue, listeners, name: Janitor(
                queue, chores, listeners=listeners, worker=name, kinds=app.kinds, crons=app.crons
            ),
            place=f"sqlite:///{self._world.folder}/machine-{machine}.db",
        )  # fmt: skip
        worker.announced, worker.alarm, worker.ahead = [], self._hub.failed, self._chance.choice((0, 0, 5))
        self.workers[place] = (process, worker)
        process.at_death.append(lambda: self._note_death(place, worker))
        try:
            run_loop(self._hub, process, worker.run())
        except StoreUnavailable:
            self._hub.tell("could not start")  # as a real one: its process leaves, and is started again
        self._hub.over(process)

    def _note_death(self, place: int, worker: _Worker) -> None:
        """Who was in flight may be blamed: by the marks, by what handlers did, by what the store was told of suspects."""
        self.workers.pop(place, None)
        for line in getattr(worker, "_lines", ()):
            line.closed = True  # what is left of its tasks starts nothing more
            line.buffer.clear()
            line.aside.clear()
        # Whoever has begun and is not settled: its mark may be gone, and its lease tell of it.
        begun = [claim for claim in worker._held if (claim.id, claim.epoch) in self._world.begun]
        flight = {(claim.seq, claim.epoch) for claim in (*begun, *worker.announced)}
        put_down = getattr(worker, "_marks", None)
        if isinstance(put_down, marks.Marks) and not put_down._map.closed:
            put_down._map.flush()
            told = marks.read_marks(put_down.path)
            flight |= set() if told is None else {*told.started, *told.apart}
            if not self._weather.clear and self._chance.random() < 0.2:
                self._hub.tell("its machine is gone with it")
                marks.forget(put_down.path)
        self.blame(flight)

    def blame(self, flight: set[tuple[int, int]]) -> None:
        """These claims were in flight in a process that died; what it had settled before is none of them."""
        for seq, epoch in flight:
            # One whose lease ran out may have been done by others since, and be gone; another may have its number then.
            for job_id, gone in self._world.database.see(
                "SELECT id, went_at FROM all_jobs WHERE seq = ?", seq
            ):
                claim = (job_id, epoch)
                if gone and claim not in self._world.begun:
                    continue
                if claim not in self._world.database.fences and claim not in self._blamed:
                    self._blamed.add(claim)
                    self.crashes[job_id] += 1

    def kill(self, process: Process) -> None:
        """kill -9 of a worker or one of its children."""
        self.kills += 1
        self._hub.kill(process)

    def lives(self, path: Path) -> bool:
        """Whether the worker whose marks these are still runs."""
        return any(
            isinstance(found := getattr(worker, "_marks", None), marks.Marks) and found.path == path
            for _, worker in self.workers.values()
        )
