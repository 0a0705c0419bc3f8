"""sample, samples: how the queues stand, put down once a minute, so that nobody has to have looked to see how it went.

Whoever keeps the house puts it down; the first of a minute does, the others see that it was done. One row is for all queues
together, one for each of the deepest: a thousand queues are no more rows than fifty. What is neither ready nor running has no
row. They are forgotten with the minutes of the figures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from tenure.clock import from_micros
from tenure.figures import Sample
from tenure.store.pack import pack
from tenure.store.plan import Plan, Statement
from tenure.store.pulse import Pulse, pulse
from tenure.store.views import WorkerSeen, workers

__all__ = ["busy_of", "sample", "samples"]

_MINUTE: Final = 60_000_000
_MICROSECOND: Final = timedelta(microseconds=1)
_QUEUES: Final = 50
"""How many queues are put down apart."""
_CAP: Final = 100_000
"""How far ready jobs are counted."""


def sample(*, now: int | None) -> Plan[int]:
    """Put down how the queues stand, unless somebody has in this minute; how many rows."""
    answer = yield Statement("sampled", {"now": now}, alone=True, reads=True)
    if answer.rows[0][0]:
        return 0
    seen = yield from pulse(_CAP, 0, now=now)
    rows = _rows(seen, (yield from workers(now=now)))
    answer = yield Statement("add_samples", {"rows": pack(rows), "now": now}, alone=True)
    return answer.changed


def _rows(seen: Pulse, living: Sequence[WorkerSeen]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "queue": name, "ready": states["ready"], "running": states["running"],
            "oldest": seen.oldest_ready[name] // _MICROSECOND if states["ready"] else None, "busy": 0, "slots": 0,
        }
        for name, states in seen.counts.items()
        if states["ready"] or states["running"]
    ]  # fmt: skip
    held = [busy_of(worker.about) for worker in living]
    whole = {
        "queue": "",
        "ready": sum(row["ready"] for row in rows),
        "running": sum(row["running"] for row in rows),
        "oldest": max((row["oldest"] for row in rows if row["oldest"] is not None), default=None),
        "busy": sum(busy for busy, _ in held),
        "slots": sum(slots for _, slots in held),
    }
    deepest = sorted(rows, key=lambda row: (-row["ready"], -row["running"]))[:_QUEUES]
    # In one order, so that two who put it down at once do not each wait for the other.
    return [whole, *sorted(deepest, key=lambda row: row["queue"])]


def busy_of(about: str | None) -> tuple[int, int]:
    """How many jobs a worker says it runs, and in how many slots: the sum of its lines, `mail:10` and the like."""
    try:
        said = json.loads(about or "{}")
    except ValueError:
        return 0, 0
    if not isinstance(said, dict):
        return 0, 0
    running, lines = said.get("running"), said.get("lines")
    ends = (
        [line.rpartition(":")[2] for line in lines if isinstance(line, str)]
        if isinstance(lines, list)
        else []
    )
    return running if type(running) is int else 0, sum(int(end) for end in ends if end.isdecimal())


def samples(since: int, until: int, step: int) -> Plan[list[Sample]]:
    """How the queues stood by step, from the step that `since` is in; times and step in microseconds."""
    params = {
        "since": since // step * step // _MINUTE,
        "until": -(-until // _MINUTE),
        "step": step // _MINUTE,
    }
    answer = yield Statement("samples", params, alone=True, reads=True)
    return [
        Sample(
            at=from_micros(minute * _MINUTE), queue=queue, ready=ready, running=running,
            oldest_ready=None if oldest is None else timedelta(microseconds=oldest), busy=busy, slots=slots,
        )
        for minute, queue, ready, running, oldest, busy, slots in sorted(answer.rows, key=lambda row: row[:2])
    ]  # fmt: skip
