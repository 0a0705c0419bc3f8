"""A pytest plugin: the conformance suite's queues on PostgreSQL come as the role that `--as-role` names, in schemas that a migrator made.

A worker and a migrator may say everything, and do. Of what a producer or a viewer may not say, somebody else says it in
the same test: enqueuing comes as the producer, looking as the viewer, and the rest as a worker. A test's own SQL and transactions keep
coming as the administrator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, cast

import psycopg
import pytest

import tenure
from tests.conformance import conftest
from tests.proof.roles.house import House, Role, furnished
from tests.support import places

__all__ = ["pytest_addoption", "pytest_configure", "pytest_unconfigure"]

_VERBS: Mapping[str, frozenset[str]] = {
    "producer": frozenset({"enqueue", "enqueue_many", "get", "_store", "_verbs"}),
    "viewer": frozenset({
        "audits", "count", "counts", "error_groups", "explain", "get", "history", "hooks", "list", "next_due", "note",
        "notes", "paused", "pulse", "request", "rollups", "samples", "schedules", "workers",
    }),
}  # fmt: skip
"""What comes as a role that may say only some of it."""

_left = ExitStack()
_free: list[House] = []
_houses: dict[str, House] = {}


class _Two:
    """A queue of two connections: some verbs are said by the one, the rest by the other."""

    def __init__(self, one: Any, other: Any, said_by_one: frozenset[str]) -> None:
        self._one, self._other, self._said_by_one = one, other, said_by_one

    def __getattr__(self, name: str) -> Any:
        if name == "target":
            return _Two(self._one.target, self._other.target, self._said_by_one)
        return getattr(self._one if name in self._said_by_one else self._other, name)

    def __enter__(self) -> _Two:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> Any:
        closed = self._one.close(), self._other.close()
        return _each(*closed) if all(map(isawaitable, closed)) else None


async def _each(*closed: Any) -> None:
    for one in closed:
        await one


@dataclass
class _Shared(places.Place):
    """A store where some verbs come as another role."""

    role: Role = "viewer"
    role_url: str = ""

    def open(self, **options: Any) -> tenure.Queue:
        other = super().open(**options)
        plain, self.url = self.url, self.role_url
        try:
            one = super().open(**options)
        finally:
            self.url = plain
        return cast("tenure.Queue", _Two(one, other, _VERBS[self.role]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--as-role", required=True, choices=("producer", "worker", "viewer", "migrator"))


def pytest_configure(config: pytest.Config) -> None:
    role: Role = config.getoption("--as-role")
    plain = conftest._place

    def place(store: Any, way: str, tmp_path: Any, postgres_url: str, loop: Any) -> places.Place:
        made = plain(store, way, tmp_path, postgres_url, loop)
        if store != "postgres":
            return made
        house = _free.pop() if _free else _left.enter_context(furnished(postgres_url))
        _houses[house.schema] = house
        made.schema, made.url = house.schema, house.url(role)
        if role not in _VERBS:
            return made
        return _Shared(
            made.store, made.way, house.url("worker"), None, postgres_url, house.schema, loop,
            role=role, role_url=house.url(role),
        )  # fmt: skip

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
