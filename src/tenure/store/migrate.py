"""Migrations: numbered SQL per database, applied at open under a lock, safe when many processes start at once.

The table `meta` says which migrations were applied and the oldest client that can work with them (`min_client`). A store
with more migrations than this code knows is used all the same, unless its `min_client` is newer than this code.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from tenure.errors import StoreRefused

__all__ = ["CLIENT", "Migration", "check_client", "migrations"]

CLIENT = 1
"""The schema this code was written for: the number of the newest migration."""


class Migration(Struct, frozen=True):
    """One step of the schema."""

    number: int
    name: str
    text: str
    min_client: int


_MIN_CLIENT = {1: 1}


def migrations(database: str) -> list[Migration]:
    """All of a database's migrations, in order."""
    found = []
    for file in sorted(Path(__file__).with_name(database).joinpath("migrations").iterdir()):
        number, _, name = file.stem.partition("_")
        found.append(Migration(int(number), name, file.read_text("utf-8"), _MIN_CLIENT[int(number)]))
    return found


def check_client(min_client: int, where: str) -> None:
    """Refuse a store that only newer code can work with."""
    if min_client > CLIENT:
        raise StoreRefused(
            f"{where} was migrated by a newer Tenure (it needs a client of schema {min_client} or later, "
            f"this one is {CLIENT}); upgrade tenure here"
        )
