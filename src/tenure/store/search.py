"""Walking through the jobs that a filter means, a stretch at a time.

A filter may match little in a long history, and no index knows which. So nobody asks for "the next hundred that match", which
may look at every row before it answers: first the store is asked where so many jobs further is (`floor`, `ceiling`), by the
primary key alone, then what matches on the way there. No statement looks at more than `STRETCH` jobs of a table; a call that
is told how many to look at (`look`) stops there and says where it stopped. Who asks for the jobs of a flow or of a parent, for dead
jobs alone, or for jobs that have not ended, is taken from one to the next: these have indexes, and may be few and far between.
Where many have not ended, they are walked like any others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from tenure.filters import Filter, expand_states
from tenure.job import PENDING, JobId, JobSeen, State
from tenure.store.plan import Plan, Statement

__all__ = ["NEWEST", "OLDEST", "STRETCH", "Counted", "Found", "Page", "count", "list_jobs", "walk"]

STRETCH: Final = 10_000
_ROUGH: Final = 500
"""How many rows at a time where the payload decides: the store does not know how many of them will do."""
_READ: Final = 1_000
"""How many payloads are read on one stretch where somebody said how far to look: reading one costs ten times as much as passing over a job."""
_FEW: Final = 1_000
"""How many jobs that have not ended are leapt over one by one: reading their ids costs as much as a page does."""
_NEAR: Final = 500
"""How far beside a job of a flow or of a parent others of it are looked for, before the index is asked again."""
_LAST: Final = 2**128 - 1
_INDEXED: Final = frozenset(s.value for s in (*PENDING, State.RUNNING))


class Page(list[JobSeen]):
    """Jobs that match, newest first. `before` is where the next page begins; None: there is no more."""

    __slots__ = ("before",)

    def __init__(self, jobs: Iterable[JobSeen] = (), before: JobId | None = None) -> None:
        super().__init__(jobs)
        self.before = before


class Counted(NamedTuple):
    """How many jobs match, by state. `more`: at least so many, for it was not looked any further."""

    states: dict[str, int]
    more: bool

    @property
    def total(self) -> int:
        """In all states together."""
        return sum(self.states.values())


class Found(NamedTuple):
    """Rows that match, and where to go on (None: nothing is left)."""

    rows: list[tuple[Any, ...]]
    at: JobId | None


class _Way(NamedTuple):
    """A direction: its statements, the names of their bounds, where in a row the payload is, and what is kept of the row."""

    statement: str
    edge: str
    dead: str
    kin: str
    start: str
    end: str
    back: int
    """From an id to where one begins, so that the id itself is met."""
    payload: int
    kept: int | None


NEWEST: Final = _Way("list", "floor", "dead_before", "kin_before", "before", "low", 1, 6, None)
OLDEST: Final = _Way("find", "ceiling", "dead_after", "kin_after", "after", "high", -1, 2, 2)


def list_jobs(
    which: Filter, *, limit: int, before: JobId | None, look: int | None, now: int | None
) -> Plan[Page]:
    """Jobs that match, newest first."""
    rows, at = yield from walk(NEWEST, which, limit=limit, start=before, look=look, now=now)
    return Page(map(JobSeen.of, rows), at)


def count(
    which: Filter, *, cap: int, look: int | None, now: int | None, start: JobId | None = None
) -> Plan[Counted]:
    """How many match, behind `start`, up to `cap`."""
    rows, at = yield from walk(OLDEST, which, limit=cap, start=start, look=look, now=now)
    return Counted(dict(Counter(row[1] for row in rows)), at is not None)


def walk(
    way: _Way,
    which: Filter,
    *,
    limit: int,
    start: JobId | None,
    now: int | None,
    look: int | None = None,
    alone: bool = True,
) -> Plan[Found]:
    """Up to `limit` rows that match, looking at about `look` jobs at most, or at as many as it takes."""
    params: dict[str, Any] = {**which.parameters(), "now": now}
    ids, fits = which.chosen(), which.fitting()
    if ids is not None and not ids:
        return Found([], None)
    at, end = _range(way, ids, start)
    leap = None if ids is not None else (yield from _leaping(which, alone=alone))
    narrows = any(value is not None for name, value in params.items() if name != "now")
    rows: list[tuple[Any, ...]] = []
    reach = STRETCH if leap is None else leap.reach
    stretches = None if look is None else -(-look // reach)
    while True:
        edge: JobId | None = None
        if leap is not None:
            there = yield from leap.next(way, at, end, alone=alone)
            if there is None:
                return Found(rows, None)
            at = _beside(there, way.back) or at
        if narrows:
            bounds = {way.start: at, way.end: end, "reach": reach - 1}
            answer = yield Statement(way.edge, bounds, alone=alone, reads=True)
            edge = answer.rows[0][0]
        asked = {**params, way.end: end if edge is None else edge}
        found = yield from _stretch(
            way, asked, fits, limit - len(rows), at, read=None if look is None else _READ, alone=alone
        )
        rows += found.rows
        if found.at is not None or edge is None:
            return Found(rows, found.at)
        at = edge
        if stretches is not None:
            stretches -= 1
            if stretches <= 0:
                return Found(rows, at)


class _Leap(NamedTuple):
    """From one job that may match to the next: among these ids, of this flow or parent, or else among all dead jobs."""

    reach: int
    """How many jobs from there on are looked at before the next leap."""
    among: list[JobId] | None = None
    kin: Mapping[str, Any] | None = None

    def next(self, way: _Way, at: JobId | None, end: JobId | None, *, alone: bool) -> Plan[JobId | None]:
        """The first one on the way from `at`; None: there is none left."""
        if self.among is None:
            name, more = (way.dead, {}) if self.kin is None else (way.kin, self.kin)
            answer = yield Statement(name, {way.start: at, way.end: end, **more}, alone=alone, reads=True)
            found: JobId | None = answer.rows[0][0]
            return found
        if way is NEWEST:
            place = (len(self.among) if at is None else bisect_left(self.among, at)) - 1
        else:
            place = 0 if at is None else bisect_right(self.among, at)
        return self.among[place] if 0 <= place < len(self.among) else None


def _leaping(which: Filter, *, alone: bool) -> Plan[_Leap | None]:
    """How to leap over jobs that cannot match; None: no index knows them."""
    params = which.parameters()
    if params["flow"] is not None or params["parent"] is not None:
        # A parent's jobs are fewer than a flow's.
        flow = params["flow"] if params["parent"] is None else None
        return _Leap(min(_NEAR, STRETCH), kin={"flow": flow, "parent": params["parent"]})
    states = expand_states(which.states)
    if states == [State.DEAD]:
        return _Leap(STRETCH)
    if not states or not _INDEXED.issuperset(states):
        return None
    # In one statement: a job that changes its state meanwhile must not slip through between two.
    few = STRETCH if states == [State.RUNNING] else min(_FEW, STRETCH)
    asked = {"limit": few, **{state: state in states for state in sorted(_INDEXED)}}
    answer = yield Statement("unfinished_ids", asked, alone=alone, reads=True)
    return _Leap(STRETCH, sorted(row[0] for row in answer.rows)) if len(answer.rows) < few else None


def _stretch(
    way: _Way,
    params: Mapping[str, Any],
    fits: Callable[[str], bool] | None,
    wanted: int,
    at: JobId | None,
    *,
    read: int | None,
    alone: bool,
) -> Plan[Found]:
    """What matches on one stretch: all of it, or as much as is wanted or may be read, and where that ends."""
    rows: list[tuple[Any, ...]] = []
    while True:
        most = wanted if fits is None else _ROUGH
        answer = yield Statement(
            way.statement, {**params, way.start: at, "limit": most}, alone=alone, reads=True
        )
        for row in answer.rows:
            at = row[0]
            if fits is None or fits(row[way.payload]):
                rows.append(row[: way.kept])
                if len(rows) == wanted:
                    return Found(rows, at)
        if len(answer.rows) < most:
            return Found(rows, None)
        if read is not None:
            read -= most
            if read <= 0:
                return Found(rows, at)


def _range(way: _Way, ids: Sequence[JobId] | None, start: JobId | None) -> tuple[JobId | None, JobId | None]:
    """Where to begin (not counting it) and to end (counting it): no further than the ids that are asked for."""
    if ids is None:
        return start, None
    first, last = min(ids), max(ids)
    if way is NEWEST:
        above = _beside(last, 1)
        return (above if start is None or (above is not None and above < start) else start), first
    below = _beside(first, -1)
    return (below if start is None or (below is not None and below > start) else start), last


def _beside(job_id: JobId, by: int) -> JobId | None:
    number = UUID(job_id).int + by
    return JobId(str(UUID(int=number))) if 0 <= number <= _LAST else None
