"""What a proof has done, counted: kills, cuts, restarts, jobs, losses. The run's end adds them up and prints its seed.

A test adds to its own counts with the fixture `tally`; they travel with its report, through xdist too, to the process that
started the run. That one prints a table, and writes it to the file that `TENURE_TALLY` names.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Tally", "report"]

_COUNTS, _SEED = "proof-counts", "proof-seed"


class Tally:
    """Counts of one test, by topic (the folder or subject of the proof) and thing counted."""

    def __init__(self, topic: str, properties: list[tuple[str, object]]) -> None:
        self._counts: dict[str, int | str] = {"topic": topic}
        self._properties = properties
        properties.append((_COUNTS, self._counts))

    def __call__(self, **counts: int) -> None:
        """Add: `tally(kills=3, jobs=2_000, losses=0)`."""
        for name, count in counts.items():
            self._counts[name] = int(self._counts.get(name, 0)) + count

    def seeded(self, seed: int) -> None:
        """The seed this test drew from."""
        self._properties.append((_SEED, seed))


def _reports(terminal: pytest.TerminalReporter) -> list[pytest.TestReport]:
    reports = [*terminal.stats.get("passed", []), *terminal.stats.get("failed", [])]
    return [r for r in reports if isinstance(r, pytest.TestReport)]


def report(terminal: pytest.TerminalReporter) -> None:
    """Print the sums of this run, and keep them in the file that `TENURE_TALLY` names."""
    sums: dict[str, Counter[str]] = {}
    seeds: set[int] = set()
    for made in _reports(terminal):
        for name, value in made.user_properties:
            if name == _SEED and isinstance(value, int):
                seeds.add(value)
            if name == _COUNTS and isinstance(value, dict):
                given: dict[str, Any] = dict(value)
                sums.setdefault(str(given.pop("topic")), Counter()).update(given)
    if not sums:
        return
    terminal.write_sep("-", "the proof, counted")
    for topic, counts in sorted(sums.items()):
        told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        terminal.write_line(f"  {topic}: {told}")
    terminal.write_line(
        f"  drawn from TENURE_SEED={', '.join(str(seed) for seed in sorted(seeds)) or 'none'}"
    )
    if kept := os.environ.get("TENURE_TALLY"):
        text = json.dumps({"seeds": sorted(seeds), "counts": sums}, indent=1)
        Path(kept).write_text(text + "\n", encoding="utf-8")
