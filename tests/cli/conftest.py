"""Fixtures of the command's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.support.fresh import empty_url, fresh_url
from tests.support.templates import put


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A store in a SQLite file of its own, made and empty."""
    put(tmp_path / "jobs.db", shared=False)
    return Desk(tmp_path, f"sqlite:///{tmp_path}/jobs.db")


@pytest.fixture
def postgres_desk(tmp_path: Path, postgres_url: str) -> Iterator[Desk]:
    """One on PostgreSQL, not made yet."""
    with fresh_url("postgres", tmp_path, postgres_url) as url:
        yield Desk(tmp_path, url)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """The URL of one, made and empty, on either database."""
    with empty_url(request.param, tmp_path, postgres_url) as url:
        yield url
