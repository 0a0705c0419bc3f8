"""Fixtures of the app's tests: an app on every store, called both ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.front import Front
from tests.conformance.conftest import loop, own_place, place
from tests.support.places import Place

__all__ = ["front", "loop", "own_place", "place"]


@pytest.fixture
def front(place: Place) -> Iterator[Front]:
    """An app on a fresh store, with the jobs of a small shop."""
    made = Front(place)
    yield made
    made.close()
