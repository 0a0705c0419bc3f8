"""The README keeps its word: its code runs, and the tests it names exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
        told = "reached" if row["reached"] else "missed"
        assert f"| {row['store']} | {row['what']} | {row['ratio']:.2f} | {row['want']} | {told} |" in README


def test_every_picture_of_a_page_is_shown_in_the_readme_and_the_docs() -> None:
    made = {file.name for file in (ROOT / "docs" / "screenshots").iterdir()}
    for page, prefix in (("README.md", "docs/"), ("docs/dashboard.md", "")):
        text = (ROOT / page).read_text("utf-8")
        assert set(re.findall(rf"[(\"]{prefix}screenshots/([\w-]+\.png)[)\"]", text)) == made


def test_no_placeholder_is_left_in_the_docs() -> None:
    for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text("utf-8")
        assert re.findall(r"\b[A-Z]+_(?:TABLE|TEST)\b", text) == []
