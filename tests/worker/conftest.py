"""Fixtures of the worker's tests: an app on each store, and workers of it in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fresh import KINDS, empty_url
from tests.worker.apps import app as child_app
from tests.worker.house import House


@pytest.fixture(autouse=True)
def _marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What workers leave on the machine is left in the test's own folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture(params=KINDS)
def house(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[House]:
    """An app on a fresh store, one for each store."""
    with empty_url(request.param, tmp_path, postgres_url) as url:
        made = House(request.param, url)
        yield made
        made.close()


@pytest.fixture(params=[k for k in KINDS if k != "sqlite"])
def own_house(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[House]:
    """The same on the stores in which handlers can have transactions of their own."""
    with empty_url(request.param, tmp_path, postgres_url) as url:
        made = House(request.param, url)
        yield made
        made.close()


@pytest.fixture(params=KINDS)
def parent_house(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[House]:
    """The app of tests/worker/apps.py, which child processes can import, on a fresh store."""
    with empty_url(request.param, tmp_path, postgres_url) as url:
        monkeypatch.setenv("TENURE_URL", url)
        monkeypatch.setenv("TENURE_TEST_FOLDER", str(tmp_path))
        made = House(request.param, url, child_app)
        yield made
        made.close()
        child_app.listeners.__init__()  # type: ignore[misc]
