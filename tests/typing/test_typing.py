"""Type checkers see a job's own signature: accepted.py and refused.py are checked by `make types`, in both directions."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.support.child import ROOT

HERE = Path(__file__).parent


def statements(path: Path) -> list[ast.stmt]:
    """The statements inside a file's functions."""
    functions = [
        f for f in ast.parse(path.read_text()).body if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return [s for f in functions for s in f.body]


def test_the_checker_reads_both_files_and_reports_an_ignore_that_hides_nothing() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"]
    assert settings.get("warn_unused_ignores", True)
    assert "exclude" not in settings
    assert HERE.relative_to(ROOT).parts[0] in settings["files"]


def test_every_line_that_must_be_refused_says_how() -> None:
    lines = (HERE / "refused.py").read_text().splitlines()
    wrong = statements(HERE / "refused.py")
    assert len(wrong) > 40
    for statement in wrong:
        assert "# type: ignore[" in lines[statement.lineno - 1], lines[statement.lineno - 1]


def test_nothing_that_must_be_accepted_is_ignored() -> None:
    assert "type: ignore" not in (HERE / "accepted.py").read_text()
