"""Mutants of the schema: each key and each unique index once holds apart nothing any more.

What was unique stays an index, so that nothing is only slow: a test has to miss the uniqueness itself. A part of a unique
index's WHERE is true instead: the index then holds apart rows that it should leave alone. A mutant's word is its table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.proof.guards.change import Change

__all__ = ["looser", "table_of"]

_TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE (tenure[._](\w+)) \(\n.*?;", re.DOTALL)
_OF_COLUMN = re.compile(r"^    (\w+) .*?( (?:PRIMARY KEY|UNIQUE)(?: WITH \([^)]*\))?)(?=,| --)", re.MULTILINE)
_OF_TABLE = re.compile(r",\n    PRIMARY KEY \(([^)]*)\)")
_INDEX = re.compile(r"CREATE UNIQUE INDEX \w+ ON tenure[._](\w+) \([^)]*\)(?: WHERE ([^;]*))?;")
_ROWLESS = re.compile(r",? WITHOUT ROWID")


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
