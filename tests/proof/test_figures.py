"""What a whole proof comes to: that too little is noticed, and what counts as a whole one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof import figures
from tests.proof.network.test_wires import FAULTS
from tests.proof.page import PAGE, between
from tests.support.child import ROOT


def enough() -> dict[str, dict[str, int]]:
    """What a run has counted that did just enough."""
    made = {topic: dict(counts) for topic, counts in figures.FIGURES.items() if topic != "in all"}
    faults = figures.FIGURES["in all"]
    made["pools"] = {name: count // 2 for name, count in faults.items()}
    made["kills"] |= {name: count - count // 2 for name, count in faults.items()}
    return made


def test_enough_of_everything_is_enough_wherever_it_was_counted() -> None:
    assert figures.short(enough()) == []


def test_too_little_of_anything_is_named() -> None:
    for topic, counts in figures.FIGURES.items():
        for name, least in counts.items():
            less = enough()
            less["kills" if topic == "in all" else topic][name] -= 1
            assert f"{topic}: {least - 1:,} {name} of {least:,}" in figures.short(less)
    less = enough()
    del less["rolling"]
    assert figures.short(less) == ["rolling: 0 deploys of 6"]


@pytest.mark.parametrize("mounts", [True, False])
def test_every_full_disk_is_a_file_system_of_its_own_where_one_may_be_mounted(
    mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "may_mount", lambda: mounts)
    told = figures.short(enough(), figures.asked_here(figures.FIGURES))
    assert told == (["full: 0 mounted of 40"] if mounts else [])


def test_the_faults_of_wires_are_those_that_are_played() -> None:
    assert set(figures.WIRES) == set(FAULTS)


def test_the_page_tells_what_a_whole_proof_comes_to() -> None:
    assert between(PAGE, figures.MARKS) == figures.table()


def test_a_whole_run_that_did_too_little_fails_and_a_part_of_it_does_not(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text(
        "import pytest\n@pytest.mark.proof\ndef test_deep(): pass\ndef test_one(): pass\n"
    )
    (tmp_path / "conftest.py").write_text(
        "from tests.proof import figures\ndef pytest_sessionfinish(session): figures.judge(session)\n"
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tests\naddopts = -m 'not proof'\nmarkers = proof\n"
    )

    timed: list[tuple[str, str]] = []

    def play(how_deep: str, *args: str) -> tuple[int, int]:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", *args],
            check=False, capture_output=True, text=True, cwd=tmp_path, timeout=60,
            env={**os.environ, "TENURE_DEPTH": how_deep, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )  # fmt: skip
        timed.extend(re.findall(r"^(.+) took \d+\.\d of (\d+) minutes$", ended.stdout, re.MULTILINE))
        return ended.returncode, len(re.findall("too little for", ended.stdout))

    def in_all(wanted: dict[str, dict[str, int]]) -> int:
        return sum(map(len, figures.asked_here(wanted).values()))

    assert play("proof", "-m", "proof or not proof") == (0, 0)
    assert play("proof", "-m", "proof") == (1, in_all(figures.FIGURES))
    assert play("test") == (1, in_all(figures.SHARES))
    assert timed == [("a whole proof", "40"), ("all of `make test`", "12")]
    assert play("test", "--lf") == (0, 0)
    assert play("test", "tests/test_one.py") == (0, 0)
    (tmp_path / "tests" / "test_one.py").write_text("def test_fails(): assert False\n")
    assert play("test") == (1, 0)
    assert timed[2:] == [("all of `make test`", "12")]
