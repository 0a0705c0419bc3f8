"""Fixtures of the page's tests: one browser for them all, and a tab on a dashboard of a fresh store.

The browser ends with the last test of this folder, not with the run: while it lives, an event loop runs in this thread, and
tests elsewhere have loops of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.dashboard.house import House, Served
from tests.support import chromium
from tests.support.fresh import empty_url

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.dashboard.pages.tab import Tab

_FOUND = chromium.find()
collect_ignore_glob = [] if _FOUND else ["test_*.py"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    from playwright.sync_api import sync_playwright

    from tests.dashboard.pages.tab import launch

    assert _FOUND is not None
    with sync_playwright() as playwright:
        made = launch(playwright, _FOUND)
        yield made
        made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[House]:
    """As elsewhere, but closed in a thread, where no browser's loop runs."""
    with empty_url(request.param, tmp_path, postgres_url) as url:
        yield from _closing(House(url))


@pytest.fixture
def light(tmp_path: Path) -> Iterator[House]:
    """The same, on a file."""
    yield from _closing(House(f"sqlite:///{tmp_path}/jobs.db"))


def _closing(made: House) -> Iterator[House]:
    yield made
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(made.close).result()


@pytest.fixture
def tab(browser: Browser, house: House, page: Served) -> Iterator[Tab]:
    """A tab on a dashboard of a fresh store; at its end nothing was complained about, and no other host was asked."""
    from tests.dashboard.pages.tab import opened

    with opened(browser, f"http://127.0.0.1:{page.port}") as made:
        yield made
        made.clean()
