"""Mutants of the schema: each key and each unique index once holds apart nothing any more.

What was unique stays an index, so that nothing is only slow: a test has to miss the uniqueness itself. A part of a unique
index's WHERE is true instead: the index then holds apart rows that it should leave alone. A mutant's word is its table.

What triggers and functions do is found here, too (`bodies`); the rules of `mutants.py` change it, as they change statements. Besides
those, each statement of a trigger is left out once, each `coalesce` knows only one side, and a function asks for its caller's rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.proof.guards.change import Change

__all__ = ["Body", "bodies", "looser", "table_of", "unlike"]

_TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE (tenure[._](\w+)) \(\n.*?;", re.DOTALL)
_OF_COLUMN = re.compile(r"^    (\w+) .*?( (?:PRIMARY KEY|UNIQUE)(?: WITH \([^)]*\))?)(?=,| --)", re.MULTILINE)
_OF_TABLE = re.compile(r",\n    PRIMARY KEY \(([^)]*)\)")
_INDEX = re.compile(r"CREATE UNIQUE INDEX \w+ ON tenure[._](\w+) \([^)]*\)(?: WHERE ([^;]*))?;")
_TRIGGER = re.compile(
    r"CREATE TRIGGER (?:tenure_)?(\w+) [^;]*?\bON tenure[._](\w+)(?P<head>[^;]*?)\bBEGIN\s(?P<body>.*?)\bEND;",
    re.DOTALL,
)
_FUNCTION = re.compile(
    r"CREATE FUNCTION tenure\.(\w+)\((?P<head>.*?)\bAS\s+\$\$(?P<body>.*?)\$\$;", re.DOTALL
)
_STATEMENT = re.compile(r"[^\s;][^;]*;?")
_EITHER = re.compile(r"coalesce\(")
_RIGHTS = re.compile(r" SECURITY DEFINER")
_ROWLESS = re.compile(r",? WITHOUT ROWID")


class Body(NamedTuple):
    """What a trigger or a function does, and where that stands."""

    name: str
    table: str
    """A trigger's; a function has none."""
    head: tuple[int, int]
    """What stands before it: when a trigger is told, with whose rights a function works."""
    statements: tuple[tuple[int, int], ...]


def bodies(text: str) -> Iterator[Body]:
    """All triggers and functions of a migration."""
    made = [(found, found[2]) for found in _TRIGGER.finditer(text)]
    for found, table in [*made, *((found, "") for found in _FUNCTION.finditer(text))]:
        statements = _STATEMENT.finditer(text, *found.span("body"))
        yield Body(found[1], table, found.span("head"), tuple(one.span() for one in statements))


def unlike(body: Body, text: str) -> Iterator[Change]:
    """What the rules for statements do not know."""
    for start, end in body.statements:
        if body.table:
            # A trigger does something, or it is none.
            new = "" if len(body.statements) > 1 else "SELECT 1;"
            yield Change(body.name, start, end, new, f"{body.name}: {text[start:end].rstrip(';')} left out")
        for found in _EITHER.finditer(text, start, end):
            first, comma, last = _sides(text, found.end())
            for side in (text[found.end() : first], text[comma:last]):
                said = text[found.start() : last + 1]
                yield Change(
                    body.name, found.start(), last + 1, f"({side.strip()})", f"{said} → {side.strip()}"
                )
    for found in _RIGHTS.finditer(text, *body.head):
        yield Change(body.name, *found.span(), "", f"{body.name}:{found[0]} left out")


def looser(text: str) -> Iterator[Change]:
    """All changes of a migration that take the uniqueness from something."""
    for table in _TABLE.finditer(text):
        yield from _keys(table)
    for index in _INDEX.finditer(text):
        new = index[0].replace("UNIQUE ", "", 1)
        yield Change(index[1], index.start(), index.end(), new, f"{index[0].rstrip(';')} → CREATE INDEX")
        at = index.start(2)
        for part in (index[2] or "").split(" AND "):
            yield Change(index[1], at, at + len(part), "true", f"unique WHERE {part} → true")
            at += len(part) + len(" AND ")


def table_of(name: str) -> str:
    """Which table a mutant of the schema is about."""
    return name.partition(":")[2].rpartition("-")[0]


def _keys(table: re.Match[str]) -> Iterator[Change]:
    whole, place, name = table[0], table[1], table[2]
    found = [(m.start(2), m.end(2), m[1], m[2].strip()) for m in _OF_COLUMN.finditer(whole)]
    found += [(m.start(), m.end(), m[1], f"PRIMARY KEY ({m[1]})") for m in _OF_TABLE.finditer(whole)]
    for start, end, columns, said in found:
        less = (
            _ROWLESS.sub("", whole[:start] + whole[end:])
            if "PRIMARY" in said
            else whole[:start] + whole[end:]
        )
        index = f"\nCREATE INDEX {'tenure_' if '_' in place[:7] else ''}mutant_{name} ON {place} ({columns});"
        told = said if said.endswith(")") and "WITH" not in said else f"{columns} {said}"
        yield Change(name, table.start(), table.end(), less + index, f"{name}: {told} left out")


def _sides(text: str, start: int) -> tuple[int, int, int]:
    """Where the first of two sides ends, where the other begins, and where it ends."""
    depth, comma = 0, start
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth < 0:
            return comma, comma + 1, at
        if text[at] == "," and not depth:
            comma = at
    raise ValueError(f"cannot read {text[start : start + 30]!r}")
