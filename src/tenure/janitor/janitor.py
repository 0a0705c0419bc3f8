"""Janitor: promote, expire, reclaim, retain, fire schedules and put down how the queues stand, each on its own interval.

It runs once before new work, then as each chore falls due. A chore that fails is logged and stops neither the others nor
its own next turn. Chores that have much to do take turns, a batch each, so none waits for another's end. A tick begins no
batch when two thirds of its time are over, and gives up a batch that is not answered when all of it is; what is left goes on at
the next.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from msgspec import Struct

from tenure.app_hooks import store_hooks
from tenure.app_schedules import CodeSchedule
from tenure.client.queue import Queue, is_sweeping
from tenure.clock import Leap
from tenure.errors import StoreUnavailable
from tenure.events import ChoreDone, ChoreFailed, Fired, Listeners
from tenure.janitor.settings import JanitorSettings, Kept
from tenure.kinds import Kinds
from tenure.service import Service
from tenure.store.within import within

__all__ = ["Chore", "Janitor"]

log = logging.getLogger("tenure")
_BATCH = 1_000
_FIRE_EVERY = 1.0
_FIRE_SOONEST, _FIRE_LATEST = 0.05, 5.0
"""How long to the next look at schedules: others may add one meanwhile, or hold what is due."""
_MERGE_EVERY = 300.0
"""How often figures are merged and old ones forgotten, in seconds."""
_SAMPLE_EVERY = 20.0
"""How often it is seen to that this minute has a sample, in seconds: so that none is left out."""
_AGAIN = 5.0
"""How soon a chore that failed is tried again, at the latest."""
_BEGINNING = 2 / 3
"""The share of a tick's time in which a piece may be begun: so that the last one has time enough to be answered."""
_CALM = 12.0
"""How long after an outage nothing is taken back, in seconds: a call that fails may have been trying for a while."""


class Chore(Struct):
    """One chore: `work` does a bounded piece and tells how much it moved; a full piece is followed by another."""

    name: str
    every: float
    work: Callable[[], int]
    full: int = _BATCH
    due: float = 0.0
    moved: int = 0
    seconds: float = 0.0
    """What this turn has moved so far, and the time that took."""
    turns: int = 0
    """How many turns it has had to their end."""


class Janitor(Service):
    """Does the chores of one worker, or of `tenure janitor`."""

    def __init__(
        self,
        queue: Queue,
        settings: JanitorSettings,
        *,
        listeners: Listeners,
        worker: str,
        kinds: Kinds,
        crons: Sequence[CodeSchedule] = (),
        only_declared: bool = False,
        fires_all: bool = False,
    ) -> None:
        super().__init__("janitor")
        self._queue, self._settings, self._listeners, self._worker = queue, settings, listeners, worker
        # Who has no code of its own fires for everybody; otherwise a schedule is left to those who know its kind.
        self._kinds, self._crons = None if fires_all else sorted(kinds), list(crons)
        self._calm_until, self._fruitless, self._leap = 0.0, _FIRE_SOONEST, Leap()
        self._goes_round = False
        look = settings.look_every.total_seconds()
        self.chores = [
            # Before those that find jobs dead.
            Chore("hook", 3_600.0, lambda: store_hooks(queue, kinds)),
            Chore("promote", look, self._promote),
            Chore("expire", look, lambda: queue.expire(_BATCH)),
            Chore("reclaim", look, self._reclaim),
            Chore("schedule", math.inf, self._store_schedules),
            Chore("fire", _FIRE_EVERY, self._fire, full=100),
            Chore("figures", _MERGE_EVERY, lambda: queue.tidy_figures(keep=settings.figures), full=1),
            Chore("sample", _SAMPLE_EVERY, self._sample),
        ]
        if settings.retain_every > timedelta(0):
            every, own = settings.retain_every.total_seconds(), settings.by_queue
            self.chores.append(Chore("retain", every, self._retain(settings.kept, None, list(own) or None)))
            self.chores += [
                Chore("retain", every, self._retain(kept, name, None)) for name, kept in own.items()
            ]
        if only_declared:
            # What the code names is stored by every worker, also by one that leaves the chores to others.
            self.chores = [chore for chore in self.chores if chore.name in ("hook", "schedule")]

    def tick(self) -> float:
        """A piece of the chore that has been due longest, and so on, until none is or time is up; how long until one is."""
        limit = self._settings.limit.total_seconds()
        with within(limit or None):
            self._work_until(time.monotonic() + limit * _BEGINNING)
        return max(min(chore.due for chore in self.chores) - time.monotonic(), 0.01)

    def _work_until(self, over: float) -> None:
        while not self.stopping:
            chore = min(self.chores, key=lambda c: c.due)
            if chore.due > time.monotonic():
                break
            self._piece(chore)
            if time.monotonic() >= over:
                self._put_off()
                break

    def once(self, *, goes_round: bool = False) -> None:
        """Every chore, now and to its end. `goes_round`: all groups are looked at, for who will not be there to go on with the rest."""
        self._goes_round = goes_round
        for chore in self.chores:
            chore.due, chore.turns = 0.0, 0
        while not (self.stopping or all(chore.turns for chore in self.chores)):
            self.tick()

    def _piece(self, chore: Chore) -> None:
        began, rest = time.monotonic(), chore.every
        try:
            moved = chore.work()
            chore.moved += moved
            # Where there is more to do it is due again at once, and stands behind those that were due before.
            rest = 0.0 if moved >= chore.full else chore.every
        except Exception as error:
            log.warning("%s failed: %s", chore.name, error, exc_info=log.isEnabledFor(logging.DEBUG))
            self._listeners.tell(ChoreFailed(self._worker, chore.name, str(error)))
            if isinstance(error, StoreUnavailable):
                self._calm_until = time.monotonic() + _CALM
            rest = min(chore.every, _AGAIN)
        now = time.monotonic()
        chore.seconds, chore.due = chore.seconds + now - began, now + rest
        if rest:
            chore.turns += 1
            self._tell(chore)

    def _put_off(self) -> None:
        """Time is up: what is left waits for the next tick."""
        for chore in self.chores:
            if chore.moved:
                log.warning("%s: %d moved in %g s; the rest waits for the next tick", chore.name, chore.moved, chore.seconds)  # fmt: skip
                self._tell(chore)

    def _tell(self, chore: Chore) -> None:
        moved, seconds, chore.moved, chore.seconds = chore.moved, chore.seconds, 0, 0.0
        if moved:
            log.debug("%s: %d moved", chore.name, moved)
            self._listeners.tell(ChoreDone(self._worker, chore.name, moved, seconds))

    def _promote(self) -> int:
        moved = self._queue.promote(_BATCH)
        chore = next(c for c in self.chores if c.name == "promote")
        chore.full = 0 if self._goes_round and is_sweeping(self._queue) else _BATCH
        return moved

    def _reclaim(self) -> int:
        """Not just after an outage or a leap of the clock: workers that live are about to renew what they hold."""
        if self._leap.note():
            self._calm_until = time.monotonic() + _CALM
        return 0 if time.monotonic() < self._calm_until else self._queue.reclaim(limit=_BATCH)

    def _sample(self) -> int:
        """How the queues stand is put down, unless another has in this minute; that moves nothing."""
        self._queue.sample()
        return 0

    def _store_schedules(self) -> int:
        """What the code names is put into the store when it starts, and not again: another version of the code may have put
        its own there since, and what somebody removed stays away meanwhile."""
        return sum(schedule.store(self._queue) for schedule in self._crons)

    def _fire(self) -> int:
        fired = self._queue.fire(self._kinds, 100)
        for one in fired:
            self._listeners.tell(Fired(self._worker, one.name, one.fire_at, one.id))
        chore = next(c for c in self.chores if c.name == "fire")
        chore.every = self._until_next_fire(fired=bool(fired))
        return len(fired)

    def _until_next_fire(self, *, fired: bool) -> float:
        """Seconds to the next look, by the store's clock; what is due and in somebody's hands is looked at ever less often."""
        wait = self._queue.next_fire(self._kinds)
        if wait == 0.0 and not fired:
            self._fruitless = min(self._fruitless * 2, _FIRE_EVERY)
            return self._fruitless
        self._fruitless = _FIRE_SOONEST
        return _FIRE_LATEST if wait is None else min(max(wait, _FIRE_SOONEST), _FIRE_LATEST)

    def _retain(self, kept: Kept, queue: str | None, but: list[str] | None) -> Callable[[], int]:
        return lambda: self._queue.retain(
            done=kept.done,
            cancelled=kept.cancelled,
            dead=kept.dead,
            queue=queue,
            except_queues=but,
            limit=_BATCH,
        )
