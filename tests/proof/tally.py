"""What a proof has done, counted: kills, cuts, restarts, jobs, losses. The run's end adds them up and prints its seed.

A test adds to its own counts with the fixture `tally`; they travel with its report, through xdist too, to the process that
started the run. That one prints a table, and while it goes on writes them to the file that `TENURE_TALLY` names, a line for each
test. What is counted for a store is told for all of them and for each: 100 kills (SQLite 40, shared SQLite 20, PostgreSQL 40).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "FAULTS",
    "Counts",
    "Tally",
    "add_if_counted",
    "add_losses",
    "in_all",
    "keep",
    "report",
    "sums_of",
    "told",
    "topic_of",
]

FAULTS = (
    "kills", "cuts", "fast restarts", "immediate restarts", "postmaster kills", "terminations", "failovers", "lost answers",
    "stops", "fills", "jumps",
)  # fmt: skip
"""What is done to processes, files, servers, wires and clocks, and means the same wherever it is counted."""
STORES = {"sqlite": "SQLite", "shared": "shared SQLite", "postgres": "PostgreSQL"}
_COUNTS, _SEED = "proof-counts", "proof-seed"

Counts = Mapping[str, int]
"""What was counted, by name; a store's share of it by name and store: {"kills": 3, "kills/sqlite": 3}."""


def topic_of(path: Path) -> str:
    """What a file of tests is about: test_kills.py is about kills."""
    return path.stem.removeprefix("test_")


class Tally:
    """Counts of one test, by topic (the folder or subject of the proof) and thing counted."""

    def __init__(self, topic: str, properties: list[tuple[str, object]]) -> None:
        self._counts: dict[str, int | str] = {"topic": topic}
        self._properties = properties
        properties.append((_COUNTS, self._counts))

    def __call__(self, **counts: int) -> None:
        """Add: `tally(kills=3, jobs=2_000, losses=0)`."""
        for name, count in counts.items():
            self._add(name.replace("_", " "), count)

    def on(self, store: str, **counts: int) -> None:
        """Add, and say on which kind of store: `tally.on("sqlite", kills=3)`."""
        self(**counts)
        for name, count in counts.items():
            self._add(f"{name.replace('_', ' ')}/{store}", count)

    def seeded(self, seed: int) -> None:
        """The seed this test drew from."""
        self._properties.append((_SEED, seed))

    def _add(self, name: str, count: int) -> None:
        self._counts[name] = int(self._counts.get(name, 0)) + count


def add_losses(item: pytest.Item, losses: int) -> None:
    """Jobs that a test found lost, and failed of: they count like all the rest."""
    for name, value in item.user_properties:
        if name == _COUNTS and isinstance(value, dict):
            value["losses"] = value.get("losses", 0) + losses
            return
    item.user_properties.append((_COUNTS, {"topic": topic_of(item.path), "losses": losses}))


def add_if_counted(item: pytest.Item, counts: Counts) -> None:
    """What was counted beside a test that counts: told with it."""
    for name, value in item.user_properties:
        if name == _COUNTS and isinstance(value, dict):
            value.update({what: value.get(what, 0) + count for what, count in counts.items()})


def told(counts: Counts, *names: str) -> list[str]:
    """These counts, in words; all of them if none is named."""
    return [_told(counts, name) for name in names or [n for n in counts if "/" not in n] if name in counts]


def _told(counts: Counts, name: str) -> str:
    by = [f"{word} {counts[f'{name}/{at}']:,}" for at, word in STORES.items() if f"{name}/{at}" in counts]
    return f"{counts[name]:,} {name}" + (f" ({', '.join(by)})" if by else "")


def in_all(sums: Mapping[str, Counts]) -> Counter[str]:
    """Faults, jobs and losses of all topics."""
    totals: Counter[str] = Counter()
    for counts in sums.values():
        added = {
            name: n for name, n in counts.items() if name.partition("/")[0] in {*FAULTS, "jobs", "losses"}
        }
        totals.update(added)
    return totals


def sums_of(terminal: pytest.TerminalReporter) -> tuple[dict[str, Counter[str]], set[int]]:
    """What the tests of this run have counted, by topic, and the seeds they drew from."""
    sums: dict[str, Counter[str]] = {}
    seeds: set[int] = set()
    reports = [*terminal.stats.get("passed", []), *terminal.stats.get("failed", [])]
    for made in reports:
        for name, value in made.user_properties if isinstance(made, pytest.TestReport) else ():
            if name == _SEED and isinstance(value, int):
                seeds.add(value)
            if name == _COUNTS and isinstance(value, dict):
                given: dict[str, Any] = dict(value)
                sums.setdefault(str(given.pop("topic")), Counter()).update(given)
    return sums, seeds


def keep(made: pytest.TestReport) -> None:
    """Write what a test has counted, now that it has ended, and how it failed, to the file that `TENURE_TALLY` names."""
    path = os.environ.get("TENURE_TALLY")
    # A worker of xdist hands its reports on, and whoever started it gets here as well.
    if not path or "PYTEST_XDIST_WORKER" in os.environ:
        return
    lines = [v for name, v in made.user_properties if name == _COUNTS and isinstance(v, dict) and len(v) > 1]
    if made.when != "call":
        lines.clear()
    if made.failed:
        lines.append({"failed": made.nodeid, "said": made.longreprtext})
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def report(terminal: pytest.TerminalReporter) -> None:
    """Print the sums of this run."""
    sums, seeds = sums_of(terminal)
    if not sums:
        return
    terminal.write_sep("-", "the proof, counted")
    for topic, counts in sorted((topic, counts) for topic, counts in sums.items() if counts):
        terminal.write_line(f"  {topic}: {', '.join(told(counts))}")
    if totals := in_all(sums):
        terminal.write_line(f"  in all: {', '.join(told(totals))}")
    drawn = ", ".join(str(seed) for seed in sorted(seeds)) or "none"
    terminal.write_line(f"  drawn from TENURE_SEED={drawn}")
