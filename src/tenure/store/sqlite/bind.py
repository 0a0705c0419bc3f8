"""How SQLite takes many rows: once a row in process, or as one JSON object where that is cheaper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.store.dialect import Sql
from tenure.store.plan import Statement

__all__ = ["Bound", "bound"]

Bound = tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]] | None]
"""A text, its parameters, and the rows it is to be run for, if it is to be run once a row."""


def bound(statement: Statement, statements: Mapping[str, Sql], params: Mapping[str, Any]) -> Bound:
    """The statement as SQLite runs it, with these parameters."""
    if statement.columns is not None:
        return _settled(statement.columns, statements, params)
    text = statements[statement.name].text
    if statement.rows is not None:
        return text, params, [{**params, **row} for row in statement.rows]
    return text, params, None


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
