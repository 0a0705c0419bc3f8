"""Fixtures of the dashboard's tests: a house on each store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.house import House, Served
from tests.support.fresh import empty_url


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[House]:
    """An app on a fresh store; its dashboards are served by a real server."""
    with empty_url(request.param, tmp_path, postgres_url) as url:
        made = House(url)
        yield made
        made.close()


@pytest.fixture
def light(tmp_path: Path) -> Iterator[House]:
    """A house on a file, for what no store has a say in."""
    made = House(f"sqlite:///{tmp_path}/jobs.db")
    yield made
    made.close()


@pytest.fixture
def page(house: House) -> Served:
    """A dashboard that asks nobody who they are."""
    return house.serve()
