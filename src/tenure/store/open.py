"""From a URL to an open store; the driver is imported only when it is needed."""

from __future__ import annotations

from tenure.config import PostgresPlace, locate
from tenure.errors import StoreError
from tenure.store.base import Store

__all__ = ["applied_at", "erase_store", "open_store", "script_at"]


def open_store(url: str, *, patience: float = 5.0) -> Store:
    """The store a URL names, its schema up to date."""
    place = locate(url)
    if isinstance(place, PostgresPlace):
        try:
            from tenure.store.postgres.store import PostgresStore
        except ImportError as cause:
            raise StoreError(
                f"PostgreSQL needs psycopg, which is not installed ({cause}); pip install 'tenure[postgres]'"
            ) from cause
        return PostgresStore(place, patience=patience)
    from tenure.store.sqlite.store import SqliteStore

    return SqliteStore(place, patience=patience)


def erase_store(url: str) -> None:
    """Delete the store a URL names, with every job in it: a test's own, at its end. Nobody may have it open."""
    place = locate(url)
    if isinstance(place, PostgresPlace):
        from tenure.store.postgres.erase import erase_schema

        erase_schema(place)
    else:
        from tenure.store.sqlite.erase import erase_file

        erase_file(place)


def applied_at(url: str) -> tuple[int, int]:
    """How many migrations the store that a URL names has, and how many this code knows; nothing is changed or made."""
    place = locate(url)
    if isinstance(place, PostgresPlace):
        from tenure.store.postgres.standing import applied_in_schema

        return applied_in_schema(place)
    from tenure.store.sqlite.standing import applied_in_file

    return applied_in_file(place)


def script_at(url: str, *, since: int = 0) -> str:
    """The SQL that makes the schema where a URL says, for people to read or run; `since`: what comes after so many migrations.

    Nothing is asked of the store. "": there is no more to come.
    """
    place = locate(url)
    if isinstance(place, PostgresPlace):
        from tenure.store.postgres.standing import schema_script

        return schema_script(place, since=since)
    from tenure.store.sqlite.standing import file_script

    return file_script(place, since=since)
