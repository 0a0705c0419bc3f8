"""Faults planted in the package, one at a time: a simulation that notices none of them proves nothing.

Each has the words by which the verdict on it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from tenure.job import Claim
from tenure.outcome import Outcome
from tenure.schedule import StoredSchedule
from tenure.store.changes import Changes, Held
from tenure.store.dialect import Capabilities
from tenure.store.plan import Plan
from tenure.store.sqlite.dialect import sqlite_dialect
from tenure.worker.isolate import Children
from tenure.worker.line import Line
from tenure.worker.run import Run
from tests.proof.guards.mutants import mutants

__all__ = ["PLANTS"]


@contextmanager
def _loose(*guards: str) -> Iterator[None]:
    """These guards are left out of the SQL."""
    texts = {m.file.removesuffix(".sql"): m.text for m in mutants("sqlite") if m.name in guards}
    assert len(texts) == len(guards)
    with _texts(texts):
        yield


@contextmanager
def _texts(texts: Mapping[str, str]) -> Iterator[None]:
    """These statements say something else."""
    statements: Any = sqlite_dialect("tenure_").statements
    with patch.dict(statements, {name: replace(statements[name], text=text) for name, text in texts.items()}):
        yield


def _no_fence() -> AbstractContextManager[None]:
    """Whoever says that a job is done is believed, and so is who says it once more."""
    return _loose("settle_done.sql:id-1", "settle_done_results.sql:epoch-1", "settled.sql:settled_epoch-2")


@contextmanager
def _never_back() -> Iterator[None]:
    """A job whose lease ran out stays with whom it was. (It need not be waited for as long as ever.)"""
    text = sqlite_dialect("tenure_").statements["overdue"].text
    never = {"overdue": text.replace("ORDER BY", "AND false ORDER BY")}
    with _texts(never), patch("tests.proof.simulation.world._REST", 600.0):
        yield


@contextmanager
def _fires(which: Callable[[list[datetime]], list[datetime]]) -> Iterator[None]:
    """Of the moments at which a schedule is due, others are taken."""
    whole = StoredSchedule.due
    with patch.object(StoredSchedule, "due", lambda self: which(whole(self))):
        yield


@contextmanager
def _never_fires() -> Iterator[None]:
    """Nothing is ever due."""
    with _fires(lambda _due: []), patch.object(StoredSchedule, "next_at", lambda _self: None):
        yield


@contextmanager
def _fires_again() -> Iterator[None]:
    """A fire is made by everybody who sees that it is due."""
    with _loose("fire.sql:fired_at-1"), _fires(lambda due: [*due, *due[-1:]]):
        yield


@contextmanager
def _told_too_soon() -> Iterator[None]:
    """The store is told that a suspect starts while it waits for its child."""
    whole = Children.run

    async def run(self: Children, run: Run, begun: Callable[[Run], None], *, suspect: bool) -> Outcome | None:
        if suspect and not await self._marking(run.claim):
            return None
        return await whole(self, run, begun, suspect=False)

    with patch.object(Children, "run", run):
        yield


@contextmanager
def _all_pay() -> Iterator[None]:
    """Whoever waited in the buffer of a worker that vanished has crashed with it."""

    class Started(Held):
        doubt = None

    with patch("tenure.store.upkeep.Held", Started):
        yield


@contextmanager
def _out_of_turn() -> Iterator[None]:
    """A job that waits for its next attempt lets the next of its group go first."""
    whole = Changes.back

    def back(self: Changes, job: Held, **given: Any) -> None:
        whole(self, job, **given, held=None)
        if job.group_key is not None:
            self.freed.append(job.group_key)

    with patch.object(Changes, "back", back):
        yield


@contextmanager
def _untold() -> Iterator[None]:
    """Nobody is told of a death."""

    def nothing(_dead: Sequence[str], _can: Capabilities, *, now: int | None) -> Plan[None]:
        yield from ()

    with patch("tenure.store.changes.call_hooks", nothing):
        yield


def _too_soon() -> AbstractContextManager[None]:
    """Jobs go by when they came, however lately they have ended."""
    return _loose("retain.sql:finished_at-1")


@contextmanager
def _twice() -> Iterator[None]:
    """A claim stands in its line twice."""
    whole = Line.deliver

    def deliver(self: Line, claims: list[Claim], lost: int = 0, aside: Sequence[Claim] = ()) -> None:
        whole(self, [*claims, *claims[:1]], lost, aside)

    with patch.object(Line, "deliver", deliver):
        yield


PLANTS: dict[str, tuple[Callable[[], AbstractContextManager[None]], str]] = {
    "no fence": (_no_fence, "the fence says False"),
    "told too soon": (_told_too_soon, "no child is there for it"),
    "all pay": (_all_pay, "blamed for a crash it had no part in"),
    "out of turn": (_out_of_turn, "of its group"),
    "untold": (_untold, "0 jobs tell of it"),
    "twice": (_twice, "was begun twice"),
    "goes too soon": (_too_soon, "it went too soon"),
    "never back": (_never_back, "never at rest"),
    "never fires": (_never_fires, "it never fired"),
    "leaves out": (lambda: _fires(lambda due: due[-1:]), "a fire was left out"),
    "fires again": (_fires_again, "fired twice"),
}
