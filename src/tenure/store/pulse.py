"""pulse: how the queues stand, for whoever asks every few seconds.

Only what has not ended is counted, each count by an index and up to a cap, so that a look costs the same with a million
jobs as with a hundred thousand. What has ended has no such index: who ran it counts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tenure.clock import from_micros
from tenure.job import State
from tenure.newjob import SEPARATOR
from tenure.store.plan import Plan, Statement

__all__ = ["Pulse", "pulse"]

_STATES: Final = tuple(s.value for s in (State.READY, State.SCHEDULED, State.WAITING, State.RUNNING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """How the queues stood at one moment, by the store's clock."""

    at: datetime
    counts: Mapping[str, Mapping[str, int]]
    """By queue and state, zeros too; of what has not ended."""
    oldest_ready: Mapping[str, timedelta]
    """By queue: for how long its oldest ready job has been due; zero where nothing is ready."""
    paused: frozenset[str]
    overdue_leases: int
    overdue_scheduled: int
    """Scheduled jobs that should have been made ready long since."""
    capped: bool
    """Whether a count met its cap: there may be more."""


def pulse(cap: int, margin: int, *, now: int | None) -> Plan[Pulse]:
    """How the queues stand; overdue is what should have been seen to `margin` microseconds ago."""
    answer = yield Statement("pulse", {"cap": cap, "margin": margin, "now": now}, alone=True, reads=True)
    counts: dict[str, dict[str, int]] = {}
    oldest: dict[str, int] = {}
    told: dict[str, int] = {}
    paused, capped = set(), False
    for what, name, value in answer.rows:
        if not name:
            told[what] = value
            capped = capped or (what != "now" and value >= cap)
            continue
        queue = name.partition(SEPARATOR)[0]
        states = counts.setdefault(queue, dict.fromkeys(_STATES, 0))
        if what == "oldest":
            if value is not None:
                oldest[queue] = min(value, oldest.get(queue, value))
        elif what == "paused":
            if value:
                paused.add(queue)
        else:
            states[what] += value
            capped = capped or value >= cap
    moment = told["now"]
    return Pulse(
        at=from_micros(moment),
        counts={queue: counts[queue] for queue in sorted(counts)},
        oldest_ready={
            q: timedelta(microseconds=max(moment - oldest.get(q, moment), 0)) for q in sorted(counts)
        },
        paused=frozenset(paused),
        overdue_leases=told["overdue_leases"],
        overdue_scheduled=told["overdue_scheduled"],
        capped=capped,
    )
