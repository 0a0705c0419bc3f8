"""The run: every piece of work, every contestant, round by round, so that the machine's drift meets all of them alike.

A contestant that fails at something is told of, with why, and the run goes on. What was measured so far is written down
after every piece of work.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from bench.measure import RESULTS, canary, say
from bench.peers.contestants import Contestant
from bench.peers.driver import Driver, Failed
from bench.peers.environments import Missing
from bench.peers.servers import Servers
from bench.peers.works import Figures, Sizes, Work

__all__ = ["Arena", "Cell"]

_BAR = 30


@dataclass
class Cell:
    """One contestant at one piece of work: what each round gave."""

    rounds: list[Figures] = field(default_factory=list)
    canaries: list[float] = field(default_factory=list)
    failed: str = ""

    def median(self, figure: str) -> float | None:
        """The middle of the rounds."""
        values = [r[figure] for r in self.rounds if figure in r]
        return statistics.median(values) if values else None


@dataclass
class Arena:
    """Everything measured in one run."""

    servers: Servers
    sizes: Sizes
    drivers: dict[str, Driver] = field(default_factory=dict)
    paces: dict[str, float] = field(default_factory=dict)
    cells: dict[str, dict[str, Cell]] = field(default_factory=dict)
    """By work, then by contestant."""
    absent: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def admit(self, contestant: Contestant) -> None:
        """Install it, start its server, and find its best settings by short drains."""
        say(f"{contestant.title}: looking for its best settings …")
        try:
            driver = Driver(contestant, self.servers.url(contestant))
            self.versions[contestant.name] = driver.call("version")["version"]
            tried = [(self._trial(driver, settings), settings) for settings in contestant.sweep]
        except (Missing, Failed, OSError, subprocess.SubprocessError) as why:
            self.absent[contestant.name] = str(why)
            say(f"  {contestant.title} takes no part: {why}")
            return
        pace, driver.settings = max(tried, key=lambda trial: trial[0])
        self.drivers[contestant.name], self.paces[contestant.name] = driver, pace
        say(f"  {contestant.title} {self.versions[contestant.name]}: {driver.settings} at {pace:,.0f} jobs/s")

    def _trial(self, driver: Driver, settings: dict[str, Any]) -> float:
        driver.settings = settings
        driver.call("reset")
        stored = driver.load("noop", driver.contestant.sweep_jobs, self.sizes.limit / 2)
        return driver.drain("noop", stored, limit=self.sizes.limit)["rate"]

    def do(self, work: Work) -> None:
        """One piece of work, by everyone who can, round by round."""
        able = [d for d in self.drivers.values() if work.ability in d.contestant.works]
        if work.name == "footprint":
            able = [d for d in able if d.contestant.store == "postgres"]
        rounds = min(self.sizes.rounds, work.rounds or self.sizes.rounds)
        cells = self.cells.setdefault(work.name, {d.contestant.name: Cell() for d in able})
        say(f"{work.title}")
        for at in range(rounds):
            for turn, driver in enumerate(able):
                self._measure(work, driver, cells[driver.contestant.name])
                _bar(at * len(able) + turn + 1, rounds * len(able), driver, cells[driver.contestant.name])
        if able:
            print(file=sys.stderr)

    def _measure(self, work: Work, driver: Driver, cell: Cell) -> None:
        if cell.failed:
            return
        cell.canaries.append(canary())
        try:
            cell.rounds.append(work.do(driver, self.sizes, self.paces[driver.contestant.name]))
        except (Failed, OSError, subprocess.SubprocessError) as why:
            cell.failed = str(why)

    def record(self, began: float) -> dict[str, Any]:
        """All of it, as it is kept."""
        return {
            "title": "Tenure beside other job queues, in one interleaved run",
            "about": {
                "python": platform.python_version(), "machine": platform.machine(), "cores": _cores(),
                "minutes": round((time.monotonic() - began) / 60, 1), "sizes": vars(self.sizes), **self.servers.versions,
            },
            "contestants": {
                name: {
                    "title": d.contestant.title, "version": self.versions[name], "store": d.contestant.store,
                    "settings": d.settings, "note": d.contestant.note, "pace": round(self.paces[name]),
                }
                for name, d in self.drivers.items()
            },
            "absent": self.absent,
            "cells": {
                work: {
                    name: {
                        "failed": cell.failed,
                        "canaries": [round(c, 4) for c in cell.canaries],
                        "rounds": [{k: round(v, 4) for k, v in r.items()} for r in cell.rounds],
                    }
                    for name, cell in cells.items()
                }
                for work, cells in self.cells.items()
            },
        }  # fmt: skip

    def keep(self, name: str, began: float, **more: Any) -> None:
        """Write it down."""
        RESULTS.mkdir(exist_ok=True)
        kept = json.dumps({**self.record(began), **more}, indent=1, ensure_ascii=False)
        (RESULTS / f"{name}.json").write_text(kept + "\n", "utf-8")


def _bar(done: int, of: int, driver: Driver, cell: Cell) -> None:
    told = cell.failed or ", ".join(
        f"{k} {v:,.4g}" for k, v in (cell.rounds[-1] if cell.rounds else {}).items()
    )
    full = _BAR * done // of
    line = f"  [{'█' * full}{'·' * (_BAR - full)}] {done}/{of} {driver.contestant.title}: {told}"
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"\x1b[2K{line}" if sys.stderr.isatty() else line, end=end, file=sys.stderr, flush=True)


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
