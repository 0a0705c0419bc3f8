"""Fixtures of the proof about time: a fresh store on which workers are started, one for each kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fresh import KINDS, fresh_url
from tests.support.workers import Scene, open_scene


@pytest.fixture(params=KINDS)
def scene(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Scene]:
    """A fresh store of each kind; a test may name others."""
    with fresh_url(request.param, tmp_path, postgres_url) as url, open_scene(url, tmp_path) as scene:
        yield scene
