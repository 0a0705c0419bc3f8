"""`make torture MINUTES=30 SEED=7`: the proof, round after round, each from the next seed, until the time is over.

    python -m tests.proof.torture --minutes 30 --seed 7 [--write] [--keep-going] [--json FILE] [-- ARGUMENTS OF PYTEST]

Each round plays the tests of tests/proof in an order that its seed draws; the last one is cut short when the time is over, or by
Ctrl-C. Beside the rounds one soak goes on all the time: the same processes from the first minute to the last. A line tells how far
it is. What was counted is added up and printed; with --write it is put into RELIABILITY.md, if all went well and what was played is a
commit that others can check out. A round that fails ends the run, and says how to play it again; so does a soak. A run that came to less than `pace` says fails too.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from bench.measure import say
from tests.proof.pace import slow
from tests.proof.page import PAGE, put
from tests.proof.parts import Part
from tests.proof.progress import Progress
from tests.proof.sums import Sums, table

__all__ = ["KILLS", "MARKS", "main"]

MARKS = "<!-- torture: written by `make torture ARGS=--write` -->", "<!-- /torture -->"
KILLS = '<!-- kills: written by `make torture ARGS="--write -- tests/proof/kills"` -->', "<!-- /kills -->"
_KILLS = "tests/proof/kills"
_BROKEN_OFF, _TOO_LITTLE = 130, 3
_WORTH = 30.0
"""How many seconds must be left for another round."""
_SOAK_ENDS = 400.0
"""How long the soak may take to come to rest and be judged when the time is over."""
_LOOK = 0.5
_ORDER = ("-n", "4", "--dist", "load", "--maxschedchunk", "1")
"""Tests are handed out one by one, so that they begin in the round's order."""
_SOAK = "tests/proof/soak/test_soak.py"


class Run:
    """A whole run: rounds, and a soak beside them unless it is told what to play."""

    def __init__(self, asked: argparse.Namespace, sums: Sums, folder: Path) -> None:
        self._asked, self._sums, self._folder = asked, sums, folder
        self._began = time.monotonic()
        self._end = self._began + asked.minutes * 60
        self._progress = Progress(sums, asked.minutes * 60, self._began)
        self._soak: Part | None = None

    def play(self) -> None:
        """Until the time is over, something fails, or somebody breaks it off."""
        if not self._asked.pytest:
            self._soak = self._start("soak", self._asked.seed, ("-n", "3", _SOAK))
        try:
            while self._goes_on():
                self._round()
            self._await_soak()
        except KeyboardInterrupt:
            say("broken off; what runs is cut short")
            self._sums.broken_off = True
        finally:
            if self._soak is not None:
                self._ended(self._soak, cut=self._sums.broken_off or self._soak.code is None)
            self._sums.seconds = time.monotonic() - self._began
            self._progress.end()

    def _goes_on(self) -> bool:
        """Whether there is another round."""
        failed = self._sums.failed or (self._soak is not None and self._soak.failed)
        if self._sums.broken_off or (failed and not self._asked.keep_going):
            return False
        return self._end - time.monotonic() > _WORTH or not self._sums.rounds

    def _round(self) -> None:
        """One round; it is told to end when the time is over."""
        seed = self._asked.seed + self._sums.rounds
        self._sums.rounds += 1
        chosen = self._asked.pytest or ("tests/proof", f"--ignore={_SOAK}")
        part = self._start(f"round-{self._sums.rounds}", seed, (*_ORDER, *chosen))
        cut = True
        try:
            while part.code is None and time.monotonic() < self._end and self._soak_lives():
                self._look(part)
            cut = part.code is None
        except KeyboardInterrupt:
            self._sums.broken_off = True
            raise
        finally:
            self._ended(part, cut=cut)

    def _start(self, name: str, seed: int, chosen: Sequence[str]) -> Part:
        return Part(self._folder / name, seed, (self._end - time.monotonic()) / 60, chosen)

    def _soak_lives(self) -> bool:
        return self._asked.keep_going or self._soak is None or not self._soak.failed

    def _look(self, part: Part) -> None:
        time.sleep(_LOOK)
        for one in (part, self._soak):
            if one is not None:
                self._sums.add(one.kept)
        self._progress.tell()

    def _await_soak(self) -> None:
        soak = self._soak
        while soak is not None and soak.code is None and time.monotonic() < self._end + _SOAK_ENDS:
            # Where something has failed nobody waits for the rest of it.
            if self._sums.failed and not self._asked.keep_going:
                return
            self._look(soak)

    def _ended(self, part: Part, *, cut: bool) -> None:
        """Cut it short if it still runs; note what it counted, and whether it failed."""
        code = part.end()
        self._sums.add(part.kept)
        late = part is self._soak and cut and not (self._sums.broken_off or self._sums.failed)
        if part.bad(code, cut=cut) or late:
            self._progress.end()
            sys.stdout.write(part.said())
            self._sums.failed.append(part.again)


def main(given: list[str]) -> int:
    """Play; the exit code."""
    asked = _asked(given)
    only = f' ARGS="-- {shlex.join(asked.pytest)}"' if asked.pytest else ""
    sums = Sums(asked.seed, f"make torture MINUTES={asked.minutes:g} SEED={asked.seed}{only}")
    for word in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(word, _break_off)
    with tempfile.TemporaryDirectory() as folder:
        Run(asked, sums, Path(folder)).play()
    if find_spec("atheris") is None:
        say("there is no atheris for this Python: texts were drawn by hypothesis alone")
    made = table(sums.plain(), atheris=find_spec("atheris") is not None)
    sys.stdout.write(f"\n{made}\n")
    if asked.json:
        asked.json.write_text(json.dumps(sums.plain(), indent=1) + "\n", "utf-8")
    code = _verdict(sums, 0.0 if asked.pytest else asked.minutes)
    if asked.write and code == 0:
        _write(sums, made, kills=asked.pytest == [_KILLS])
    return code


def _write(sums: Sums, made: str, *, kills: bool) -> None:
    """Into the page; a run of nothing but kills has a place of its own there."""
    if sums.commit.endswith("+"):
        say(f"not written into {PAGE.name}: files differ from commit {sums.commit[:-1]}")
    else:
        put(PAGE, KILLS if kills else MARKS, made)


def _verdict(sums: Sums, minutes: float) -> int:
    """The exit code, and what is to be said about it; a run that failed or was broken off is held to no pace."""
    for again in sums.failed:
        say(f"it failed; again: {again}")
    if sums.failed or sums.broken_off:
        return 1 if sums.failed else _BROKEN_OFF
    too_little = slow(sums.counts, minutes)
    for line in too_little:
        say(f"too little for a run of torture: {line}")
    return _TOO_LITTLE if too_little else 0


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
