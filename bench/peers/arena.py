"""The run: every piece of work, every contestant, round by round, so that the machine's drift meets all of them alike.

Every other round goes the other way round, so that nobody always comes after the same neighbour. A contestant that fails at
something is told of, with why, and the run goes on. What was measured so far is written down after every piece of work.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from bench.measure import RESULTS, canary, disk_canary, say
from bench.peers.contestants import Contestant
from bench.peers.driver import Driver, Failed
from bench.peers.environments import Missing
from bench.peers.servers import Servers
from bench.peers.works import Figures, Sizes, Work

__all__ = ["Arena", "Cell", "write"]

T = TypeVar("T")

_BAR = 30
_ENOUGH = 45.0
"""Minutes after which what is left is measured once, so that a slow machine is done within about an hour, too."""


@dataclass
class Cell:
    """One contestant at one piece of work: what each round gave."""

    rounds: list[Figures] = field(default_factory=list)
    canaries: list[float] = field(default_factory=list)
    disks: list[float] = field(default_factory=list)
    """The same for the disk."""
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
    trials: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By contestant: every setting that was tried, and what it gave."""
    minutes: dict[str, float] = field(default_factory=dict)
    """By work: how long it took."""
    began: float = field(default_factory=time.monotonic)
    absent: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def admit(self, contestant: Contestant) -> None:
        """Install it, start its server, and find its best settings by short drains."""
        say(f"{contestant.title}: looking for its best settings …")
        try:
            driver = Driver(contestant, self.servers)
            self.versions[contestant.name] = driver.call("version")["version"]
            driver.settings, pace = self._best(
                driver, "settings", contestant.sweep[: self.sizes.tried], self._drained, self.sizes.trials
            )
            if "bulk" in contestant.works:
                driver.chunk, _ = self._best(
                    driver, "chunk", contestant.chunks[: self.sizes.tried], self._stored, 1
                )
        except Exception as why:
            self.absent[contestant.name] = _said(why)
            say(f"  {contestant.title} takes no part: {why}")
            return
        self.drivers[contestant.name], self.paces[contestant.name] = driver, pace
        settings = {**driver.settings, **({"chunk": driver.chunk} if "bulk" in contestant.works else {})}
        say(f"  {contestant.title} {self.versions[contestant.name]}: {settings} at {pace:,.0f} jobs/s")

    def _best(
        self, driver: Driver, what: str, tried: Sequence[T], trial: Callable[[Driver, T], float], turns: int
    ) -> tuple[T, float]:
        """The one that was fastest over all trials, and how fast it was; they take turns, so that drift meets them alike.

        Where each is tried more than once, a trial that does not count comes before: the first one finds everything cold.
        """
        if turns > 1 and len(tried) > 1:
            trial(driver, tried[0])
        rates: list[list[float]] = [[] for _ in tried]
        for turn in range(turns if len(tried) > 1 else 1):
            for at in list(range(len(tried)))[:: -1 if turn % 2 else 1]:
                rates[at].append(trial(driver, tried[at]))
        kept = self.trials.setdefault(driver.contestant.name, [])
        kept += [
            {what: one, "rates": [round(r) for r in found]} for one, found in zip(tried, rates, strict=True)
        ]
        fastest = max(range(len(tried)), key=lambda at: statistics.mean(rates[at]))
        return tried[fastest], statistics.mean(rates[fastest])

    def _drained(self, driver: Driver, settings: dict[str, Any]) -> float:
        driver.settings = settings
        driver.call("reset")
        stored = driver.load("noop", driver.contestant.sweep_jobs, self.sizes.limit / 2)
        return driver.drain("noop", stored, limit=self.sizes.limit)["rate"]

    def _stored(self, driver: Driver, chunk: int) -> float:
        driver.call("reset")
        told = driver.call(
            "bulk", kind="noop", count=self.sizes.bulk, limit=self.sizes.limit / 3, chunk=chunk
        )
        return float(told["count"] / told["seconds"])

    def do(self, work: Work) -> None:
        """One piece of work, by everyone who can, round by round."""
        able = [d for d in self.drivers.values() if work.ability in d.contestant.works]
        usual = self.sizes.rounds if (time.monotonic() - self.began) / 60 < _ENOUGH else 1
        rounds = {d: 1 if usual == 1 else _rounds(work, d) or usual for d in able}
        cells = self.cells.setdefault(work.name, {d.contestant.name: Cell() for d in able})
        say(f"{work.title}")
        began, done = time.monotonic(), 0
        for at in range(max(rounds.values(), default=0)):
            for driver in [d for d in able if at < rounds[d]][:: -1 if at % 2 else 1]:
                self._measure(work, driver, cells[driver.contestant.name])
                done += 1
                _bar(done, sum(rounds.values()), driver, cells[driver.contestant.name])
        self.minutes[work.name] = round((time.monotonic() - began) / 60, 1)
        if able:
            print(file=sys.stderr)

    def _measure(self, work: Work, driver: Driver, cell: Cell) -> None:
        if cell.failed:
            return
        cell.canaries.append(canary())
        cell.disks.append(disk_canary())
        try:
            cell.rounds.append(work.do(driver, self.sizes, self.paces[driver.contestant.name]))
            if work.leaves:
                driver.call("reset")
        except Exception as why:
            cell.failed = _said(why)

    def record(self) -> dict[str, Any]:
        """All of it, as it is kept."""
        return {
            "title": "Tenure beside other job queues, in one interleaved run",
            "about": {
                "python": platform.python_version(), "machine": platform.machine(), "cores": _cores(),
                "cpu": _cpu(), "commit": _commit(), "ended": datetime.now(UTC).isoformat(timespec="minutes"),
                "minutes": round((time.monotonic() - self.began) / 60, 1), "minutes_by_work": self.minutes,
                "sizes": vars(self.sizes), **self.servers.versions,
            },
            "contestants": {
                name: {
                    "title": d.contestant.title, "version": self.versions[name], "store": d.contestant.store,
                    "settings": d.settings, "chunk": d.chunk, "note": d.contestant.note, "pace": round(self.paces[name]),
                    "trials": self.trials[name],
                }
                for name, d in self.drivers.items()
            },
            "absent": self.absent,
            "cells": {
                work: {
                    name: {
                        "failed": cell.failed,
                        "canaries": [round(c, 4) for c in cell.canaries],
                        "disks": [round(d, 6) for d in cell.disks],
                        "rounds": [{k: round(v, 4) for k, v in r.items()} for r in cell.rounds],
                    }
                    for name, cell in cells.items()
                }
                for work, cells in self.cells.items()
            },
        }  # fmt: skip

    def keep(self, name: str, **more: Any) -> None:
        """Write it down."""
        write(name, {**self.record(), **more})


def write(name: str, kept: dict[str, Any]) -> None:
    """Keep the arena's results under a name."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", "utf-8")


def _rounds(work: Work, driver: Driver) -> int | None:
    return work.rounds if driver.contestant.ours or work.peer_rounds is None else work.peer_rounds


def _said(why: Exception) -> str:
    """Our own words; of anything else, what it is too."""
    return str(why) if isinstance(why, (Missing, Failed)) else f"{type(why).__name__}: {why}"


def _bar(done: int, of: int, driver: Driver, cell: Cell) -> None:
    told = cell.failed or ", ".join(
        f"{k} {v:,.4g}" for k, v in (cell.rounds[-1] if cell.rounds else {}).items()
    )
    full = _BAR * done // of
    line = f"  [{'█' * full}{'·' * (_BAR - full)}] {done}/{of} {driver.contestant.title}: {told}"
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"\x1b[2K{line}" if sys.stderr.isatty() else line, end=end, file=sys.stderr, flush=True)


def _commit() -> str:
    """Which code was measured, as far as it can be told."""
    try:
        told = subprocess.run(
            ("git", "describe", "--always", "--dirty"), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
