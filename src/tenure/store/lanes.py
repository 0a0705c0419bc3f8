"""Lanes: where a claim looks.

A lane is one (queue, kind, rank) that has had ready jobs; `rank` is −priority, so the order of lanes is the order of the
index that claims read. A claimer remembers the lanes it has met, and probes the gaps between them for new ones, so that
jobs of kinds it does not know cost it one step, however many they are.

On PostgreSQL finished entries stay in the index until they are vacuumed. There a claimer also remembers, per lane, how
far it has claimed (the mark), and reads from there. What became ready behind the mark (released, retried, committed
late) is found by a look from the start: whenever the fast look comes back short, and at least once a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

__all__ = ["FULL_LOOK_EVERY", "Lane", "LaneMemory", "Scope"]

FULL_LOOK_EVERY = 1.0
_MAX_SCOPES = 64
_MAX_LANES = 5_000
_FIRST, _LAST = "", "\U0010ffff"
_LOW, _HIGH = -32_768, 32_769


class Lane(NamedTuple):
    """One line of ready jobs."""

    queue: str
    kind: str
    rank: int


class Scope:
    """What one kind of claim (these queues, these kinds) knows of its lanes."""

    def __init__(self, queues: tuple[str, ...] | None, kinds: tuple[str, ...] | None) -> None:
        self.queues, self.kinds = queues, None if kinds is None else frozenset(kinds)
        if queues is None:
            self._ranges = [(Lane(_FIRST, _FIRST, _LOW), Lane(_LAST, _LAST, _HIGH))]
        elif kinds is None:
            self._ranges = [(Lane(q, _FIRST, _LOW), Lane(q, _LAST, _HIGH)) for q in queues]
        else:
            self._ranges = [(Lane(q, k, _LOW), Lane(q, k, _HIGH)) for q in queues for k in kinds]
        self._marks: dict[Lane, tuple[int, int]] = {}
        self._gaps: list[dict[str, Any]] | None = None
        self.looked = -FULL_LOOK_EVERY

    @property
    def fresh(self) -> bool:
        """Whether the marks may be read from."""
        return time.monotonic() - self.looked < FULL_LOOK_EVERY

    def forget_marks(self) -> None:
        """Read from the start again."""
        self.looked = time.monotonic()
        if len(self._marks) > _MAX_LANES:
            self._marks.clear()
            self._gaps = None
        for lane in self._marks:
            self._marks[lane] = (0, 0)

    def add(self, lanes: Iterable[Lane]) -> None:
        """Lanes met for the first time; those of foreign kinds are remembered too, to be stepped over."""
        for lane in lanes:
            self._marks.setdefault(lane, (0, 0))
        self._gaps = None

    def mine(self) -> list[Lane]:
        """The lanes this claim may take from, first the highest priority."""
        kinds = self.kinds
        return sorted(
            (lane for lane in list(self._marks) if kinds is None or lane.kind in kinds), key=lambda lane: lane.rank
        )

    def row(self, lane: Lane, quota: int) -> dict[str, Any]:
        """A lane as a statement takes it, from its mark on."""
        run_at, seq = self._marks.get(lane, (0, 0))
        return {
            "queue": lane.queue, "kind": lane.kind, "rank": lane.rank, "run_at": run_at, "seq": seq, "quota": quota,
        }  # fmt: skip

    def gaps(self) -> list[dict[str, Any]]:
        """The ranges between the known lanes, where a new one could be."""
        gaps = self._gaps
        if gaps is None:
            known = sorted(self._marks)
            gaps = [_gap(lo, hi) for start, end in self._ranges for lo, hi in _between(start, end, known)]
            self._gaps = gaps
        return gaps

    def advance(self, rows: Sequence[Sequence[Any]]) -> None:
        """Remember how far these claimed rows reach in their lanes."""
        for row in rows:
            lane = Lane(row[4], row[3], row[5])
            mark = (row[10], row[1])
            if mark > self._marks.get(lane, (0, 0)):
                self._marks[lane] = mark


class LaneMemory:
    """What one process remembers of the lanes, per kind of claim."""

    def __init__(self) -> None:
        self._scopes: dict[tuple[Any, Any], Scope] = {}
        self.swept = 0
        self.swept_all = float("-inf")

    def scope(self, queues: tuple[str, ...] | None, kinds: tuple[str, ...] | None) -> Scope:
        """The memory of claims with this filter."""
        key = (queues, kinds)
        found = self._scopes.get(key)
        if found is None:
            if len(self._scopes) >= _MAX_SCOPES:
                self._scopes.pop(next(iter(self._scopes)))
            found = self._scopes[key] = Scope(queues, kinds)
        return found


def _between(start: Lane, end: Lane, known: Sequence[Lane]) -> list[tuple[Lane, Lane]]:
    inside = [lane for lane in known if start < lane < end]
    edges = [start, *inside, end]
    return list(zip(edges, edges[1:], strict=False))


def _gap(lo: Lane, hi: Lane) -> dict[str, Any]:
    return {
        "queue_1": lo.queue, "kind_1": lo.kind, "rank_1": lo.rank,
        "queue_2": hi.queue, "kind_2": hi.kind, "rank_2": hi.rank,
    }  # fmt: skip
