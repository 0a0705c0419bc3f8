"""`make torture` itself: its order, what it adds up, tells and writes down, when it is too little, and that its page names nothing that is not there."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.proof import torture
from tests.proof.order import spread, strand_of
from tests.proof.pace import JUDGED_FROM, PACE, slow
from tests.proof.page import PAGE, put
from tests.proof.progress import Progress
from tests.proof.sums import Kept, Sums, table
from tests.support.child import ROOT

_CHOSEN = """
from tests.proof.conftest import *
from tests.proof import tally as counted
def pytest_runtest_logreport(report): counted.keep(report)
"""
_LOSING = """
import pytest
from tests.proof.ledger import JobsLost
pytestmark = pytest.mark.proof
def test_that_counts(tally): tally(kills=3, jobs=20)
def test_that_counts_and_loses(tally):
    tally(kills=1)
    raise JobsLost(["a", "b"], "two are gone")
def test_that_loses(): raise JobsLost(["c"], "one is gone")
"""


def written(path: Path, *lines: dict[str, object]) -> Kept:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Kept(path)


def test_rounds_are_added_up_by_topic_and_in_all(tmp_path: Path) -> None:
    sums = Sums(seed=7, command="make torture MINUTES=1 SEED=7", rounds=2, seconds=61)
    for kills in (3, 1_200):
        kept = written(
            tmp_path / f"{kills}",
            {"topic": "kills", "kills": kills, "kills/shared": 1, "jobs": 1_500, "losses": 0},
            {"topic": "kills", "jobs": 500, "crashes": 2},
            {"topic": "wires", "cuts": 5, "jumps of it": 1},
        )
        sums.add(kept)
        sums.add(kept)
    assert "0 failed; without atheris." in table(sums.plain(), atheris=False)
    made = table(sums.plain(), atheris=True)
    assert "| kills | 1,203 kills (shared SQLite 2) | 4,000 | 0 | 4 crashes |" in made
    assert "| wires | 10 cuts |  |  | 2 jumps of it |" in made
    assert "| **all** | 1,203 kills (shared SQLite 2), 10 cuts | 4,000 | 0 |  |" in made
    assert "1 minutes, 2 rounds (seeds 7 to 8), 0 failed" in made


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    kept = written(tmp_path / "counts", {"topic": "a", "jobs": 1})
    with kept.path.open("a") as file:
        file.write('{"topic": "b"')
    assert kept.read() == [{"topic": "a", "jobs": 1}]
    with kept.path.open("a") as file:
        file.write(', "jobs": 2}\n')
    assert (kept.read(), kept.read()) == ([{"topic": "b", "jobs": 2}], [])


def test_a_round_is_played_and_added_up_and_one_that_fails_is_told_of_with_what_it_lost(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(_CHOSEN)
    (tmp_path / "test_losing.py").write_text(_LOSING)
    chosen = (
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    )
    told = tmp_path / "sums.json"
    inherited = {k: v for k, v in os.environ.items() if k != "PYTEST_XDIST_WORKER"}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.proof.torture", "--minutes", "0.5", "--seed", "7", "--json", told, "--", *chosen],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=60, env={**inherited, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "2 failed, 1 passed" in ended.stdout
    assert "test_losing.py::test_that_loses\n" in ended.stdout
    assert "| **all** | 4 kills | 20 | 3 |  |" in ended.stdout
    assert "it failed; again: TENURE_DEPTH=torture TENURE_SEED=7 TENURE_MINUTES=0.5" in ended.stderr
    assert "of 0:00:30, round 1 (seed 7): " in ended.stderr
    sums = json.loads(told.read_text())
    assert (sums["rounds"], len(sums["failed"])) == (1, 1)
    assert sums["counts"] == {"losing": {"kills": 4, "jobs": 20, "losses": 3}}


def strand(name: str) -> str:
    return name.partition("-")[0]


def test_wherever_a_round_is_cut_short_it_had_a_share_of_everything() -> None:
    long, short, alone = [f"long-{n}" for n in range(99)], [f"short-{n}" for n in range(10)], ["alone-0"]
    drawn = spread([*long, *short, *alone], strand, random.Random(7))
    assert sorted(drawn) == sorted([*long, *short, *alone])
    assert drawn.index("alone-0") <= len(drawn) / 3
    for share in (0.25, 0.5, 0.75):
        begun = Counter(map(strand, drawn[: int(share * len(drawn))]))
        assert begun["long"] == pytest.approx(99 * share, abs=3)
        assert begun["short"] == pytest.approx(10 * share, abs=2)
    assert drawn == spread([*long, *short, *alone], strand, random.Random(7))
    assert drawn != spread([*long, *short, *alone], strand, random.Random(8))


@pytest.mark.parametrize("number", [0])
@pytest.mark.parametrize("word", ["a"])
def test_words_tell_strands_apart_and_numbers_do_not(
    word: str, number: int, request: pytest.FixtureRequest
) -> None:
    assert strand_of(request.node) == f"{request.path}::{request.function.__name__} {[word]}"


def enough(minutes: float) -> dict[str, Counter[str]]:
    """What a run has counted that did just enough."""
    made: dict[str, Counter[str]] = {}
    for pace in PACE.values():
        made.setdefault(pace.topic or "any", Counter())[pace.names[0]] += int(pace.rate * minutes)
    return made


def test_a_run_that_did_too_little_for_its_minutes_ends_as_failed(capsys: pytest.CaptureFixture[str]) -> None:
    assert slow(enough(60), 60) == []
    assert len(slow(enough(60), 90)) == len(PACE)
    assert slow({}, JUDGED_FROM - 1) == []
    for what, pace in PACE.items():
        less = enough(60)
        less[pace.topic or "any"][pace.names[0]] -= 1
        [said] = slow(less, 60)
        assert f"{what} in 60 minutes, of {int(pace.rate * 60):,}" in said
    sums = Sums(seed=7, command="", counts=enough(60))
    assert torture._verdict(sums, 60) == 0
    sums.counts["any"]["kills"] = 1
    assert torture._verdict(sums, 60) == 3
    assert "too little for a run of torture: 1 kills in 60 minutes" in capsys.readouterr().err
    sums.broken_off = True
    assert torture._verdict(sums, 60) == 130
    sums.failed.append("pytest")
    assert torture._verdict(sums, 60) == 1


def test_a_line_tells_how_far_it_is() -> None:
    counts = {"kills": Counter({"kills": 1_203, "jobs": 60_000, "losses": 1}), "power": Counter(cuts=9)}
    sums = Sums(seed=7, command="", rounds=2, counts={**counts, "server_faults": Counter(failovers=5)})
    to = io.StringIO()
    progress = Progress(sums, 1_800, 0.0, to)
    told = "0:02:05 of 0:30:00, round 2 (seed 8): 1,203 kills, 9 cuts, 5 restarts, 60,000 jobs, 1 losses"
    assert progress.line(125) == told
    progress.tell()
    progress.tell()
    progress.end()
    assert to.getvalue().count("\n") == 1


def test_the_table_takes_the_place_of_the_one_before_and_leaves_the_rest_of_the_page(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    for made in ("one table", "another table"):
        put(page, torture.MARKS, made)
    first, last = torture.MARKS
    assert PAGE.read_text("utf-8").count(torture.KILLS[0]) == PAGE.read_text("utf-8").count(first) == 1
    before, _, rest = PAGE.read_text("utf-8").partition(first)
    after = rest.partition(last)[2]
    assert page.read_text("utf-8") == f"{before}{first}\n\nanother table\n\n{last}{after}"


def test_only_a_commit_that_others_can_check_out_is_written_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("".join(f"{first}\n{last}\n" for first, last in (torture.MARKS, torture.KILLS)), "utf-8")
    monkeypatch.setattr(torture, "PAGE", page)
    torture._write(Sums(seed=7, command="", commit="abc1234+"), "of no commit", kills=False)
    assert "files differ from commit abc1234\n" in capsys.readouterr().err
    torture._write(Sums(seed=7, command="", commit="abc1234"), "of all", kills=False)
    torture._write(Sums(seed=7, command="", commit="abc1234"), "of kills", kills=True)
    said = page.read_text("utf-8").split("\n\n")
    assert [words for words in said if not words.startswith("<")] == ["of all", "of kills"]


def test_everything_that_the_page_names_is_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)", PAGE.read_text("utf-8"))
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_every_part_of_the_proof_is_on_the_page() -> None:
    parts = {path.parent.name for path in (ROOT / "tests" / "proof").glob("*/test_*.py")}
    named = set(re.findall(r"\]\(tests/proof/(\w+)\)", PAGE.read_text("utf-8")))
    assert parts <= named
