"""Fixtures of tests about processes: a store by its URL, to be opened by whoever is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fresh import KINDS, Kind, fresh_url


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """A store that does not exist yet, of each kind."""
    kind: Kind = request.param
    with fresh_url(kind, tmp_path, postgres_url) as made:
        yield made


@pytest.fixture(params=[k for k in KINDS if k != "postgres"])
def file_url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """A SQLite store that does not exist yet: a file Tenure owns, and one it shares."""
    kind: Kind = request.param
    with fresh_url(kind, tmp_path, postgres_url) as made:
        yield made
