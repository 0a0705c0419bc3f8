"""Delete a store in a SQLite file: the whole file where it is ours, else our tables in it."""

from __future__ import annotations

from pathlib import Path

from tenure.config import SqlitePlace
from tenure.store.sqlite.connection import DriverError, StdlibLink, meaning

__all__ = ["erase_file"]

_BESIDE = ("", "-wal", "-shm", "-journal")


def erase_file(place: SqlitePlace) -> None:
    """Delete it; nobody may have it open."""
    if not place.shared:
        for end in _BESIDE:
            Path(f"{place.path}{end}").unlink(missing_ok=True)
    elif Path(place.path).exists():
        try:
            _drop_tables(place)
        except DriverError as cause:
            raise meaning(cause, place.path) from cause


def _drop_tables(place: SqlitePlace) -> None:
    link = StdlibLink(place.path)
    try:
        link.query("BEGIN IMMEDIATE", {})
        names = link.query("SELECT name FROM sqlite_master WHERE type = 'table'", {})
        for (name,) in names:
            if name.startswith(place.prefix):
                link.query(f'DROP TABLE "{name}"', {})
        link.query("COMMIT", {})
    finally:
        link.close()
