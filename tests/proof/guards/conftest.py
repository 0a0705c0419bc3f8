"""Fixtures of the tests of single statements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proof.guards.workbench import Workbench, furnish


@pytest.fixture(params=["sqlite", "postgres"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Workbench]:
    """A store whose statements are run one by one."""
    with furnish(request.param, tmp_path, postgres_url) as made:
        yield made


@pytest.fixture(params=["postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Workbench]:
    """The same where there are locks on rows."""
    with furnish(request.param, tmp_path, postgres_url) as made:
        yield made


@pytest.fixture(params=["sqlite"])
def file(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Workbench]:
    """The same where there are files."""
    with furnish(request.param, tmp_path, postgres_url) as made:
        yield made
