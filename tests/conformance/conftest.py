"""Fixtures of the conformance suite: every test runs on every store and both ways of calling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tenure
from tests.support import schemas, templates
from tests.support.clock import MovedClock
from tests.support.places import WAYS, Loop, Place


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    """The event loop that async queues are called on."""
    loop = Loop()
    yield loop
    loop.close()


def _place(store: str, way: str, tmp_path: Path, postgres_url: str, loop: Loop) -> Place:
    path = tmp_path / "jobs.db"
    schema = schemas.take() if store == "postgres" else ""
    if store != "postgres":
        templates.put(path, shared=store == "shared")
    urls = {
        "sqlite": f"sqlite:///{path}",
        "shared": f"sqlite:///{path}?shared=true",
        "postgres": f"{postgres_url}?schema={schema}",
    }
    return Place(store, way, urls[store], None if store == "postgres" else path, postgres_url, schema, loop)  # type: ignore[arg-type]


@pytest.fixture(params=WAYS, ids=lambda p: f"{p[0]}-{p[1]}")
def place(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str, loop: Loop) -> Iterator[Place]:
    """A fresh store, one for each store and way of calling."""
    store, way = request.param
    made = _place(store, way, tmp_path, postgres_url, loop)
    yield made
    made.close()


@pytest.fixture(params=[w for w in WAYS if w[0] != "sqlite"], ids=lambda p: f"{p[0]}-{p[1]}")
def own_place(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str, loop: Loop
) -> Iterator[Place]:
    """A fresh store in which callers can have transactions of their own (a file Tenure owns refuses them: see test_using)."""
    store, way = request.param
    made = _place(store, way, tmp_path, postgres_url, loop)
    yield made
    made.close()


@pytest.fixture
def q(place: Place) -> tenure.Queue:
    """A queue on a fresh store, with the store's own clock."""
    return place.open()


@pytest.fixture
def clock() -> MovedClock:
    """A clock that the test moves."""
    return MovedClock()


@pytest.fixture
def cq(place: Place, clock: MovedClock) -> tenure.Queue:
    """A queue on a fresh store whose clock is the test's own."""
    return place.open(clock=clock)
