"""Lanes: where a claim looks.

A lane is one line of ready jobs: all that share queue, kind and priority, under one text that sorts as they do. A claimer
remembers the lanes it has met, and probes the gaps between them for new ones, so that jobs of kinds it does not know cost
it one step, however many they are.

On PostgreSQL finished entries stay in the index until they are vacuumed. There a claimer also remembers, per lane, how
far it has claimed (the mark), and reads from there. What became ready behind the mark (released, retried, committed
late) is found by a look from the start: whenever the fast look comes back short, and at least once a second. Where an old
transaction keeps vacuum away, such a look reads all that was done since; then it is made as seldom as its own length asks for.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

from tenure.job import CLAIM_COLUMNS
from tenure.newjob import SEPARATOR, lane_of
from tenure.store.pack import pack

__all__ = ["LaneMemory", "Marks", "Scope", "queue_of"]

log = logging.getLogger("tenure")
_LOOK_EVERY, _LOOK_SELDOM = 1.0, 4.0
"""How soon to look from the start again, at the latest: while that is quick, and however long it takes. What was overdue is taken back
by then, too: a bare loop of claims has five seconds for it."""
_REST = 60
"""How many times as long as a look from the start took there is none, unless one comes back short."""
_TELL_EVERY = 30.0
_MAX_SCOPES = 64
_MAX_LANES = 5_000
_AFTER = chr(ord(SEPARATOR) + 1)
_END = "\U0010ffff"
_START = (-(2**63), 0)
_REACHED = itemgetter(*map(CLAIM_COLUMNS.index, ("run_at", "seq")))


class Marks(dict[str, tuple[int, int]]):
    """How far somebody has claimed in each lane; none: nothing."""

    whole = False
    """Whether the last look has taken all that there was from here on."""

    def row(self, lane: str, quota: int) -> dict[str, Any]:
        """A lane as a statement takes it, from its mark on."""
        run_at, seq = self.get(lane, _START)
        return {"lane": lane, "queue": queue_of(lane), "run_at": run_at, "seq": seq, "quota": quota}

    def advance(self, rows: Sequence[Sequence[Any]]) -> None:
        """Remember how far these claimed rows reach in their lanes."""
        far: dict[tuple[str, str, int], tuple[int, int]] = {}
        for row in rows:
            key = (row[4], row[3], row[5])
            mark = (row[10], row[1])
            if mark > far.get(key, _START):
                far[key] = mark
        for key, mark in far.items():
            lane = lane_of(*key)
            self[lane] = max(mark, self.get(lane, _START))

    def advance_in(self, lane: str, rows: Sequence[Sequence[Any]]) -> None:
        """The same, where all rows are of one lane."""
        self[lane] = max(self.get(lane, _START), max(map(_REACHED, rows), default=_START))


class Scope:
    """What one kind of claim (these queues or all but those, these kinds) knows of its lanes."""

    def __init__(
        self,
        queues: tuple[str, ...] | None,
        kinds: tuple[str, ...] | None,
        except_queues: tuple[str, ...] = (),
    ) -> None:
        self._kinds = None if kinds is None else frozenset(kinds)
        if queues is None:
            self._ranges = _around(except_queues)
        elif kinds is None:
            self._ranges = [(q + SEPARATOR, q + _AFTER) for q in queues]
        else:
            self._ranges = [
                (f"{q}{SEPARATOR}{k}{SEPARATOR}", f"{q}{SEPARATOR}{k}{_AFTER}") for q in queues for k in kinds
            ]
        self.marks = Marks()
        self._lanes: tuple[str, ...] = ()
        self._mine: list[str] = []
        self._gaps = self._pack_gaps()
        self._stale = float("-inf")
        self._changing = threading.Lock()

    @property
    def fresh(self) -> bool:
        """Whether the marks may be read from."""
        return time.monotonic() < self._stale

    def begin(self) -> Marks:
        """Marks for a look from the start; a memory grown too large is forgotten altogether."""
        # Who comes meanwhile need not look from the start, too.
        self._stale = time.monotonic() + _LOOK_EVERY
        with self._changing:
            if len(self._lanes) > _MAX_LANES:
                self.marks, self._lanes, self._mine = Marks(), (), []
                self._gaps = self._pack_gaps()
        return Marks()

    def end(self, reached: Marks, *, took: float) -> None:
        """A look from the start has come this far, in so many seconds; if it took all, the marks stand: nothing is behind them."""
        if reached.whole:
            reached.update(
                (lane, max(mark, reached.get(lane, _START))) for lane, mark in self.marks.copy().items()
            )
        self.marks = reached
        self._stale = time.monotonic() + min(max(took * _REST, _LOOK_EVERY), _LOOK_SELDOM)

    def add(self, lanes: Iterable[str]) -> None:
        """Lanes met for the first time; those of foreign kinds are remembered too, to be stepped over."""
        with self._changing:
            self._lanes = tuple(dict.fromkeys([*lanes, *self._lanes]))
            # First what may be taken from, then what is stepped over: whoever reads between the two misses nothing.
            self._mine = [
                x for x in self._lanes if self._kinds is None or x.split(SEPARATOR)[1] in self._kinds
            ]
            self._gaps = self._pack_gaps()

    @property
    def mine(self) -> list[str]:
        """The lanes this claim may take from."""
        return self._mine

    @property
    def gaps(self) -> str:
        """The ranges between the known lanes, where a new one could be, as a statement takes them."""
        return self._gaps

    def _pack_gaps(self) -> str:
        known = sorted(self._lanes)
        gaps = []
        for start, end in self._ranges:
            edges = [start, *(lane for lane in known if start < lane < end), end]
            gaps += [{"low": low, "high": high} for low, high in pairwise(edges)]
        return pack(gaps)


def _around(queues: Iterable[str]) -> list[tuple[str, str]]:
    """The ranges that hold every lane but those of these queues: an excluded queue is one step, whatever is in it."""
    edges = [""]
    for queue in sorted(set(queues), key=lambda q: q + SEPARATOR):
        edges += [queue + SEPARATOR, queue + _AFTER]
    edges.append(_END)
    return list(zip(edges[::2], edges[1::2], strict=True))


def queue_of(lane: str) -> str:
    """The queue a lane belongs to."""
    return lane.partition(SEPARATOR)[0]


class LaneMemory:
    """What one process remembers of the lanes, per kind of claim, and of its sweeps."""

    def __init__(self) -> None:
        self._scopes: dict[tuple[Any, Any, Any], Scope] = {}
        self.swept = 0
        self.swept_all = float("-inf")
        self.swept_groups = ""
        """The last group that a sweep has looked at; empty: it begins anew."""
        self._told = float("-inf")

    def tell_of(self, failed: Exception) -> None:
        """The chores behind a claim that took something have failed; as they will at each, that is said now and then."""
        if time.monotonic() - self._told > _TELL_EVERY:
            self._told = time.monotonic()
            log.warning(
                "a claim could not look for more than it took, since its chores failed: %s: %s",
                type(failed).__name__,
                failed,
            )

    def scope(
        self,
        queues: tuple[str, ...] | None,
        kinds: tuple[str, ...] | None,
        except_queues: tuple[str, ...] = (),
    ) -> Scope:
        """The memory of claims with this filter."""
        key = (queues, kinds, except_queues)
        found = self._scopes.get(key)
        if found is None:
            if len(self._scopes) >= _MAX_SCOPES:
                self._scopes.pop(next(iter(list(self._scopes))), None)  # another thread may do the same
            found = self._scopes[key] = Scope(queues, kinds, except_queues)
        return found
