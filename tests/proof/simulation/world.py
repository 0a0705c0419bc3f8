"""What there is in one simulated hour: a store, workers, producers, an operator, a machine's clock; and what handlers do in it."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import tenure
from tenure.errors import StoreUnavailable
from tenure.janitor.settings import Kept
from tests.proof.simulation.cast import EVERY_5M
from tests.proof.simulation.doubles import Flag
from tests.proof.simulation.fleet import Fleet
from tests.proof.simulation.hub import Hub, Killed, Process
from tests.proof.simulation.people import each_sort, operate, produce
from tests.proof.simulation.store import Database, RoughStore, SimQueue
from tests.proof.simulation.weather import Weather

__all__ = ["World"]

HOUR = 3_600.0
_REST = 4 * HOUR
"""How long after the faults everything may take to come to rest: a clock set back by an hour makes leases that much longer."""
_START = 1_893_456_000.0
"""The machine's clock at the beginning: 2030."""
_BEFORE_A_FIRE = 6.0
"""How many seconds into a calm scene a schedule fires: its jobs have begun, and not all of them have ended."""


def _drawn(chance: random.Random) -> Kept | None:
    """In every third hour jobs that have ended go, some soon."""
    spans = [timedelta(seconds=chance.choice((60, 300, 1_200))) for _ in range(3)]
    dead = chance.choice((timedelta(0), spans[2]))
    return Kept(done=spans[0], cancelled=spans[1], dead=dead) if chance.random() < 1 / 3 else None


@dataclass
class Run:
    """One run of one handler."""

    world: World
    key: tuple[str, int]

    def done(self) -> int:
        """It has come to its end."""
        self.world.finished.add(self.key)
        return 1


class World:
    """Everything there is in one run."""

    def __init__(self, seed: str, folder: Path, fatal: int | None = None) -> None:
        self.seed, self.folder = seed, folder
        self.fatal, self.steps = fatal, 0
        """At which step of its event loop a worker dies, in a calm scene (0: at none); None: a whole hour with its weather."""
        self.hub = Hub(f"{seed}-hub")
        self.hub.strikes = self._strikes
        self.chance = random.Random(f"{seed}-world")
        self.weather = Weather(self.hub, random.Random(f"{seed}-weather"))
        self.kept = _drawn(random.Random(f"{seed}-retention"))
        """How long jobs that have ended are kept; None: for ever."""
        self.database = Database(self.hub, self.weather, retains=self.kept is not None)
        self.host = Process("host")
        self.acked: list[str] = []
        self.begun: set[tuple[str, int]] = set()
        self.finished: set[tuple[str, int]] = set()
        self.runs: Counter[str] = Counter()
        self.said: set[tuple[str, str]] = set()
        self.wall_ahead = 0.0 if fatal is None else -(_START + self.hub.now + _BEFORE_A_FIRE) % EVERY_5M
        """By how much the machine's clock is ahead of the hub's; a calm scene begins shortly before a schedule fires."""
        self.fired_at = 0
        """At which step of an event loop the first job of a fire began."""
        self.behind = 0.0
        """By how much the clock was set back: who came later may then stand before others in its group, by the time it was due."""
        self.rested_at = 0.0
        """When everything had come to rest, on the machine's clock: what a schedule fires after that may find nobody left."""
        self._fair_since = 0.0
        self._ids = 0
        self.pause = self.chance.choice((60.0, 90.0, 150.0))
        self.fleet = Fleet(self)
        self._ended = Flag(self.hub)

    def _strikes(self) -> bool:
        """Whether whoever is between two awaits dies there."""
        self.steps += 1
        if self.fatal is None:
            return self.weather.meets("killed at an await")
        if self.steps == self.fatal:
            self.weather.count("killed at an await")
        return self.steps == self.fatal

    # Time and names

    def wall(self) -> float:
        """What the machine's clock shows."""
        return _START + self.hub.now + self.wall_ahead

    def new_id(self) -> str:
        """A UUIDv7 of this world."""
        self._ids += 1
        millis, noise = int(self.wall() * 1_000), self.chance.getrandbits(40)
        return f"{millis >> 16:08x}-{millis & 0xFFFF:04x}-7{self._ids >> 8 & 0xFFF:03x}-8{self._ids & 0xFF:03x}-{self._ids & 0xFF:02x}{noise:010x}"

    # What handlers do

    def begin(self, ctx: tenure.Context) -> Run:
        """A handler begins: each claim does so once, and in its group's turn."""
        process = self._process()
        claim = ctx.claim
        key = (claim.id, claim.epoch)
        if key in self.begun:
            self.hub.failed(AssertionError(f"{claim!r} was begun twice"))
        self.begun.add(key)
        if claim.kind == "tick":
            self.fired_at = self.fired_at or self.steps
        self.runs[claim.id] += 1
        self.hub.tell(f"begins {claim.kind} {claim.seq} {claim.epoch} in {process.name}")
        if claim.kind == "orderly" and not self.behind:
            self._check_order(claim)
        return Run(self, key)

    def first_time(self, ctx: tenure.Context, word: str) -> bool:
        """Whether this job says this for the first time."""
        self._process()
        key = (ctx.id, word)
        first = key not in self.said
        self.said.add(key)
        return first

    def kill_who_runs(self) -> None:
        """The handler's own process dies of it."""
        self.fleet.kill(self._process())

    def _process(self) -> Process:
        assert self.hub.current is not None
        if self.hub.current.process.dead:
            raise Killed
        return self.hub.current.process

    def _check_order(self, claim: tenure.Claim) -> None:
        see = self.database.see
        now = see("SELECT epoch, state FROM tenure_jobs WHERE id = ?", claim.id)
        # One that was taken for dead and is not comes back to a group that has gone on without it.
        left = see(
            "SELECT seq, state FROM tenure_jobs WHERE group_key = ? AND seq < ? AND finished_at IS NULL"
            " AND id NOT IN (SELECT job_id FROM tenure_attempts WHERE error_kind = 'LeaseLost')",
            claim.group, claim.seq,
        )  # fmt: skip
        if now == [(claim.epoch, "running")] and left:
            self.hub.failed(AssertionError(f"{claim!r} overtook {left} of its group"))

    # What people do

    def open(self, process: Process, *, rough: bool = True) -> SimQueue:
        """A queue of this process's own."""
        return SimQueue(RoughStore(self.database, process, rough=rough, mortal=process is not self.host))

    def enqueue(self, kind: str, payload: dict[str, Any], **options: Any) -> None:
        """Enqueue one job; what was acknowledged is kept in mind."""
        process = self._process()
        queue = self.open(process)
        for _ in range(2):
            with suppress(StoreUnavailable):
                answer = queue.enqueue(kind, payload, **options)
                self._process()
                self.acked.append(answer.id)
                return

    def enqueue_many(self, jobs: list[tenure.NewJob]) -> None:
        """Many at once."""
        with suppress(StoreUnavailable):
            self.acked += [e.id for e in self.open(self.host).enqueue_many(jobs)]

    # The hour

    def disturb(self, until: float) -> None:
        """Kills at any moment, and clocks that jump."""
        often, jumps = self.chance.choice((120.0, 400.0, 1_500.0)), self.chance.random() < 0.3
        while self.hub.now < until:
            self.hub.sleep(min(self.chance.expovariate(1 / often), until - self.hub.now))
            self.fleet.kill_some()
            if jumps and self.chance.random() < 0.3 and not self.weather.clear:
                by = self.chance.choice((-HOUR, -60.0, -5.0, 5.0, 60.0, HOUR))
                self.wall_ahead += by
                self.behind += max(0.0, -by)
                self.weather.count("clock jumped")

    def live(self) -> None:
        """The hour, then fair weather until everything is at rest."""
        hub = self.hub
        if self.fatal is None:
            self._through_the_hour()
        else:
            self._calmly()
        while self.database.see("SELECT 1 FROM tenure_jobs WHERE finished_at IS NULL LIMIT 1"):
            hub.sleep(10.0)
            # What was due when the clock was set back is due so much later.
            assert hub.now < self._fair_since + _REST + self.behind, f"never at rest: {self.left()}"
        self.rested_at = self.wall()
        self.fleet.leave()
        self._ended.set()

    def _calmly(self) -> None:
        """A job of each sort, two workers, and no weather at all."""
        self.weather.clear = True
        self._fair_since = self.hub.now
        for place in range(2):
            self.hub.spawn(self.host, lambda place=place: self.fleet.supervise(place))  # type: ignore[misc]
        self.hub.sleep(1.0)
        each_sort(self)

    def _through_the_hour(self) -> None:
        hub, end = self.hub, self.hub.now + HOUR
        for place in range(self.chance.choice((1, 2, 3))):
            hub.spawn(self.host, lambda place=place: self.fleet.supervise(place))  # type: ignore[misc]
        hub.spawn(self.host, lambda: produce(self, random.Random(f"{self.seed}-producer"), end))
        hub.spawn(self.host, lambda: operate(self, random.Random(f"{self.seed}-operator"), end))
        hub.spawn(self.host, lambda: self.disturb(end))
        hub.sleep(HOUR)
        self.weather.clear = True
        hub.tell("the weather is fair")
        self._fair_since = hub.now
        hub.sleep(120.0)  # the operator resumes what was paused, and what producers still try is done with

    def left(self) -> list[Any]:
        """What has not ended."""
        return self.database.see(
            "SELECT seq, kind, state, attempt, crashes, epoch, queue, group_key FROM tenure_jobs WHERE finished_at IS NULL"
        )

    def over(self) -> bool:
        """Whether it has been played to its end."""
        return self._ended.is_set()
