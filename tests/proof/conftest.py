"""What every proof can ask for: the seed it draws from and the tally it counts into.

At the depths of `make proof` and `make torture` every test here carries the mark `proof`, so that `-m proof` finds it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.measure import say
from tests.proof import depth
from tests.proof.tally import Tally

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if depth.DEPTH != "test":
        for item in items:
            if _HERE in item.path.parents:
                item.add_marker(pytest.mark.proof)
    if depth.DEPTH == "torture":
        # A round may be cut short: what it leaves out is another part each time.
        random.Random(depth.seed()).shuffle(items)
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """What takes longest begins first, what is there to fill the time last."""
    return 2 if item.get_closest_marker("more") else 0 if item.path.parent.name == "soak" else 1


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Counts of this test; the topic is its file's subject (test_kills.py: kills)."""
    return Tally(request.path.stem.removeprefix("test_"), request.node.user_properties)


@pytest.fixture
def seed(tally: Tally) -> int:
    """The run's seed: the same draws again with TENURE_SEED set to it. Printed at the run's end, and with a failure."""
    drawn = depth.seed()
    say(f"TENURE_SEED={drawn} draws the same again")
    tally.seeded(drawn)
    return drawn
