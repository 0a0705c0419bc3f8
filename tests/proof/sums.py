"""What the rounds of a long run have counted, added up, and the table that tells people of it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.proof.tally import FAULTS, Counts, in_all, told
from tests.support.child import ROOT

__all__ = ["Kept", "Sums", "table"]


class Kept:
    """The file into which a run writes what each of its tests has counted; read on from where it was read last."""

    def __init__(self, path: Path) -> None:
        self.path, self._at = path, 0
        self.failed: dict[str, str] = {}
        """The tests that have failed so far, and what they said."""

    def read(self) -> list[dict[str, Any]]:
        """What tests have counted since, as `tally.keep` writes it."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._at)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._at += len(whole + newline)
        lines = [json.loads(line) for line in whole.splitlines()]
        self.failed |= {line["failed"]: line["said"] for line in lines if "failed" in line}
        return [line for line in lines if "topic" in line]


@dataclass
class Sums:
    """What all rounds did."""

    seed: int
    command: str
    rounds: int = 0
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)
    """How to play again what failed."""
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    commit: str = field(default_factory=lambda: _commit())
    broken_off: bool = False

    def add(self, kept: Kept) -> None:
        """What tests have counted since this was asked last."""
        for given in kept.read():
            self.counts.setdefault(given.pop("topic"), Counter()).update(given)

    def plain(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {
            "command": self.command, "seed": self.seed, "rounds": self.rounds, "seconds": round(self.seconds),
            "commit": self.commit, "date": datetime.now(UTC).date().isoformat(), "failed": self.failed,
            "counts": {topic: dict(counts) for topic, counts in sorted(self.counts.items())},
        }  # fmt: skip


def table(plain: Mapping[str, Any], *, atheris: bool) -> str:
    """The sums, for people; and whether texts were drawn by a fuzzer that is guided by what it reaches, too."""
    lines = [
        (
            f"`{plain['command']}`, commit `{plain['commit']}`, {plain['date']}: {plain['seconds'] / 60:.0f} minutes, "
            f"{_rounds(plain)}, {len(plain['failed'])} failed{'' if atheris else '; without atheris'}."
        ),
        "",
        "| what | faults | jobs | losses | besides |",
        "|---|---|--:|--:|---|",
    ]
    lines += [_row(topic.replace("_", " "), counts) for topic, counts in plain["counts"].items()]
    lines.append(_row("**all**", in_all(plain["counts"])))
    return "\n".join(lines)


def _rounds(plain: Mapping[str, Any]) -> str:
    first, last = plain["seed"], plain["seed"] + plain["rounds"] - 1
    return (
        f"{plain['rounds']} rounds (seeds {first} to {last})" if last > first else f"1 round (seed {first})"
    )


def _row(name: str, counts: Counts) -> str:
    faults = ", ".join(told(counts, *FAULTS))
    rest = [what for what in counts if what not in {*FAULTS, "jobs", "losses"} and "/" not in what]
    besides = ", ".join(told(counts, *rest)) if rest else ""
    jobs, losses = (f"{counts[what]:,}" if what in counts else "" for what in ("jobs", "losses"))
    return f"| {name} | {faults} | {jobs} | {losses} | {besides} |"


def _commit() -> str:
    """The commit that is checked out; a plus where files differ from it."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], check=False, capture_output=True, text=True, cwd=ROOT
    )
    return said.stdout.strip() or "unknown"
