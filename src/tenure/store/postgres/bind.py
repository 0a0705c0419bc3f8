"""How PostgreSQL takes many rows: as one JSON parameter, or column by column as array texts.

Both are plain text to every driver, and much cheaper than a driver's own list parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.store.pack import pack, pack_array
from tenure.store.plan import Statement

__all__ = ["bound"]


def bound(statement: Statement) -> Mapping[str, Any]:
    """The statement's parameters, its rows or columns among them."""
    if statement.columns is not None:
        return {
            **statement.params,
            **{name: pack_array(values) for name, values in statement.columns.items()},
        }
    if statement.rows is not None:
        return {**statement.params, "rows": pack(list(statement.rows))}
    return statement.params
