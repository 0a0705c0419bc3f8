"""How SQLite takes many rows: some to a statement, once a row in process, or as one JSON object where that is cheaper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, astuple

from tenure.store.dialect import Sql
from tenure.store.plan import Statement

__all__ = ["Bound", "bound", "chunks", "numbered", "runs", "values_in"]

Bound = tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]] | None]
"""A text, its parameters, and the rows it is to be run for, if it is to be run once a row."""


def bound(statement: Statement, statements: Mapping[str, Sql], params: Mapping[str, Any]) -> Bound:
    """The statement as SQLite runs it, with these parameters."""
    if statement.columns is not None:
        return _settled(statement.columns, statements, params)
    text = statements[statement.name].text
    if statement.rows is not None:
        return (
            text,
            params,
            [{**params, **(asdict(row) if isinstance(row, Struct) else row)} for row in statement.rows],
        )
    return text, params, None


_PARAMETER = re.compile(r":([a-z_]+)")


def numbered(text: str, names: Iterable[str]) -> str:
    """The text with its parameters by number, in the order of these names: looking each up by its name costs as much again."""
    places = {name: f"?{n}" for n, name in enumerate(names, 1)}
    return _PARAMETER.sub(lambda match: places[match[1]], text)


_RUN = 100


def runs(text: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, Iterable[Any]]]:
    """Rows without options, many to a statement where they stand in the same place: each then binds its id and payload."""
    taken = iter(rows)
    while chunk := list(islice(taken, _RUN)):
        _, lane, queue, kind, rank, _, most, now, _ = chunk[0]
        if len(chunk) == _RUN and all(row[1] is lane and row[6] is most for row in chunk):
            flat = [lane, queue, kind, rank, most, now]
            for row in chunk:
                flat += (row[0], row[5])
            yield _many_values(text), [flat]
        else:
            yield text, chunk


@lru_cache(maxsize=16)
def _many_values(text: str) -> str:
    """copy_bare for a run of rows; the parameters of their place come first, once."""
    head = text.partition("VALUES")[0]
    values = [f"(?{n}, ?1, ?2, ?3, ?4, ?{n + 1}, ?5, ?6, ?6)" for n in range(7, 7 + 2 * _RUN, 2)]
    return f"{head}VALUES {', '.join(values)}"


_CHUNK = 32


def chunks(
    text: str, rows: Sequence[Mapping[str, Any] | Struct], params: Mapping[str, Any]
) -> Iterator[tuple[str, list[Any]]]:
    """An INSERT of one row as few of several rows each, and what they bind.

    Between two rows of their own other threads get their turn, and these may have much to do.
    """
    first, shared, at = rows[0], tuple(params.values()), 0
    names = first.__struct_fields__ if isinstance(first, Struct) else tuple(first)
    while at < len(rows):
        # Few lengths, so that each is compiled once.
        size = min(_CHUNK, 1 << (len(rows) - at).bit_length() - 1)
        flat = list(shared)
        for row in rows[at : at + size]:
            flat += astuple(row) if isinstance(row, Struct) else [row[name] for name in names]
        yield _several(text, names, tuple(params), size), flat
        at += size


@lru_cache(maxsize=64)
def _several(text: str, names: tuple[str, ...], shared: tuple[str, ...], size: int) -> str:
    """The same INSERT for so many rows: what it says of a row's values is said of a table of them; shared ones come first."""
    places = {name: f"?{n}" for n, name in enumerate(shared, 1)} | {name: f"r.{name}" for name in names}
    head, values, tail = values_in(_PARAMETER.sub(lambda m: places[m[1]], text))
    first, width = len(shared) + 1, len(names)
    table = ", ".join(
        f"({', '.join(f'?{n}' for n in range(start, start + width))})"
        for start in range(first, first + size * width, width)
    )
    return f"{head}WITH r ({', '.join(names)}) AS (VALUES {table}) SELECT {values} FROM r WHERE true{tail}"


def values_in(text: str) -> tuple[str, str, str]:
    """What stands before, in and behind the parentheses of VALUES."""
    head, _, rest = text.partition("VALUES (")
    depth, at = 1, 0
    while depth:
        depth += (rest[at] == "(") - (rest[at] == ")")
        at += 1
    return head, rest[: at - 1], rest[at:]


def _settled(
    columns: Mapping[str, Sequence[Any]], statements: Mapping[str, Sql], params: Mapping[str, Any]
) -> Bound:
    """settle_done: fences alone travel together; results go row by row."""
    if any(result is not None for result in columns["result"]):
        rows = [
            {**params, **dict(zip(columns, row, strict=True))} for row in zip(*columns.values(), strict=True)
        ]
        return statements["settle_done_results"].text, params, rows
    fences = [
        f'"{s}":"{i}:{e}"' for s, i, e in zip(columns["seq"], columns["id"], columns["epoch"], strict=True)
    ]
    return statements["settle_done"].text, {**params, "fences": "{" + ",".join(fences) + "}"}, None
