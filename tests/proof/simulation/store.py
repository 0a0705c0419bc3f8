"""A way to the store on which everything can go wrong: a request that never arrives, an answer that is lost after the commit, a
process that dies on either side of it, a request that arrives again, at once or much later.

Behind it is one real SQLite database, in memory, whose plans run at one go: they are transactions, and writers there take
turns anyway. What a settle answers is compared with what the fence must say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

from tenure.client.queue import Queue
from tenure.clock import machine_micros
from tenure.job import Claim
from tenure.newjob import BareParams
from tenure.outcome import Outcome, name_of
from tenure.store.base import Broken, Make, with_patience
from tenure.store.lanes import LaneMemory
from tenure.store.open import script_at
from tenure.store.plan import run as run_plan
from tenure.store.sqlite.connection import ApswLink
from tenure.store.sqlite.dialect import sqlite_dialect
from tenure.store.sqlite.store import SqliteRunner
from tests.proof.simulation.doubles import Flag
from tests.proof.simulation.hub import Hub, Process
from tests.proof.simulation.weather import Weather

__all__ = ["Database", "RoughStore", "SimQueue"]

T = TypeVar("T")
Pair = tuple[Claim, Outcome]
_PATIENCE = 5.0
_LATER = ("settle_many", "enqueue_job", "enqueue_many", "enqueue_bare_again")
"""What a network may deliver once more much later: what says by itself when it is to count."""
_LOUD = (*_LATER, "cancel", "replay", "resume", "vanished")
_AFTER_ALL = ("enqueue_job", "enqueue_many", "enqueue_bare_again")
"""Which of these make the job anew, if it has ended and gone meanwhile: not delivered late in hours in which jobs go."""
_GOING = """
CREATE TEMP TABLE gone AS SELECT *, NULL AS went_at FROM tenure_jobs;
CREATE TEMP TABLE gone_attempts AS SELECT * FROM tenure_attempts;
CREATE TEMP TRIGGER goes BEFORE DELETE ON tenure_jobs BEGIN
    INSERT INTO gone SELECT *, NULL FROM tenure_jobs WHERE seq = old.seq;
    INSERT INTO gone_attempts SELECT * FROM tenure_attempts WHERE job_id = old.id;
END;
CREATE TEMP VIEW all_jobs AS SELECT *, NULL AS went_at FROM tenure_jobs UNION ALL SELECT * FROM gone;
CREATE TEMP VIEW all_attempts AS SELECT * FROM tenure_attempts UNION ALL SELECT * FROM gone_attempts
"""
"""Jobs that retention takes are kept in mind, as they were, with when they went."""
_HEARD = {"settle_many": 0.1}
"""How many of the commits that others hear of wake them: of a settle few need to know, and every look costs."""


@cache
def _schema() -> str:
    return script_at("sqlite:///simulated.db")


class Database:
    """The one database behind all ways."""

    def __init__(self, hub: Hub, weather: Weather, *, retains: bool) -> None:
        self.hub, self.weather, self.retains = hub, weather, retains
        self.dialect = sqlite_dialect("tenure_")
        self._link = ApswLink(":memory:")
        self._link.query(_schema(), {})
        self._link._db.execute(_GOING)
        self.ears: list[Ear] = []
        self.network = Process("network")
        """Where requests wait that arrive once more."""
        self.fences: dict[tuple[str, int], str] = {}
        """How each claim was settled first."""
        self.replayed: Counter[str] = Counter()
        self.replayed_at: dict[str, int] = {}
        """The epoch of each job when it was replayed last."""
        self.refused = 0
        """How many settles came too late, and were told so."""

    def see(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """Look, past all faults."""
        return self._link._db.execute(text, values).fetchall()

    def insert(self, job: BareParams) -> bool:
        """Store one job without options."""
        self._link.query(self.dialect.statements["enqueue_one"].text, {**job, "now": machine_micros()})
        return True

    def run(self, make: Make[T], again: bool, *, name: str) -> T:
        """Run a plan; a settle is checked against the fence."""
        me = self.hub.current
        pairs: list[Pair] | None = None if me is None else me.about
        before = None if pairs is None else self._claims(pairs)
        answer = run_plan(make(again), SqliteRunner(self._link, self.dialect.statements))
        if pairs is not None and before is not None and isinstance(answer, list):
            self._compare(pairs, before, answer)
        elif isinstance(answer, list) and answer and isinstance(answer[0], Claim):
            self.hub.tell(f"has claimed {[(c.seq, c.epoch) for c in answer]}")
        if name == "retain":
            self._link._db.execute("UPDATE gone SET went_at = ? WHERE went_at IS NULL", (machine_micros(),))
        if name in _LOUD:
            self.tell_others(name)
        return answer

    def close(self) -> None:
        self._link.close()

    def _claims(self, pairs: list[Pair]) -> dict[str, tuple[int, str]]:
        marks = ",".join("?" * len(pairs))
        found = self.see(
            f"SELECT id, epoch, state FROM tenure_jobs WHERE id IN ({marks})", *(c.id for c, _ in pairs)
        )
        return {job_id: (epoch, state) for job_id, epoch, state in found}

    def _compare(self, pairs: list[Pair], before: dict[str, tuple[int, str]], answers: list[bool]) -> None:
        for (claim, outcome), stood in zip(pairs, answers, strict=True):
            key, name = (claim.id, claim.epoch), name_of(outcome)
            first = self.fences.get(key)
            if first is not None:
                expected = first == name
                if claim.epoch <= self.replayed_at.get(claim.id, -1) or claim.id not in before:
                    # What was settled before a replay, or of a job that has gone, may be forgotten; it is not told otherwise.
                    expected &= stood
            else:
                expected = before.get(claim.id) == (claim.epoch, "running")
                if expected:
                    self.fences[key] = name
            self.refused += not stood
            self.hub.tell(f"settles {name} {claim.seq} {claim.epoch}: {stood}")
            if stood != expected:
                told = f"{name} of {claim!r} was answered {stood}, the fence says {expected}: {before.get(claim.id)}, {first}"
                self.hub.failed(AssertionError(told))

    def tell_others(self, name: str) -> None:
        """Somebody committed: most of the others hear of it."""
        me = self.hub.current
        for ear in self.ears:
            if (me is None or ear.process is not me.process) and self.weather.chance.random() < _HEARD.get(
                name, 0.7
            ):
                ear.hear()


class Ear:
    """A watch: hears of most commits of others."""

    hears = True

    def __init__(self, database: Database, process: Process) -> None:
        self.process, self._database = process, database
        self._flag = Flag(database.hub)
        database.ears.append(self)

    def hear(self) -> None:
        self._flag.set()

    def wait(self, timeout: float) -> bool:
        """Until something is heard."""
        heard = self._flag.wait(timeout)
        self._flag.clear()
        return heard

    def interrupt(self) -> None:
        self._flag.set()

    def close(self) -> None:
        if self in self._database.ears:
            self._database.ears.remove(self)
        self._flag.set()


class RoughStore:
    """One process's way to the store."""

    on_loop = False

    def __init__(
        self, database: Database, process: Process, *, rough: bool = True, mortal: bool = True
    ) -> None:
        self._mortal = mortal
        """Whether who asks may die of it."""
        self.dialect, self.memory = database.dialect, LaneMemory()
        self._database, self._process, self._rough = database, process, rough
        self._hub, self._weather = database.hub, database.weather

    def run(
        self,
        make: Make[T],
        *,
        reads: bool = False,
        repeatable: bool = True,
        patient: bool = True,
        promises: bool = True,
        asked: bool = False,
    ) -> T:
        """As the real one: tried again for as long as a real one would."""
        name = make.__qualname__.split(".")[1]

        def run(again: bool) -> T:
            return self._database.run(make, again, name=name)

        def once(again: bool) -> T:
            self._there(name)
            answer = run(again)
            if repeatable and not reads and self._rough:
                self._deliver_again(name, run)
            self._back(name)
            return answer

        return with_patience(once, patience=_PATIENCE, repeatable=repeatable, asked=asked)

    def begin(
        self, make: Make[T], tell: Callable[[T | BaseException], None], *, patient: bool = True
    ) -> bool:
        """All of it is waited for in threads."""
        return False

    def insert(self, job: BareParams) -> bool:
        """The short way of an enqueue; False where it is not known whether it was stored."""
        try:
            self._there("insert")
            stored = self._database.insert(job)
            self._back("insert")
        except Broken:
            return False
        self._database.tell_others("insert")
        return stored

    def check_foreign(self) -> None:
        """Nobody brings a transaction of their own."""

    def watch(self) -> Ear:
        """An ear for commits."""
        return Ear(self._database, self._process)

    def close(self) -> None:
        """Nothing to let go of."""

    def _there(self, name: str) -> None:
        self._hub.wait(self._weather.latency())
        self._hub.tell(name)
        if not self._rough:
            return
        if self._weather.away:
            self._hub.wait(0.3)
            raise Broken(OSError("away"), "the store is away", asked=False)
        if self._weather.meets("refused"):
            raise Broken(OSError("refused"), "the store hung up", asked=False)
        if self._mortal and self._weather.meets("killed before"):
            self._hub.kill(self._process)

    def _back(self, name: str) -> None:
        if not self._rough:
            return
        if self._mortal and self._weather.meets("killed after"):
            self._hub.kill(self._process)
        self._hub.wait(self._weather.latency())
        if self._weather.meets("lost"):
            raise Broken(OSError("lost"), f"the answer to {name} was lost", asked=True)

    def _comes_late(self, name: str) -> bool:
        return name in _LATER and not (self._database.retains and name in _AFTER_ALL)

    def _deliver_again(self, name: str, run: Callable[[bool], object]) -> None:
        if self._weather.meets("twice"):
            run(True)
        elif self._comes_late(name) and self._weather.meets("twice later"):
            about = None if self._hub.current is None else self._hub.current.about

            def late() -> None:
                me = self._hub.current
                assert me is not None
                me.about = about
                self._hub.tell(f"{name}, once more")
                run(True)

            self._hub.later(
                self._weather.chance.choice((0.5, 20.0, 45.0, 300.0)),
                lambda: self._hub.spawn(self._database.network, late),
            )


class SimQueue(Queue):
    """A queue whose settles can be checked: whoever runs the plan is told what it settles."""

    def settle_many(self, settles: Iterable[Pair], **given: Any) -> list[bool]:
        pairs = list(settles)
        store: Any = self._store
        me = store._hub.current
        before, me.about = me.about, pairs
        try:
            return super().settle_many(pairs, **given)
        finally:
            me.about = before
