"""Fresh stores by URL, for tests that are about processes, servers and files rather than verbs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from uuid import uuid4

import psycopg

from tests.support import schemas, templates

__all__ = ["KINDS", "Kind", "empty_url", "fresh_url", "kind_of", "postgres_schema"]

Kind = Literal["sqlite", "shared", "postgres"]
KINDS: list[Kind] = ["sqlite", "shared", "postgres"]


def kind_of(url: str) -> Kind:
    """The kind of store that this URL is of."""
    return "postgres" if url.startswith("postgres") else "shared" if "shared=true" in url else "sqlite"


@contextmanager
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """The name of a schema that nobody has, and that is gone afterwards."""
    schema = f"t_{uuid4().hex[:16]}"
    yield schema
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        for left in reversed(range(5)):
            try:
                connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'.encode())
                break
            except (
                psycopg.errors.DeadlockDetected
            ):  # what a test has cut off may still be at its last statement
                if not left:
                    raise


@contextmanager
def fresh_url(kind: Kind, folder: Path, postgres_url: str) -> Iterator[str]:
    """The URL of a store that does not exist yet."""
    if kind == "postgres":
        with postgres_schema(postgres_url) as schema:
            yield f"{postgres_url}?schema={schema}"
    else:
        yield _in(folder, kind)


@contextmanager
def empty_url(kind: Kind, folder: Path, postgres_url: str) -> Iterator[str]:
    """The URL of an empty store, as the migrations make it: at hand much sooner than one that is still to be made."""
    if kind == "postgres":
        schema = schemas.take()
        yield f"{postgres_url}?schema={schema}"
        schemas.give_back(postgres_url, schema)
    else:
        templates.put(folder / "jobs.db", shared=kind == "shared")
        yield _in(folder, kind)


def _in(folder: Path, kind: Kind) -> str:
    return f"sqlite:///{folder}/jobs.db{'?shared=true' if kind == 'shared' else ''}"
