"""How PostgreSQL takes many rows: as one JSON parameter, or column by column as array texts.

Both are plain text to every driver, and much cheaper than a driver's own list parameters. Bytes go beside them as one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.store.pack import pack, pack_array, pack_object
from tenure.store.plan import Statement

__all__ = ["bound"]


def _settled(columns: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    """settle_done: fences column by column; results, where there are any, by their fence."""
    fences = zip(columns["id"], columns["epoch"], columns["result"], strict=True)
    results = {f"{i}:{e}": r for i, e, r in fences if r is not None}
    return {
        "id": pack_array(columns["id"]),
        "epoch": pack_array(columns["epoch"]),
        "result": pack_object(results),
    }


def _requests(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """request_add: bodies as one binary value, and where in it each one is; JSON would make them longer."""
    asked, at = [], 1
    for row in rows:
        size = len(row["body"])
        asked.append({"id": row["id"], "headers": row["headers"], "at": at, "size": size})
        at += size
    return {"rows": pack(asked), "bodies": b"".join([row["body"] for row in rows])}


def bound(statement: Statement) -> Mapping[str, Any]:
    """The statement's parameters, its rows or columns among them."""
    if statement.columns is not None:
        return {**statement.params, **_settled(statement.columns)}
    if statement.rows is not None and statement.name == "request_add":
        return {**statement.params, **_requests(statement.rows)}
    if statement.rows is not None:
        return {**statement.params, "rows": pack(list(statement.rows))}
    return statement.params
