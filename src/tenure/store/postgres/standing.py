"""How far a schema is, without touching it, and the SQL that makes it."""

from __future__ import annotations

from tenure.config import PostgresPlace
from tenure.store.base import with_patience
from tenure.store.migrate import migrations
from tenure.store.postgres.connection import DriverError, connect, meaning
from tenure.store.postgres.dialect import postgres_dialect
from tenure.store.postgres.store import META, applied

__all__ = ["applied_in_schema", "pooled", "schema_script"]


def applied_in_schema(place: PostgresPlace) -> tuple[int, int]:
    """How many migrations were applied there, and how many there are."""
    with with_patience(lambda _: connect(place), patience=5.0, repeatable=True) as link:
        try:
            return applied(link, place.schema)[0], len(migrations("postgres"))
        except DriverError as cause:
            raise meaning(link, cause, asked=False)[0] from cause


def pooled(place: PostgresPlace) -> bool:
    """Whether something like pgbouncer stands between: it names a process to be cancelled that is not the server's own."""
    with with_patience(lambda _: connect(place), patience=5.0, repeatable=True) as link:
        try:
            row = link.execute("SELECT pg_backend_pid()").fetchone()
        except DriverError as cause:
            raise meaning(link, cause, asked=False)[0] from cause
        return row is not None and row[0] != link.info.backend_pid


def schema_script(place: PostgresPlace, *, since: int = 0) -> str:
    """All of it, or what comes after so many migrations, in one transaction; "": nothing does."""
    placed = postgres_dialect(place.schema).place
    steps = migrations("postgres")[since:]
    if not steps:
        return ""
    first = [f'CREATE SCHEMA IF NOT EXISTS "{place.schema}";', f"{placed(META)};"]
    parts = ["BEGIN;", *(first if since == 0 else ())]
    for step in steps:
        kept = f"INSERT INTO tenure.meta (number, name, min_client) VALUES ({step.number}, '{step.name}', {step.min_client});"
        parts += [placed(step.text).strip(), placed(kept)]
    return "\n".join([*parts, "COMMIT;"])
