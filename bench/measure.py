"""Rounds, medians, ratios, and a canary that tells how much the machine itself drifted meanwhile."""

from __future__ import annotations

import json
import math
import operator
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Cell", "Report", "canary", "disk_canary", "interleave", "likely", "mark", "said", "say"]

RESULTS = Path(__file__).parent / "results"
STORES = {"postgres": "PostgreSQL", "sqlite": "SQLite"}
SLACK = 0.15
"""How much worse than the kept one a quick run's ratio may be before it is told."""
LEAST = 0.01
"""A difference below this one is not told: no table would show it."""
_PAGES = 15
"""How many durable writes tell how fast the disk is."""


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


def disk_canary() -> float:
    """Seconds for a durable write of a page, the median of a few: how fast the disk is right now."""
    spent = []
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(_PAGES):
            start = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * 8_192, 0)
            os.fdatasync(file.fileno())
            spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def interleave(rounds: int, each: int = 1, /, **work: Callable[[], float]) -> dict[str, Cell]:
    """Measure each piece of work once a round, one after another and every other round backwards, so that drift, and what one
    leaves behind for the next, meets them all alike. One of `each` so many rounds is told of."""
    cells = {name: Cell(name) for name in work}
    for at in range(rounds):
        for name, measure in list(work.items())[:: -1 if at % 2 else 1]:
            cells[name].values.append(measure())
            if (at + 1) % each == 0:
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
    began: float = field(default_factory=time.monotonic)

    def add(
        self,
        store: str,
        what: str,
        cells: dict[str, Cell],
        over: str,
        under: str,
        *,
        want: float | None,
        cost: bool = False,
        paired: bool = False,
        sized: bool = False,
    ) -> None:
        """The ratio of two cells' medians, and what it should be: at least `want`, or at most where it is a cost.

        Without a `want` it is told for what it is. `paired`: the median of the rounds' own ratios, for differences that are
        smaller than the machine's drift, and between what it lies with 95 %. `sized`: it depends on how much work the run does,
        so a quick one is not compared.
        """
        ratio = cells[over].median / cells[under].median
        between: dict[str, list[float]] = {}
        if paired:
            ratios = sorted(map(operator.truediv, cells[over].values, cells[under].values))
            ratio = statistics.median(ratios)
            between = {"between": [round(r, 3) for r in likely(ratios)]}
        reached = None if want is None else ratio <= want if cost else ratio >= want
        wanted = "" if want is None else f"{'≤' if cost else '≥'} {want}"
        self.canaries.append(canary())
        self.rows.append({
            "store": store, "what": what, "ratio": round(ratio, 3), "want": wanted, "reached": reached,
            "cost": cost, "sized": sized, "values": {n: [round(v, 2) for v in c.values] for n, c in cells.items()},
            "medians": {n: round(c.median, 2) for n, c in cells.items()}, **between,
        })  # fmt: skip
        told = "" if reached is None else f" (want {wanted}) {'reached' if reached else 'NOT reached'}"
        say(f"  {store}: {what}: {ratio:.{3 if paired else 2}f}{told}")

    def show(self) -> None:
        """The table."""
        print(f"\n{self.title}\n")
        print(f"| {'store':<10} | {'what':<58} | {'ratio':>6} | {'wanted':>7} | {'':<7} | medians |")
        print(f"|{'-' * 12}|{'-' * 60}|{'-' * 8}|{'-' * 9}|{'-' * 9}|---------|")
        for row in self.rows:
            told = ", ".join(f"{n} {said(v)}" for n, v in row["medians"].items())
            if "between" in row:
                told += "; with 95 % {:.3f} to {:.3f}".format(*row["between"])
            print(
                f"| {row['store']:<10} | {row['what']:<58} | {row['ratio']:>6.{3 if 'between' in row else 2}f} | {row['want']:>7} | {mark(row['reached']):<7} | {told} |"
            )
        slow = max(self.canaries) / min(self.canaries) if self.canaries else 1
        print(f"\nThe machine's own speed drifted by a factor of {slow:.2f} while this ran.")

    def compare(self, name: str) -> None:
        """Say which lines are worse than the kept ones, and which are not compared."""
        kept = {
            (row["store"], row["what"]): row["ratio"]
            for row in json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["rows"]
        }
        worse, new, sized = [], [], []
        for row in self.rows:
            line = f"{STORES.get(row['store'], row['store'])}: {row['what']}"
            before = kept.get((row["store"], row["what"]))
            if row["sized"]:
                sized.append(line)
            elif before is None:
                new.append(line)
            elif (row["ratio"] - before) * (1 if row["cost"] else -1) > max(before * SLACK, LEAST):
                worse.append(f"{line} {row['ratio']:.3g}, kept {before:.3g} (bench/results/{name}.json)")
        print()
        for line in worse:
            print(f"slower than kept: {line}")
        if not worse:
            print(
                f"nothing is more than {SLACK * 100:.0f} % slower than what is kept (bench/results/{name}.json)"
            )
        for line in new:
            print(f"not compared, none is kept yet: {line}")
        for line in sized:
            print(f"not compared, it depends on the size of the run: {line}")

    def tell_time(self) -> None:
        """How long it took."""
        print(f"\nIt took {time.monotonic() - self.began:.0f} s.")

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


def likely(ratios: list[float]) -> tuple[float, float]:
    """Between what the median of what these, sorted, are drawn from lies with 95 %: by their order alone, however they are spread."""
    aside = max(int((len(ratios) - 1.96 * math.sqrt(len(ratios))) / 2), 0)
    return ratios[aside], ratios[-1 - aside]


def mark(reached: bool | None) -> str:
    """What a table says of it."""
    return "" if reached is None else "reached" if reached else "missed"


def said(value: float) -> str:
    """A figure, as tables have it."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
