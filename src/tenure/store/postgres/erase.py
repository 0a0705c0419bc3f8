"""Delete a schema of ours, with everything in it."""

from __future__ import annotations

from tenure.config import PostgresPlace
from tenure.store.base import with_patience
from tenure.store.postgres.connection import connect

__all__ = ["erase_schema"]


def erase_schema(place: PostgresPlace) -> None:
    """Drop it; its name is a checked identifier."""
    with with_patience(lambda _: connect(place), patience=5.0, repeatable=True) as link:
        link.limit = None
        link.execute(f'DROP SCHEMA IF EXISTS "{place.schema}" CASCADE'.encode())
