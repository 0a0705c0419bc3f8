"""How far a file's schema is, without touching it, and the SQL that makes it."""

from __future__ import annotations

from pathlib import Path

from tenure.config import SqlitePlace
from tenure.store.migrate import migrations
from tenure.store.sqlite.connection import ApswLink, DriverError, Link, StdlibLink, meaning
from tenure.store.sqlite.dialect import sqlite_dialect
from tenure.store.sqlite.store import APPLICATION, META, applied, table_exists

__all__ = ["applied_in_file", "file_script"]


def applied_in_file(place: SqlitePlace) -> tuple[int, int]:
    """How many migrations were applied there, and how many there are."""
    known = len(migrations("sqlite"))
    if not Path(place.path).exists():
        return 0, known
    try:
        link: Link = StdlibLink(place.path) if place.shared else ApswLink(place.path)
        try:
            if not table_exists(link, f"{place.prefix}meta"):
                return 0, known
            return applied(link, place.prefix)[0], known
        finally:
            link.close()
    except DriverError as cause:
        raise meaning(cause, place.path) from cause


def file_script(place: SqlitePlace, *, since: int = 0) -> str:
    """All of it, or what comes after so many migrations, in one transaction; "": nothing does. An empty file is to be in WAL mode."""
    placed = sqlite_dialect(place.prefix).place
    steps = migrations("sqlite")[since:]
    if not steps:
        return ""
    first = ["PRAGMA journal_mode = WAL;", "BEGIN IMMEDIATE;", f"{placed(META)};"]
    parts = first if since == 0 else ["BEGIN IMMEDIATE;"]
    for step in steps:
        kept = f"INSERT INTO tenure_meta (number, name, min_client) VALUES ({step.number}, '{step.name}', {step.min_client});"
        parts += [placed(step.text).strip(), placed(kept)]
    if since == 0 and not place.shared:
        parts.append(f"PRAGMA application_id = {APPLICATION};")
    return "\n".join([*parts, "COMMIT;"])
