"""Fixtures of the doctor's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tenure
from tests.support.fresh import empty_url, fresh_url
from tests.support.templates import put


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """A store that was made and is empty, on each database."""
    with empty_url(request.param, tmp_path, postgres_url) as made:
        tenure.open(made).close()
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A SQLite store that was made and is empty."""
    path = tmp_path / "jobs.db"
    put(path, shared=False)
    return path


@pytest.fixture
def on_server(tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """The same on PostgreSQL, with no traces of earlier ones; the tests' server runs without fsync."""
    with fresh_url("postgres", tmp_path, postgres_url) as made:
        tenure.open(made).close()
        yield made
