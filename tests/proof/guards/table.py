"""The tables of mutants, one for each store: what is changed, and the test that fails then. The search writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.proof.guards.mutants import Mutant, StoreName

__all__ = ["Line", "read_table", "shown", "write_table"]

HERE = Path(__file__).parent
_LINE = re.compile(r"\| `(?P<name>[^`]+)` \| (?P<what>.*) \| (?:`(?P<test>[^`]*)`|NOTHING) \|")
_HEAD = """# What is guarded on {store}, and by which test

Every line is a statement of `src/tenure/store/{store}/sql` with one guard gone or weaker, or the schema with one key less, or with
a trigger or function that does something else, and a test that fails then. Made by `python -m tests.proof.guards.search`; `make proof` plays all of it, `make test` a few lines.

| mutant | changed | fails |
|---|---|---|
"""


class Line(NamedTuple):
    """One mutant's line, and the test that kills it (none yet: an empty text)."""

    name: str
    what: str
    test: str


def shown(mutant: Mutant) -> str:
    """What is changed, in one cell."""
    what = mutant.what if len(mutant.what) <= 140 else f"{mutant.what[:90]} … {mutant.what[-45:]}"
    return "`" + what.replace("|", "\\|").replace("`", "'") + "`"


def read_table(store: StoreName) -> dict[str, Line]:
    """The lines of a store's table, by name."""
    file = HERE / f"{store}.md"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    found = [_LINE.fullmatch(line) for line in lines]
    return {m["name"]: Line(m["name"], m["what"], m["test"] or "") for m in found if m}


def write_table(store: StoreName, mutants: list[Mutant], tests: dict[str, str]) -> None:
    """Write a store's table: the tests that were found."""
    lines = []
    for mutant in mutants:
        end = f"`{tests[mutant.name]}`" if mutant.name in tests else "NOTHING"
        lines.append(f"| `{mutant.name}` | {shown(mutant)} | {end} |\n")
    (HERE / f"{store}.md").write_text(_HEAD.format(store=store) + "".join(lines), "utf-8")
