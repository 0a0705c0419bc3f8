"""Rounds, medians, ratios, and a canary that tells how much the machine itself drifted meanwhile."""

from __future__ import annotations

import json
import operator
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Cell", "Report", "canary", "interleave"]

RESULTS = Path(__file__).parent / "results"


@dataclass
class Cell:
    """One thing measured several times: higher is better unless `cost`."""

    name: str
    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.values)


def canary() -> float:
    """Seconds for a fixed piece of Python work: how fast this core is right now."""
    start = time.perf_counter()
    total = 0
    for i in range(400_000):
        total += i * i % 7
    return time.perf_counter() - start


def interleave(rounds: int, **work: Callable[[], float]) -> dict[str, Cell]:
    """Measure each piece of work once a round, one after another and every other round backwards, so that drift, and what one
    leaves behind for the next, meets them all alike."""
    cells = {name: Cell(name) for name in work}
    for at in range(rounds):
        for name, measure in list(work.items())[:: -1 if at % 2 else 1]:
            cells[name].values.append(measure())
            say(f"    round {at + 1}/{rounds} {name}: {cells[name].values[-1]:,.0f}")
    return cells


def say(text: str) -> None:
    """Progress, for people; the results go to standard output."""
    print(text, file=sys.stderr, flush=True)


@dataclass
class Report:
    """The table of ratios, printed and kept."""

    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    canaries: list[float] = field(default_factory=list)

    def add(
        self,
        store: str,
        what: str,
        cells: dict[str, Cell],
        over: str,
        under: str,
        *,
        want: float,
        cost: bool = False,
        paired: bool = False,
    ) -> None:
        """The ratio of two cells' medians, and what it should be: at least `want`, or at most where it is a cost.

        `paired`: the median of the rounds' own ratios, for differences that are smaller than the machine's drift.
        """
        ratio = cells[over].median / cells[under].median
        if paired:
            ratio = statistics.median(map(operator.truediv, cells[over].values, cells[under].values))
        reached = ratio <= want if cost else ratio >= want
        self.canaries.append(canary())
        self.rows.append({
            "store": store, "what": what, "ratio": round(ratio, 3), "want": f"{'≤' if cost else '≥'} {want}",
            "reached": reached, "values": {n: [round(v, 2) for v in c.values] for n, c in cells.items()},
            "medians": {n: round(c.median, 2) for n, c in cells.items()},
        })  # fmt: skip
        say(
            f"  {store}: {what}: {ratio:.2f} (want {'≤' if cost else '≥'} {want}) {'reached' if reached else 'NOT reached'}"
        )

    def show(self) -> None:
        """The table."""
        print(f"\n{self.title}\n")
        print(f"| {'store':<10} | {'what':<58} | {'ratio':>6} | {'wanted':>7} | {'':<7} | medians |")
        print(f"|{'-' * 12}|{'-' * 60}|{'-' * 8}|{'-' * 9}|{'-' * 9}|---------|")
        for row in self.rows:
            told = ", ".join(f"{n} {v:,.0f}" for n, v in row["medians"].items())
            mark = "reached" if row["reached"] else "missed"
            print(
                f"| {row['store']:<10} | {row['what']:<58} | {row['ratio']:>6.2f} | {row['want']:>7} | {mark:<7} | {told} |"
            )
        slow = max(self.canaries) / min(self.canaries) if self.canaries else 1
        print(f"\nThe machine's own speed drifted by a factor of {slow:.2f} while this ran.")

    def keep(self, name: str) -> None:
        """Write the results down."""
        RESULTS.mkdir(exist_ok=True)
        about = {"python": platform.python_version(), "machine": platform.machine(), "cores": _cores()}
        kept = {
            "title": self.title,
            "about": about,
            "canaries": [round(c, 4) for c in self.canaries],
            "rows": self.rows,
        }
        (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
