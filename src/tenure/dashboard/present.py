"""How things stand now: one picture of the store, taken at most four times a second however many pages are open."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tenure.dashboard.desk import CAP, Desk
from tenure.store.pulse import Pulse
from tenure.store.samples import busy_of
from tenure.store.views import WorkerSeen

__all__ = ["FRESH", "about", "picture"]

FRESH: Final = 0.25
"""For so many seconds a picture is shown to whoever asks."""
_SLOWER: Final = 1.0
"""The same, for what costs more to ask, or changes less."""
_SUMMED: Final = ("ready", "running", "scheduled", "waiting")


async def picture(desk: Desk) -> dict[str, Any]:
    """{"now": the figures, "queues": by queue, and what the words about it are made of}."""
    made: dict[str, Any] = await desk.kept("now", FRESH, lambda: _picture(desk))
    return made


async def _picture(desk: Desk) -> dict[str, Any]:
    queue = await desk.queue()
    pulse, slow = await asyncio.gather(queue.pulse(cap=CAP), desk.kept("slow", _SLOWER, lambda: _slow(desk)))
    counts = pulse.counts
    totals = {state: sum(states[state] for states in counts.values()) for state in _SUMMED}
    oldest = [span.total_seconds() for name, span in pulse.oldest_ready.items() if counts[name]["ready"]]
    workers, figures = slow["workers"], slow["rates"]
    told = [about(worker) for worker in workers]
    return {
        "now": {
            **totals,
            "dead": sum(pulse.dead.values()),
            "more": pulse.capped,
            "capped": sorted(pulse.more),
            "oldest_ready": _rounded(max(oldest)) if oldest else None,
            "rate": figures["rate"],
            "error_rate": figures["error_rate"],
            "busy": sum(one["running"] for one in told),
            "slots": sum(one["slots"] for one in told),
            "workers": len(workers),
        },
        "queues": [
            _queue(name, pulse, figures["queues"]) for name in _queues(pulse, figures["queues"], workers)
        ],
        "dead": pulse.dead,
        "workers": workers,
        "untaken": _untaken(pulse, pulse.ready, workers),
        "untaken_later": _untaken(pulse, pulse.later, workers),
        "overdue_leases": pulse.overdue_leases,
        "overdue_scheduled": pulse.overdue_scheduled,
    }


def _queues(pulse: Pulse, rates: Mapping[str, float], workers: Sequence[WorkerSeen]) -> list[str]:
    """Those that have jobs or dead ones, were paused once, have had some done lately, or are asked for by name: also while nothing waits there."""
    named = {name for worker in workers for name in worker.queues or ()}
    return sorted({*pulse.counts, *pulse.dead, *rates, *named})


def _queue(name: str, pulse: Pulse, rates: Mapping[str, float]) -> dict[str, Any]:
    """How one queue stands; one that has dead jobs alone is told too."""
    states = pulse.counts.get(name) or dict.fromkeys(_SUMMED, 0)
    return {
        "name": name,
        **{state: states[state] for state in _SUMMED},
        "dead": pulse.dead.get(name, 0),
        "capped": pulse.more_in(name),
        "oldest_ready": _rounded(pulse.oldest_ready[name].total_seconds()) if states["ready"] else None,
        "rate": rates.get(name, 0.0),
        "paused": name in pulse.paused,
    }


def _untaken(
    pulse: Pulse, counted: Mapping[tuple[str, str], int], workers: Sequence[WorkerSeen]
) -> dict[str, int]:
    """By kind: how many of these jobs none of the workers takes; what is in a paused queue is to wait."""
    found = Counter[str]()
    for (queue, kind), count in counted.items():
        if queue not in pulse.paused and not any(worker.knows(queue, kind) for worker in workers):
            found[kind] += count
    return dict(found)


async def _slow(desk: Desk) -> dict[str, Any]:
    """Workers, and rates."""
    queue = await desk.queue()
    workers, figures = await asyncio.gather(queue.workers(), desk.figures.rates(queue))
    return {"workers": workers, "rates": figures}


def about(worker: WorkerSeen) -> dict[str, Any]:
    """What a worker says of itself; one that says nothing has no slots that are known."""
    try:
        said = json.loads(worker.about or "{}")
    except ValueError:
        said = {}
    if not isinstance(said, Mapping):
        said = {}
    lines = [line for line in said.get("lines", ()) if isinstance(line, str)]
    running, slots = busy_of(worker.about)
    return {**said, "lines": lines, "slots": slots, "running": running}


def _rounded(seconds: float) -> float:
    """What grows all the time is told in steps, so that not every look is a change."""
    return round(seconds, 1) if seconds < 10 else float(round(seconds))
