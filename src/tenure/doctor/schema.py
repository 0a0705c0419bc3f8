"""Whether the schema is what this code works with; nothing is migrated here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tenure.config import SqlitePlace, locate
from tenure.doctor.finding import Finding
from tenure.doctor.patient import Patient
from tenure.store.migrate import CLIENT
from tenure.store.open import applied_at

__all__ = ["before_opening", "schema"]


def before_opening(url: str) -> Finding | None:
    """What speaks against opening the store: opening would make or migrate it."""
    place = locate(url)
    if isinstance(place, SqlitePlace) and not Path(place.path).exists():
        fix = "say where the jobs are with --url, an app or $TENURE_URL; `tenure migrate` makes the file"
        return Finding("error", "schema", f"there is no file {place.path!r} here", fix)
    applied, known = applied_at(url)
    if applied < known:
        return Finding(
            "error", "schema", f"{applied} of {known} migrations are applied", "run `tenure migrate`"
        )
    return None


def schema(patient: Patient) -> Iterator[Finding]:
    """Migrations, and the oldest client that may work with them."""
    number, oldest = patient.number("migration"), patient.number("min_client")
    seen = f"migration {number}, for clients of schema {oldest} or later; this one is of {CLIENT}"
    if number > CLIENT:
        yield Finding("note", "schema", seen, "a newer Tenure works here too; upgrade this one when you can")
    else:
        yield Finding("ok", "schema", seen)
