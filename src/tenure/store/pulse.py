"""pulse: how the queues stand, for whoever asks every few seconds.

What has not ended, and what is dead, is counted by its index and up to a cap, so that a look costs the same with a million
jobs as with a hundred thousand. What is done or cancelled has no such index: who ran it counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from tenure.clock import from_micros
from tenure.job import State
from tenure.newjob import SEPARATOR
from tenure.store.plan import Plan, Statement

__all__ = ["Pulse", "pulse"]

_STATES: Final = tuple(s.value for s in (State.READY, State.SCHEDULED, State.WAITING, State.RUNNING))
_LANES: Final = 5
"""How many lanes are counted up to the cap; where there are more, each is counted less far."""
_MET: Final = 1_000
"""How many lanes are looked at, in the order of their names, so by queue."""


class Pulse(Struct, frozen=True, kw_only=True):
    """How the queues stood at one moment, by the store's clock."""

    at: datetime
    counts: Mapping[str, Mapping[str, int]]
    """By queue and state, zeros too; of what has not ended."""
    ready: Mapping[tuple[str, str], int]
    """By queue and kind: how many jobs are ready."""
    later: Mapping[tuple[str, str], int]
    """By queue and kind: how many jobs are scheduled, or wait for their group; as far as they are counted."""
    dead: Mapping[str, int]
    """By queue: how many jobs are dead."""
    oldest_ready: Mapping[str, timedelta]
    """By queue: for how long its oldest ready job has been due; zero where nothing is ready."""
    paused: frozenset[str]
    overdue_leases: int
    overdue_scheduled: int
    """Scheduled jobs that should have been made ready long since."""
    more: frozenset[str]
    """The states whose count met its cap: there may be more, of all but ready ones in any queue."""
    more_ready: frozenset[str]
    """The queues of whose ready jobs there may be more: these are counted by queue."""
    capped: bool
    """Whether any count did."""

    def more_in(self, queue: str) -> list[str]:
        """The states of one queue of which there may be more than was counted."""
        ready = {State.READY.value}
        return sorted(self.more - ready | (ready if queue in self.more_ready else set()))


def pulse(cap: int, margin: int, *, now: int | None) -> Plan[Pulse]:
    """How the queues stand; overdue is what should have been seen to `margin` microseconds ago."""
    params = {"cap": cap, "most": _LANES * cap, "margin": margin, "now": now}
    answer = yield Statement("pulse", params, alone=True, reads=True)
    counts: dict[str, dict[str, int]] = {}
    oldest: dict[str, int] = {}
    told = {what: value for what, name, value in answer.rows if not name}
    dead: dict[str, int] = {}
    paused, full, totals = set(), set(), Counter[str]()
    ready, later = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    lanes: list[str] = []
    for what, name, value in answer.rows:
        if not name:
            continue
        queue = name.partition(SEPARATOR)[0]
        if what == "dead":
            dead[queue] = value
            totals[what] += value
            continue
        states = counts.setdefault(queue, dict.fromkeys(_STATES, 0))
        if what == "oldest":
            if value is not None:
                oldest[queue] = min(value, oldest.get(queue, value))
        elif what == "paused":
            if value:
                paused.add(queue)
        else:
            states[what] += value
            if what != State.READY:
                totals[what] += value
                if what != State.RUNNING:
                    later[queue, name.split(SEPARATOR)[1]] += value
                continue
            ready[queue, name.split(SEPARATOR)[1]] += value
            lanes.append(queue)
            if value >= told["quota"]:
                full.add(queue)
    if len(lanes) >= _MET:  # beyond them there may be others
        full |= {max(lanes), *(queue for queue in counts if queue > max(lanes))}
    more = {state for state, total in totals.items() if total >= cap}
    if full:
        more.add(State.READY.value)
    late = told["overdue_leases"], told["overdue_scheduled"]
    moment = told["now"]
    return Pulse(
        at=from_micros(moment),
        counts={queue: counts[queue] for queue in sorted(counts)},
        ready=dict(sorted(ready.items())),
        later=dict(sorted(later.items())),
        dead={queue: dead[queue] for queue in sorted(dead)},
        oldest_ready={
            q: timedelta(microseconds=max(moment - oldest.get(q, moment), 0)) for q in sorted(counts)
        },
        paused=frozenset(paused),
        overdue_leases=late[0],
        overdue_scheduled=late[1],
        more=frozenset(more),
        more_ready=frozenset(full),
        capped=bool(more) or max(late) >= cap,
    )
