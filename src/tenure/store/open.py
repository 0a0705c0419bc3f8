"""From a URL to an open store; the driver is imported only when it is needed."""

from __future__ import annotations

from tenure.config import PostgresPlace, locate
from tenure.errors import StoreError
from tenure.store.base import Store

__all__ = ["open_store"]


def open_store(url: str, *, patience: float = 5.0) -> Store:
    """The store a URL names, its schema up to date."""
    place = locate(url)
    if isinstance(place, PostgresPlace):
        try:
            from tenure.store.postgres.connection import PostgresStore
        except ImportError as cause:
            raise StoreError(
                f"PostgreSQL needs psycopg, which is not installed ({cause}); pip install 'tenure[postgres]'"
            ) from cause
        return PostgresStore(place, patience=patience)
    from tenure.store.sqlite.store import SqliteStore

    return SqliteStore(place, patience=patience)
