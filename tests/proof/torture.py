"""`make torture MINUTES=30 SEED=7`: the proof, round after round, each from the next seed, until the time is over.

    python -m tests.proof.torture --minutes 30 --seed 7 [--write] [--keep-going] [--json FILE] [-- ARGUMENTS OF PYTEST]

Each round plays the tests of tests/proof in an order that its seed draws; the last one is cut short when the time is over, or by
Ctrl-C. What the rounds counted is added up and printed; with --write it is put into RELIABILITY.md, unless somebody broke it off.
A round that fails ends the run, and says how to play it again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from bench.measure import say
from tests.proof.tally import FAULTS, Counts, in_all, told
from tests.support.child import ROOT

__all__ = ["FIRST", "LAST", "Sums", "main", "table"]

FIRST, LAST = "<!-- torture: written by `make torture ARGS=--write` -->", "<!-- /torture -->"
_FAILED = re.compile(r"<(failure|error)[ >]")
_LEAVING = 120.0
"""How long a round may take to end when it is told to."""
_TOLD = 2
"""What pytest leaves with when it was told to stop."""
_BROKEN_OFF = 130
_WORTH = 30.0
"""How many seconds must be left for another round."""
_ORDER = ("--dist", "load", "--maxschedchunk", "1")
"""Tests are handed out one by one, so that they begin in the round's order."""


@dataclass
class Sums:
    """What all rounds did."""

    seed: int
    command: str
    rounds: int = 0
    seconds: float = 0.0
    failed: list[int] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    commit: str = field(default_factory=lambda: _commit())
    broken_off: bool = False

    def add(self, kept: Path) -> None:
        """A round's own counts, if it came to having any."""
        if kept.exists():
            for topic, counts in json.loads(kept.read_text("utf-8"))["counts"].items():
                self.counts.setdefault(topic, Counter()).update(counts)

    def plain(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {
            "command": self.command, "seed": self.seed, "rounds": self.rounds, "seconds": round(self.seconds),
            "commit": self.commit, "date": datetime.now(UTC).date().isoformat(), "failed": self.failed,
            "counts": {topic: dict(counts) for topic, counts in sorted(self.counts.items())},
        }  # fmt: skip


def main(given: list[str]) -> int:
    """Play; the exit code."""
    asked = _asked(given)
    only = f' ARGS="-- {shlex.join(asked.pytest)}"' if asked.pytest else ""
    sums = Sums(asked.seed, f"make torture MINUTES={asked.minutes:g} SEED={asked.seed}{only}")
    for word in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(word, _break_off)
    began = time.monotonic()
    end = began + asked.minutes * 60
    while _goes_on(sums, end - time.monotonic(), keep_going=asked.keep_going):
        _play(sums, asked.seed + sums.rounds, end, asked.pytest)
        sums.seconds = time.monotonic() - began
    made = table(sums.plain())
    sys.stdout.write(f"\n{made}\n")
    if asked.json:
        asked.json.write_text(json.dumps(sums.plain(), indent=1) + "\n", "utf-8")
    if asked.write and not sums.broken_off:
        _write(ROOT / "RELIABILITY.md", made)
    for seed in sums.failed:
        say(
            f"it failed; again: TENURE_DEPTH=torture TENURE_SEED={seed} python -m pytest -m proof tests/proof"
        )
    return 1 if sums.failed else _BROKEN_OFF if sums.broken_off else 0


def _goes_on(sums: Sums, left: float, *, keep_going: bool) -> bool:
    """Whether there is another round."""
    if sums.broken_off or (sums.failed and not keep_going):
        return False
    return left > _WORTH or not sums.rounds


def _break_off(*_: object) -> NoReturn:
    """Somebody tells us to end: like Ctrl-C."""
    raise KeyboardInterrupt


def _asked(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.torture")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1_000_000))
    parser.add_argument("--write", action="store_true", help="put the table into RELIABILITY.md")
    parser.add_argument("--keep-going", action="store_true", help="go on after a round that failed")
    parser.add_argument("--json", type=Path, help="write the sums there")
    parser.add_argument("pytest", nargs="*", help="what else pytest is told, after --")
    return parser.parse_args(given)


def _play(sums: Sums, seed: int, end: float, more: list[str]) -> None:
    """One round; it is told to end when the time is over."""
    sums.rounds += 1
    left = end - time.monotonic()
    say(f"round {sums.rounds}, seed {seed}, {left / 60:.1f} minutes left")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "4", *_ORDER, "-m", "proof"]
    with tempfile.TemporaryDirectory() as folder:
        kept, found = Path(folder) / "tally.json", Path(folder) / "round.xml"
        settings = {"TENURE_DEPTH": "torture", "TENURE_SEED": str(seed), "TENURE_TALLY": str(kept)}
        # A session of its own: a terminal's Ctrl-C reaches us, and we pass it on once.
        round_ = subprocess.Popen(
            [*command, f"--junitxml={found}", *(more or ["tests/proof"])],
            cwd=ROOT,
            env={**os.environ, **settings},
            start_new_session=True,
        )
        try:
            code, cut = _wait(round_, left)
        except KeyboardInterrupt:
            say("broken off; what runs is cut short")
            sums.broken_off = True
            code, cut = _cut(round_)
        finally:
            _sweep(round_.pid)
        sums.add(kept)
        # A round that was told to stop leaves with the same code whether or not a test had failed before.
        if code not in ({0, _TOLD} if cut else {0}) or (found.exists() and _FAILED.search(found.read_text())):
            sums.failed.append(seed)


def _wait(round_: subprocess.Popen[bytes], left: float) -> tuple[int, bool]:
    """How it ended, and whether it was told to."""
    try:
        return round_.wait(left), False
    except subprocess.TimeoutExpired:
        say("the time is over; what runs is cut short")
        return _cut(round_)


def _cut(round_: subprocess.Popen[bytes]) -> tuple[int, bool]:
    """End it, so that it still tells what it has counted."""
    round_.send_signal(signal.SIGINT)
    try:
        return round_.wait(_LEAVING), True
    except subprocess.TimeoutExpired:
        round_.kill()
        return round_.wait(), True


def _sweep(session: int) -> None:
    """Tests that were cut short could not end the processes they had started; all are of the round's session."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(entry.read_bytes().rpartition(b") ")[2].split()[3]) == session:
                os.kill(int(entry.parent.name), signal.SIGKILL)


def table(plain: dict[str, Any]) -> str:
    """The sums, for people."""
    lines = [
        (
            f"`{plain['command']}`, commit `{plain['commit']}`, {plain['date']}: {plain['seconds'] / 60:.0f} minutes, "
            f"{_rounds(plain)}, {len(plain['failed'])} failed."
        ),
        "",
        "| what | faults | jobs | losses | besides |",
        "|---|---|--:|--:|---|",
    ]
    lines += [_row(topic.replace("_", " "), counts) for topic, counts in plain["counts"].items()]
    lines.append(_row("**all**", in_all(plain["counts"])))
    return "\n".join(lines)


def _rounds(plain: dict[str, Any]) -> str:
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


def _write(page: Path, made: str) -> None:
    """Between the two marks of the page."""
    text = page.read_text("utf-8")
    before, first, rest = text.partition(FIRST)
    _, last, after = rest.partition(LAST)
    assert first, f"{page.name} has no place for the table"
    assert last, f"{page.name} has no end of the table"
    page.write_text(f"{before}{FIRST}\n\n{made}\n\n{LAST}{after}", "utf-8")


def _commit() -> str:
    """The commit that is checked out; a plus where files differ from it."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], check=False, capture_output=True, text=True, cwd=ROOT
    )
    return said.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
