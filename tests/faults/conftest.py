"""A PostgreSQL of a test's own, whose processes may be stopped and ended, and a store there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fresh import postgres_schema
from tests.support.postgres import PostgresServer


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture
def own_url(own_server: PostgresServer) -> Iterator[str]:
    """A fresh store; its name is that of its connections, too."""
    with postgres_schema(own_server.url()) as schema:
        yield f"{own_server.url()}?schema={schema}&application_name={schema}"
