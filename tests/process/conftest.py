"""Fixtures of tests about processes: a store by its URL, to be opened by whoever is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fresh import KINDS, Kind, fresh_url
from tests.support.workers import Scene, open_scene


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


@pytest.fixture(params=["sqlite", "postgres"])
def scene(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Scene]:
    """A fresh store on which workers are started; a test may name other kinds of store."""
    with fresh_url(request.param, tmp_path, postgres_url) as made, open_scene(made, tmp_path) as scene:
        yield scene
