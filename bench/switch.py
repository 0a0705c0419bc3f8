"""Two ways of one drain, switched every moment: for differences that are smaller than what two drains alike differ by.

One drain differs from the next by a tenth. So a worker's drain is cut into windows of a fixed length, every other pair of them the other
way round (off, on, on, off, …), and each pair gives a ratio of its own. The first moment, and what is left when the jobs are used
up, count for nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

import tenure
from bench.measure import Cell, say
from bench.worker import fill
from tenure.worker.start import make_worker, worker_settings
from tenure.worker.worker import Worker

__all__ = ["Sized", "switched"]

_FIRST = 0.3
"""Seconds until a worker is at its pace."""
_PART = 50_000
"""Jobs that are enqueued at a time."""


class Sized(NamedTuple):
    """How many drains of how many jobs, and how long a window is, in seconds."""

    drains: int
    jobs: int
    window: float


class _Windows:
    """Notes how fast jobs end, and switches when a window is over."""

    def __init__(self, sized: Sized, switch: Callable[[bool], None], *, on: bool) -> None:
        self._sized, self._switch, self._on = sized, switch, on
        self._settled = self._since = 0
        self._until = self._began = self._spent = 0.0
        self.found: list[tuple[bool, float, float]] = []
        """On or off, jobs a second, and microseconds of this process's CPU a job."""
        self.worker: Worker

    def settled(self, event: tenure.events.Settled) -> None:
        """So many more have ended."""
        now = time.perf_counter()
        self._settled += event.stood
        if not self._until:
            self._until = now + _FIRST
        elif now >= self._until:
            self._turn(now)
        if self._settled >= self._sized.jobs:
            self.worker.stop()

    def _turn(self, now: float) -> None:
        spent, jobs = time.process_time(), self._settled - self._since
        if self._began:
            self.found.append((self._on, jobs / (now - self._began), (spent - self._spent) / jobs * 1e6))
        if len(self.found) % 2:
            self._on = not self._on
        if len(self.found) % 2 or not self._began:
            self._switch(self._on)
        self._began, self._spent, self._since = now, spent, self._settled
        self._until = now + self._sized.window


def switched(
    app: tenure.App, sized: Sized, switch: Callable[[bool], None], *, on: str, off: str
) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """Jobs a second, and CPU of the worker's process a job, on and off, pair by pair. It ends switched off."""
    rates, costs = ({name: Cell(name) for name in (on, off)} for _ in range(2))
    for number in range(sized.drains):
        for _ in range(sized.jobs // _PART):
            fill(app, _PART)
        windows = _Windows(sized, switch, on=bool(number % 2))
        app.listeners = tenure.events.Listeners()
        app.listeners.add(windows.settled, tenure.events.Settled)
        windows.worker = make_worker(app, worker_settings(janitor=False))
        asyncio.run(windows.worker.run())
        switch(False)
        whole = len(windows.found) // 2 * 2
        for is_on, rate, cost in windows.found[:whole]:
            rates[on if is_on else off].values.append(rate)
            costs[on if is_on else off].values.append(cost)
        told = ", ".join(f"{name} {cell.median:,.0f}" for name, cell in rates.items())
        say(f"    drain {number + 1}/{sized.drains}, {len(rates[on].values)} pairs so far: {told}")
    return rates, costs
