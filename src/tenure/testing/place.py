"""Where a test's jobs are kept: a store that nobody else has, and that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from tenure.config import PostgresPlace, locate
from tenure.errors import UsageError
from tenure.store.open import erase_store

__all__ = ["fresh_store"]


@contextmanager
def fresh_store(url: str | None) -> Iterator[str]:
    """The URL of a fresh store: a file in a folder of its own, or a corner of its own in the database `url` names."""
    if url is not None:
        yield from _corner(url)
        return
    with tempfile.TemporaryDirectory(prefix="tenure-") as folder:
        yield f"sqlite:///{quote(folder)}/jobs.db?durability=normal"


def _corner(url: str) -> Iterator[str]:
    """On PostgreSQL a schema, in a file of the user's own a prefix, else a file that must not be there yet."""
    place, name = locate(url), f"test_{uuid4().hex[:16]}"
    if isinstance(place, PostgresPlace):
        url = _with_option(url, "schema", name)
    elif place.shared:
        url = _with_option(url, "prefix", f"{name}_")
    elif Path(place.path).exists():
        raise UsageError(
            f"{place.path} exists, and a test's store is deleted at its end; name a file that is not there yet, or leave url out"
        )
    try:
        yield url
    finally:
        erase_store(url)


def _with_option(url: str, name: str, value: str) -> str:
    where, _, options = url.partition("?")
    kept = [option for option in options.split("&") if option and option.partition("=")[0] != name]
    return f"{where}?{'&'.join([*kept, f'{name}={value}'])}"
