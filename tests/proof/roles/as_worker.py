"""A pytest plugin: the conformance suite's queues on PostgreSQL come as a worker, in schemas that a migrator made.

A test's own SQL and transactions keep coming as the administrator.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from tests.conformance import conftest
from tests.proof.roles.house import House, furnished
from tests.support import places

__all__ = ["pytest_configure", "pytest_unconfigure"]

_left = ExitStack()
_free: list[House] = []
_houses: dict[str, House] = {}


def pytest_configure() -> None:
    plain = conftest._place

    def place(store: Any, way: str, tmp_path: Any, postgres_url: str, loop: Any) -> places.Place:
        made = plain(store, way, tmp_path, postgres_url, loop)
        if store == "postgres":
            house = _free.pop() if _free else _left.enter_context(furnished(postgres_url))
            _houses[house.schema] = house
            made.schema, made.url = house.schema, house.url("worker")
        return made

    def give_back(url: str, schema: str) -> None:
        """Empty it for the next test."""
        with psycopg.connect(url, autocommit=True) as link:
            tables = link.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'meta'", (schema,)
            ).fetchall()
            for (table,) in tables:
                link.execute(f'DELETE FROM "{schema}"."{table}"'.encode())
            link.execute(f'ALTER SEQUENCE "{schema}".jobs_seq_seq RESTART'.encode())
        _free.append(_houses[schema])

    conftest._place = place
    setattr(places, "give_back", give_back)  # noqa: B010 - not exported by name


@pytest.fixture(scope="session", autouse=True)
def _taken_down(postgres_url: str) -> Iterator[None]:
    """The schemas go before the database does."""
    yield
    _left.close()


def pytest_unconfigure() -> None:
    _left.close()
