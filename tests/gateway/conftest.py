"""Fixtures of the gateway's tests: a house on each store, and a gateway as a process on each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.testing.telegram import FakeTelegram
from tests.gateway.bot import TOKEN
from tests.gateway.house import House
from tests.gateway.process import GatewayProcess
from tests.support.fresh import empty_url
from tests.support.workers import Scene, open_scene
from tests.worker.house import Working


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[House]:
    """An app on a fresh store; its gateways are served by a real server."""
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


@pytest.fixture(params=["sqlite", "postgres"])
def scene(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Scene]:
    """A fresh store on which processes are started; a test may name one kind of store alone."""
    with empty_url(request.param, tmp_path, postgres_url) as made, open_scene(made, tmp_path) as scene:
        yield scene


@pytest.fixture
def gateway(scene: Scene) -> Iterator[GatewayProcess]:
    """The ledger's gateway, as a process on that store."""
    started = GatewayProcess(scene)
    yield started
    started.close()


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    """Telegram's side of a bot."""
    with FakeTelegram(TOKEN) as started:
        yield started


@pytest.fixture
def working(house: House) -> Iterator[list[Working]]:
    """Workers that are stopped at the end, before the store goes."""
    started: list[Working] = []
    yield started
    for worker in started:
        worker.stop()
