"""How far a schema is, without touching it, and the SQL that makes it."""

from __future__ import annotations

from contextlib import suppress
from typing import Final, Literal

from tenure.config import PostgresPlace
from tenure.store.base import Broken, with_patience
from tenure.store.migrate import migrations
from tenure.store.postgres.connection import DriverError, Link, connect, meaning
from tenure.store.postgres.dialect import postgres_dialect
from tenure.store.postgres.store import META, applied

__all__ = ["Pooling", "applied_in_schema", "pooling", "schema_script"]

Pooling = Literal["none", "transaction", "session", "unknown"]
_OTHERS: Final = 4
"""With how many more connections a pooler is tried."""
_MOMENT: Final = 1.0
"""How long one of them may wait for its turn, in seconds."""


def applied_in_schema(place: PostgresPlace) -> tuple[int, int]:
    """How many migrations were applied there, and how many there are."""
    with with_patience(lambda _: connect(place), patience=5.0, repeatable=True) as link:
        try:
            return applied(link, place.schema)[0], len(migrations("postgres"))
        except DriverError as cause:
            raise meaning(link, cause, asked=False)[0] from cause


def pooling(place: PostgresPlace) -> Pooling:
    """Whether something like pgbouncer stands between, and how it shares the server's connections.

    It names a process to be cancelled that is not the server's own. Where two clients that are both there were served by one
    process, or one client by two, connections go round with every transaction. Where neither is seen each seems to keep its own:
    that is session mode, as far as can be told. "unknown": there was no connection to be had for a second client.
    """
    with with_patience(lambda _: connect(place), patience=5.0, repeatable=True) as link:
        try:
            own = _process(link)
            if own == link.info.backend_pid:
                return "none"
            return _shared(place, own) or ("session" if _process(link) == own else "transaction")
        except DriverError as cause:
            raise meaning(link, cause, asked=False)[0] from cause


def _process(link: Link) -> int:
    """Which of the server's processes answers."""
    [(pid,)] = link.execute("SELECT pg_backend_pid()").fetchall()
    return int(pid)


def _shared(place: PostgresPlace, pid: int) -> Pooling | None:
    """Whether others get this process while its client is there; they hold on to what they get, so that each gets another."""
    others: list[Link] = []
    try:
        for _ in range(_OTHERS):
            others.append(connect(place))
            others[-1].limit = _MOMENT
            others[-1].execute("BEGIN")
            if _process(others[-1]) == pid:
                return "transaction"
    except (Broken, DriverError):
        return "unknown"
    finally:
        for link in others:
            with suppress(DriverError):
                link.rollback()  # a pooler gives up the connection of who leaves in the middle of a transaction
            link.close()
    return None


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
