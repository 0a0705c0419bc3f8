"""The tables of mutants, one for each store: what is changed, and the test that fails then (or why none can).

The search writes them; reasons stand in `harmless.toml`, written by people.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from tests.proof.guards.mutants import Mutant, StoreName

__all__ = ["Line", "harmless", "read_table", "write_table"]

HERE = Path(__file__).parent
_LINE = re.compile(r"\| `(?P<name>[^`]+)` \| (?P<what>.*) \| (?:`(?P<test>[^`]*)`|(?P<why>[^`].*)) \|")
_HEAD = """# What is guarded on {store}, and by which test

Every line is a statement of `src/tenure/store/{store}/sql` with one guard gone or weaker, or the schema with one key less, and a
test that fails then. Made by `python -m tests.proof.guards.search`; `make proof` plays all of it, `make test` a few lines.

| mutant | changed | fails |
|---|---|---|
"""


class Line(NamedTuple):
    """One mutant's line: the test that kills it, or why it does no harm."""

    name: str
    what: str
    test: str
    why: str


def shown(mutant: Mutant) -> str:
    """What is changed, in one cell."""
    what = mutant.what if len(mutant.what) <= 140 else f"{mutant.what[:90]} … {mutant.what[-45:]}"
    return "`" + what.replace("|", "\\|").replace("`", "'") + "`"


def harmless(store: StoreName) -> dict[str, str]:
    """Mutants that change nothing anybody can rely on, and why."""
    found = tomllib.loads((HERE / "harmless.toml").read_text("utf-8"))
    return {name: " ".join(str(why).split()) for name, why in found.get(store, {}).items()}


def read_table(store: StoreName) -> dict[str, Line]:
    """The lines of a store's table, by name."""
    file = HERE / f"{store}.md"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    found = [_LINE.fullmatch(line) for line in lines]
    return {m["name"]: Line(m["name"], m["what"], m["test"] or "", m["why"] or "") for m in found if m}


def write_table(store: StoreName, mutants: list[Mutant], tests: dict[str, str]) -> None:
    """Write a store's table: the tests that were found, and the reasons that were written."""
    reasons = harmless(store)
    lines = []
    for mutant in mutants:
        end = f"`{tests[mutant.name]}`" if mutant.name in tests else reasons.get(mutant.name, "NOTHING")
        lines.append(f"| `{mutant.name}` | {shown(mutant)} | {end} |\n")
    (HERE / f"{store}.md").write_text(_HEAD.format(store=store) + "".join(lines), "utf-8")
