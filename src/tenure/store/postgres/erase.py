"""Delete a schema of ours, with everything in it."""

from __future__ import annotations

from tenure.config import PostgresPlace
from tenure.store.base import with_patience
from tenure.store.postgres.connection import PostgresStore

__all__ = ["erase_schema"]


def erase_schema(place: PostgresPlace) -> None:
    """Drop it; its name is a checked identifier."""
    store = PostgresStore(place)
    try:
        link = with_patience(lambda _: store._connect(), patience=5.0, repeatable=True)  # noqa: SLF001 - one store, two modules
        with link:
            link.execute(f'DROP SCHEMA IF EXISTS "{place.schema}" CASCADE'.encode())
    finally:
        store.close()
