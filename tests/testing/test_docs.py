"""docs/testing.md keeps its word: its examples are one test file, which passes under plain pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.child import ROOT

TEXT = (ROOT / "docs" / "testing.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_examples_in_the_docs_pass(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text("\n".join(BLOCKS), "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(re.findall(r'^def test_', TEXT, re.MULTILINE))} passed" in done.stdout
    assert not (tmp_path / "shop.db").exists()


def test_testing_imports_no_test_runner() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, tenure.testing; print('pytest' in sys.modules, 'unittest' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert told.stdout.split() == ["False", "False"]
