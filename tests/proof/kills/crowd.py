"""A crowd on one store: workers, producers and a janitor, each killed as soon as it has done something, and started again.

Who is killed next, and how long after its first sign of life, is drawn from the seed. At the end the producers stop, what is
left is done, and the ledger has to balance.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.proof.kills import producer, works
from tests.proof.kills.forged import Forge, Forged
from tests.proof.kills.justice import check_crashes, check_deaths, check_keys
from tests.proof.kills.rivals import Rivals
from tests.proof.ledger import Acks, Balance, Effects, at_rest, balance, intact, stored
from tests.support.workers import Scene, open_scene, until

__all__ = ["Actor", "Crowd", "Tail", "open_crowd"]

_PID = re.compile(rb":(\d+):[0-9a-f-]{36}\n")
_MOMENT = 0.06
"""The longest time between a sign of life and a kill, in seconds."""
_HELD = 400
"""How many jobs a worker that is killed has run and not settled, at most."""
_UNSETTLED, _SHARE = 20, 0.01
"""How many runs a kill may cost on the average, since what has ended is settled some milliseconds later; and which share of all jobs
besides."""
_FEW = 100
"""What is no average yet: one kill may cost many runs, and a pool's parent takes its workers with it."""
_MEET = 10
"""How many kills there are between two meetings of rivals."""


class Tail:
    """How often each process has run a handler so far, read from the end of the file of effects."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._kept = path, 0, b""
        self.runs: Counter[int] = Counter()

    def look(self, pid: int) -> int:
        """How many handlers this process (with its children) has run."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._at)
                said = file.read()
            self._at += len(said)
            whole, newline, self._kept = (self._kept + said).rpartition(b"\n")
            self.runs.update(map(int, _PID.findall(whole + newline)))
        return self.runs[pid]


@dataclass
class Actor:
    """Somebody in the crowd: what it runs, and how one sees that the process of this pid has done something."""

    name: str
    run: str
    args: tuple[str, ...]
    sign: Callable[[int], bool]
    draws: bool = False
    """Whether it is told what to draw from."""
    starts: int = 0
    process: Forged | None = field(default=None, repr=False)


class Crowd:
    """Whoever works on a scene's store."""

    def __init__(self, scene: Scene, forge: Forge, chance: random.Random, *, g4: bool) -> None:
        self.scene, self.forge, self.chance, self.g4 = scene, forge, chance, g4
        self.tail = Tail(scene.folder / "effects")
        self.actors: list[Actor] = []
        self.kills: Counter[str] = Counter()
        self.killed: set[int] = set()
        self.at_once = 0
        """How many jobs one worker process runs at once, at most, in its child processes too."""
        self.outages = 0
        """How often the store, or a connection to it, was away: that costs a worker a run at most, which outlives it and says again
        what was not answered."""
        self.rivals = Rivals(scene, g4=g4)

    def add_worker(self, name: str, slots: int, *more: str, children: int = 1) -> Actor:
        """`tenure worker`, known to live once it has run a handler."""
        self.at_once = max(self.at_once, slots + children)
        args = ("-c", f"{slots}", "--children", f"{children}", *more)
        return self._add(
            Actor(
                name, "tenure.cli:main", ("worker", works.ADDRESS, *args), lambda pid: self.tail.look(pid) > 0
            )
        )

    def add_producer(self, name: str, pace: float, *words: str) -> Actor:
        """Somebody who enqueues, known to live once something more was acknowledged."""
        acks, seen = Acks(self.scene.folder / f"acks-{name}"), {0: 0}
        g4 = ("g4",) if self.g4 else ()

        def sign(pid: int) -> bool:
            return acks.count() > seen.setdefault(pid, acks.count())

        return self._add(Actor(name, producer.RUN, (str(pace), *g4, *words), sign, draws=True))

    def add_janitor(self) -> Actor:
        """`tenure janitor`: one that has nothing to do gives no sign, so it may be killed while it starts."""
        return self._add(Actor("janitor", "tenure.cli:main", ("janitor", works.ADDRESS), lambda _: True))

    def start(self, actor: Actor) -> Forged:
        """Start it, or start it again."""
        actor.starts += 1
        drawn = (actor.name, f"{self.chance.random()}") if actor.draws else ()
        actor.process = self.forge.start(actor.name, actor.run, *drawn, *actor.args)
        actor.sign(actor.process.pid)
        return actor.process

    def kills_by_actor(self) -> dict[str, int]:
        """How many of each sort were killed: {"worker_kills": 12, "producer_kills": 9, "janitor_kills": 4}."""
        sorts: Counter[str] = Counter()
        for name, count in self.kills.items():
            sorts[f"{name.partition('-')[0]}_kills"] += count
        return dict(sorts)

    def strike(self, kills: int) -> None:
        """Kill so many, one after another, seldom all at once; each is started again at once."""
        last: Actor | None = None
        while self.kills.total() < kills:
            if self.kills.total() >= _MEET * self.rivals.meetings:
                self.rivals.meet()
            if self.chance.random() < 0.02:
                self._kill(*self.actors)
                continue
            last = victim = self.chance.choice([actor for actor in self.actors if actor is not last])
            self.see(victim)
            time.sleep(self.chance.uniform(0, _MOMENT))
            self._kill(victim)

    def see(self, actor: Actor) -> None:
        """Wait until it has done something since it was started."""
        process = actor.process
        assert process is not None
        try:
            until(lambda: actor.sign(process.pid))
        except AssertionError:
            raise AssertionError(f"{actor.name} does nothing:\n{process.log[-3000:]}") from None

    def acked(self) -> list[str]:
        """Everything that was acknowledged."""
        return self._written("acks-*")

    def _written(self, names: str) -> list[str]:
        return [job for path in self.scene.folder.glob(names) for job in Acks(path).read()]

    def rest(self, within: float = 100.0) -> None:
        """The producers stop, and everything that they enqueued ends."""
        (self.scene.folder / "stop").touch()
        for actor in self.actors:
            if actor.draws and actor.process is not None:
                assert actor.process.left() == 0, actor.process.log[-3000:]
        at_rest(self.scene.q, within)

    def balance(self, *besides: str) -> Balance:
        """The ledger; raises if it does not balance. Jobs rest where they have to, or in these states `besides`."""
        jobs = list(stored(self.scene.q))
        check_crashes(self.scene, self.killed, self.at_once)
        check_keys(jobs)
        rows = [job for (job,) in self.scene.sql("SELECT job FROM tenure.effects")] if self.g4 else None
        made = balance(
            self.scene.q,
            self.acked(),
            tried={*self._written("tried-*"), *check_deaths(jobs)},
            effects=Effects(self.scene.folder / "effects").read(),
            g4=None if rows is None else {works.G4: rows},
            lost=self._may_lose,
            stale=self.rivals.stood,
            allow=lambda job: (works.rests(job), *besides),
        )
        assert made.refused == self.rivals.tried > 0, (
            f"{self.rivals.tried} stale settles, {made.refused} refused"
        )
        most = self.outages * sum(not actor.draws for actor in self.actors)
        if kills := self.kills.total():
            most += max(_UNSETTLED * kills, _FEW) + int(_SHARE * made.stored)
        assert made.taken_away <= most, f"{made.taken_away} runs counted for nothing, of {made.stored} jobs"
        intact(self.scene.url)
        return made

    def _may_lose(self, worker: str) -> int:
        """What this one had done and could not settle any more: nothing, if it was not killed and the store was always there."""
        return _HELD if int(worker.split(":")[1]) in self.killed else self.outages

    def _add(self, actor: Actor) -> Actor:
        self.actors.append(actor)
        self.start(actor)
        return actor

    def _kill(self, *victims: Actor) -> None:
        for victim in victims:
            if victim.process is not None:
                victim.process.kill()
                self.killed.add(victim.process.pid)
                self.kills[victim.name] += 1
        for victim in victims:
            self.start(victim)


@contextmanager
def open_crowd(
    url: str,
    folder: Path,
    chance: random.Random,
    *,
    g4: bool,
    reach: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Crowd]:
    """An empty crowd on a fresh store; `reach` is the URL by which the crowd finds it, if not the same."""
    with open_scene(url, folder) as scene:
        scene.max_crashes = 1_000  # a job may be in flight at every kill, and is not to blame
        if g4:
            scene.sql(works.TABLE)
        forge = Forge(scene, works.__name__, producer.__name__, url=reach, **(environment or {}))
        try:
            yield Crowd(scene, forge, chance, g4=g4)
        finally:
            forge.close()
