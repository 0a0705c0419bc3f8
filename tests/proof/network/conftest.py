"""Fixtures of the network's proof: a schema, and the wire to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fresh import postgres_schema
from tests.support.proxy import Proxy


@pytest.fixture
def schema(postgres_url: str) -> Iterator[str]:
    """A schema that nobody has yet."""
    with postgres_schema(postgres_url) as name:
        yield name


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    """The wire between Tenure and PostgreSQL."""
    with Proxy(postgres_url) as made:
        yield made


@pytest.fixture
def direct(postgres_url: str, schema: str) -> str:
    """The store, past the wire."""
    return f"{postgres_url}?schema={schema}"
