"""A store beside the user's own, of the same kind and on the same disk or server, for a while: their jobs are not touched."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import click

from tenure.config import SqlitePlace, locate

__all__ = ["PREFIX", "aside"]

PREFIX: Final = "tenure_bench_"


@contextmanager
def aside(url: str) -> Iterator[str]:
    """The URL of an empty store, which is gone afterwards: a file in a folder of its own, or a schema."""
    place = locate(url)
    if isinstance(place, SqlitePlace):
        with _folder(Path(place.path).resolve().parent) as folder:
            options = [f"durability={place.durability}"]
            options += ["shared=true", f"prefix={place.prefix}"] if place.shared else []
            yield f"sqlite:///{folder}/jobs.db?{'&'.join(options)}"
        return
    other = _schema(url)
    from tenure.store.open import erase_store

    try:
        yield other
    finally:
        erase_store(other)


@contextmanager
def _folder(beside: Path) -> Iterator[Path]:
    try:
        made = tempfile.TemporaryDirectory(dir=beside, prefix=f".{PREFIX}")
    except OSError as error:
        raise click.ClickException(f"cannot make a folder beside the store: {error}") from None
    with made as name:
        yield Path(name)


def _schema(url: str) -> str:
    """The same server and database, another schema."""
    parts = urlsplit(url)
    options = [part for part in parts.query.split("&") if part and part.partition("=")[0] != "schema"]
    options.append(f"schema={PREFIX}{secrets.token_hex(5)}")
    return urlunsplit(parts._replace(query="&".join(options)))
