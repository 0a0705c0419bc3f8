"""Rules about where things may be written, checked on the source itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.child import ROOT

PACKAGE = ROOT / "src" / "tenure"
MODULES = sorted(PACKAGE.rglob("*.py"))
QUERY = re.compile(
    r"\b(SELECT\b.*\bFROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE (TABLE|INDEX|SCHEMA))\b"
)
SQL = re.compile(rf"{QUERY.pattern}|\b(BEGIN IMMEDIATE|ROLLBACK|PRAGMA)\b")
CLOCKS = {
    "time": {"time", "time_ns", "localtime", "gmtime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}
# Where a database may be asked for its name: what a URL's scheme is, and which caller's driver speaks to which database.
MAY_ASK = {"config.py", "store/foreign.py"}


def named(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text("utf-8"), str(module))


def docstrings(root: ast.AST) -> set[int]:
    """The ids of constants that stand alone as a statement: prose, not values."""
    return {
        id(n.value) for n in ast.walk(root) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
    }


def texts(module: Path) -> Iterator[tuple[int, str]]:
    root = tree(module)
    prose = docstrings(root)
    for node in ast.walk(root):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def test_the_layers_are_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ended = subprocess.run([linter, "--no-cache"], check=False, capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("module", [m for m in MODULES if named(m) != "clock.py"], ids=named)
def test_only_the_clock_asks_the_machine_for_the_time(module: Path) -> None:
    asked = [
        f"line {node.lineno}: {node.value.id}.{node.attr}"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in CLOCKS.get(node.value.id, ())
    ]
    brought = [
        f"line {node.lineno}: from time import {alias.name}"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and node.module == "time"
        for alias in node.names
        if alias.name in CLOCKS["time"]
    ]
    assert asked + brought == []


@pytest.mark.parametrize("module", [m for m in MODULES if not named(m).startswith("store/")], ids=named)
def test_sql_is_written_only_in_the_store(module: Path) -> None:
    assert [(line, text) for line, text in texts(module) if SQL.search(text)] == []


@pytest.mark.parametrize(
    "module", [m for m in MODULES if named(m).startswith("store/") and named(m).count("/") == 1], ids=named
)
def test_the_verbs_of_the_store_name_statements_and_write_none(module: Path) -> None:
    assert [(line, text) for line, text in texts(module) if QUERY.search(text)] == []


@pytest.mark.parametrize(
    "module",
    [
        m
        for m in MODULES
        if named(m) not in MAY_ASK and not named(m).startswith(("store/sqlite/", "store/postgres/"))
    ],
    ids=named,
)
def test_nobody_asks_which_database_it_is(module: Path) -> None:
    names = {"sqlite", "postgres", "postgresql"}
    asked = []
    for node in ast.walk(tree(module)):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        inner = [part for side in sides for part in ast.walk(side)]
        if any(isinstance(part, ast.Constant) and part.value in names for part in inner):
            asked.append(f"line {node.lineno}")  # type: ignore[attr-defined]
    assert asked == []


def test_the_rules_find_what_they_forbid_where_it_may_stand() -> None:
    for file in ("sqlite/store.py", "postgres/store.py"):
        assert any(QUERY.search(text) for _, text in texts(PACKAGE / "store" / file))

    clock = [n.attr for n in ast.walk(tree(PACKAGE / "clock.py")) if isinstance(n, ast.Attribute)]
    assert CLOCKS["time"] & set(clock)
