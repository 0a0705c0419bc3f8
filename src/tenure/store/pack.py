"""Lists of values as the one JSON parameter that a statement unpacks in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tenure.job import Claim, JobId

__all__ = ["pack", "pack_array", "pack_claims", "pack_groups", "pack_ids", "pack_object"]

_encode = msgspec.json.Encoder().encode


def pack(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as JSON text."""
    return _encode(rows).decode()


def pack_object(values: Mapping[str, str]) -> str:
    """Texts by name, as one JSON object."""
    return _encode(values).decode()


def pack_claims(claims: Iterable[Claim]) -> str:
    """Claims by what fences them."""
    return _encode([{"id": c.id, "seq": c.seq, "epoch": c.epoch} for c in claims]).decode()


def pack_groups(groups: Iterable[str]) -> str:
    """Group keys, each once."""
    return _encode([{"group_key": g} for g in dict.fromkeys(groups)]).decode()


def pack_ids(ids: Iterable[str]) -> str:
    """Job ids."""
    return _encode([{"id": i} for i in ids]).decode()


def pack_array(values: Sequence[JobId | int]) -> str:
    """Ids or whole numbers as the text of a PostgreSQL array: neither needs quotes."""
    return "{" + ",".join(map(str, values)) + "}"
