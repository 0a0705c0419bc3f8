"""Fixtures of the command's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.support.fresh import fresh_url


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A store in a SQLite file of its own, made and empty."""
    made = Desk(tmp_path, f"sqlite:///{tmp_path}/jobs.db")
    made.queue().close()
    return made


@pytest.fixture
def postgres_desk(tmp_path: Path, postgres_url: str) -> Iterator[Desk]:
    """The same on PostgreSQL."""
    with fresh_url("postgres", tmp_path, postgres_url) as url:
        yield Desk(tmp_path, url)
