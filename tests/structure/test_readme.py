"""The README keeps its word: its code runs, and the tests it names exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import figures
from bench.measure import Cell, Report

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
DOCS = [
    pytest.param(block, id=f"{page.stem}{n}")
    for page in (ROOT / "docs" / "worker.md", ROOT / "docs" / "cli.md")
    for n, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
]


def test_every_test_the_readme_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", README))
    written = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        written |= set(re.findall(r"^(?:async )?def (test_\w+)", file.read_text("utf-8"), re.MULTILINE))
    assert named
    assert named - written == set()


def test_every_guarantee_names_a_test() -> None:
    rows = re.findall(r"^\| (G\d+) \|.*\|(.*)\|$", README, re.MULTILINE)
    assert [name for name, _ in rows] == [f"G{n}" for n in range(1, 11)]
    assert all("`test_" in proof for _, proof in rows)


@pytest.mark.parametrize("block", [*[pytest.param(b, id=f"readme{n}") for n, b in enumerate(BLOCKS)], *DOCS])
def test_the_code_in_the_readme_and_the_docs_runs(block: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_file_at_the_top_of_the_readme_is_made_where_it_says(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", BLOCKS[0]], cwd=tmp_path, timeout=60, check=True)
    assert (tmp_path / "jobs.db").exists()


def test_the_figures_in_the_readme_are_those_that_were_kept() -> None:
    kept = [
        row
        for name in ("store", "worker")
        for row in json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text("utf-8"))["rows"]
    ]
    assert len(kept) > 20
    for row in kept:
        told = {True: "reached", False: "missed", None: ""}[row["reached"]]
        assert f"| {row['store']} | {row['what']} | {row['ratio']:.2f} | {row['want']} | {told} |" in README


def test_the_tables_of_the_arena_and_the_gateway_are_those_that_were_kept() -> None:
    kept = json.loads((ROOT / "bench" / "results" / "peers.json").read_text("utf-8"))
    page = figures.blocks((ROOT / "docs" / "performance.md").read_text("utf-8"))
    assert page == figures.made(), "python -m bench.figures writes them"
    assert kept == figures.completed(kept), "python -m bench.figures completes them"
    assert [line.split(" | ")[0] for line in page["gateway"].splitlines()[2:8]] == ["| PostgreSQL"] * 3 + [
        "| SQLite"
    ] * 3
    lines = [
        re.split(r" *\| *", line)[1:-1] for line in page["verdicts"].splitlines() if line.startswith("|")
    ]
    assert [(what, store, want) for what, store, _, _, _, want, *_ in lines[2:]] == [
        (v["what"], v["store"], v["want"]) for v in kept["verdicts"]
    ]
    assert page["cells"].count("failed") >= sum(
        bool(c["failed"]) for w in kept["cells"].values() for c in w.values()
    )


GATEWAY = {
    "acknowledged updates/s, against an app that only parses": "≥ 0.45",
    "acknowledged updates/s, against one row and commit each": "≥ 1.3",
    "p99 of the answer at half that rate, from when it was due, in ms": "≤ 60",
}


def test_the_gateway_s_kept_figures_are_all_that_its_page_promises_and_all_are_reached() -> None:
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")
    promised = "at least 0.45 of the first, at least 1.3 of the second, and at half of its own rate a p99 of at most 60 ms"
    assert promised in " ".join(page.split())
    kept = json.loads((ROOT / "bench" / "results" / "gateway.json").read_text("utf-8"))["rows"]
    wanted = [(row["store"], row["what"], row["want"]) for row in kept if row["want"]]
    assert sorted(wanted) == [(s, *line) for s in ("postgres", "sqlite") for line in GATEWAY.items()]
    for row in kept:
        if row["want"]:
            sign, most = row["want"].split()
            assert row["reached"] is True, row
            assert row["ratio"] >= float(most) if sign == "≥" else row["ratio"] <= float(most), row


def test_a_table_says_why_something_was_not_measured_who_failed_and_when_the_machine_was_slow() -> None:
    line = {
        "what": "drain",
        "store": "SQLite",
        "ours": None,
        "theirs": None,
        "ratio": None,
        "want": "≥ 2",
        "whose": "",
    }
    fine = {
        "failed": "",
        "canaries": [1, 1, 1.4],
        "rounds": [{"rate": 50.04, "rss": 1}, {"rate": 1200}, {"rate": 700}],
    }
    kept = {
        "about": {"minutes": 3, "cores": 2, "python": "3.13", "postgres": "17.1 (Debian)"},
        "contestants": {"a": {"title": "A"}, "b": {"title": "B"}, "c": {"title": "C"}},
        "absent": {"d": "no such\npackage"},
        "cells": {"drain2": {"a": fine, "b": {"failed": "went | away", "canaries": [1], "rounds": []}}},
        "verdicts": [{**line, "reached": None, "why": "B went away"}, {**line, "reached": None}],
    }
    told = figures.verdicts(kept)
    assert "The run: 3 minutes, 2 cores, Python 3.13, PostgreSQL 17.1." in told
    assert "| drain | SQLite | - | - | - | ≥ 2 | not measured: B went away |\n" in told
    assert "| drain | SQLite | - | - | - | ≥ 2 | not measured |\n" in told
    table = figures.cells(kept)
    assert "| drain of 100,000, two workers: jobs/s | 700 (50\N{EN DASH}1,200) ° | failed |  |\n" in table
    assert "- B failed at *drain of 100,000, two workers*: went \\| away\n" in table
    assert "- d took no part: no such package\n" in table


def test_a_quick_run_names_what_is_slower_than_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(speed: float, cost: float) -> Report:
        made = Report("r")
        cells = {"ours": Cell("ours", [speed]), "cost": Cell("cost", [cost]), "one": Cell("one", [1.0])}
        made.add("sqlite", "speed", cells, "ours", "one", want=None)
        made.add("postgres", "cost", cells, "cost", "one", want=1, cost=True)
        made.add("postgres", "backlog", cells, "ours", "one", want=1, sized=True)
        return made

    def compared(made: Report) -> list[str]:
        capsys.readouterr()
        made.compare("r")
        return capsys.readouterr().out.strip().splitlines()

    monkeypatch.setattr("bench.measure.RESULTS", tmp_path)
    report(1, 2).keep("r")
    kept = (tmp_path / "r.json").read_bytes()
    left_out = "not compared, it depends on the size of the run: PostgreSQL: backlog"
    nothing = "nothing is more than 15 % slower than what is kept (bench/results/r.json)"
    assert compared(report(0.86, 2.29)) == compared(report(9, 0.1)) == [nothing, left_out]
    assert compared(report(0.84, 2.31)) == [
        "slower than kept: SQLite: speed 0.84, kept 1 (bench/results/r.json)",
        "slower than kept: PostgreSQL: cost 2.31, kept 2 (bench/results/r.json)",
        left_out,
    ]
    more = report(1, 2)
    more.rows[0]["what"] = "new"
    assert compared(more) == [nothing, "not compared, none is kept yet: SQLite: new", left_out]
    assert (tmp_path / "r.json").read_bytes() == kept


def test_every_picture_of_a_page_is_shown_in_the_readme_and_the_docs() -> None:
    made = {file.name for file in (ROOT / "docs" / "screenshots").iterdir()}
    for page, prefix in (("README.md", "docs/"), ("docs/dashboard.md", "")):
        text = (ROOT / page).read_text("utf-8")
        assert set(re.findall(rf"[(\"]{prefix}screenshots/([\w-]+\.png)[)\"]", text)) == made


def test_no_placeholder_is_left_in_the_docs() -> None:
    for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text("utf-8")
        assert re.findall(r"\b[A-Z]+_(?:TABLE|TEST)\b", text) == []
