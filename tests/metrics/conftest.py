"""Fixtures of the metrics' tests: an app on each store, workers of it in this process, and a registry of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from tenure.metrics.prometheus import let_go
from tests.metrics import traced
from tests.support.fresh import KINDS, empty_url
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


@pytest.fixture(params=KINDS)
def traced_house(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[House]:
    """The app of tests/metrics/traced.py, which child processes can import, on a fresh store."""
    with empty_url(request.param, tmp_path, postgres_url) as url:
        monkeypatch.setenv("TENURE_URL", url)
        traced.exporter.clear()
        made = House(request.param, url, traced.app)
        yield made
        made.close()
        asyncio.run(traced.app.aclose())


@pytest.fixture
def registry() -> Iterator[CollectorRegistry]:
    """A registry that nobody else collects in."""
    made = CollectorRegistry()
    yield made
    let_go(made)
