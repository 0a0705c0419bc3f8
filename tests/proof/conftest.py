"""What every proof can ask for: the seed it draws from and the tally it counts into.

At the depths of `make proof` and `make torture` every test here carries the mark `proof`, so that `-m proof` finds it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.measure import say
from tests.proof import depth
from tests.proof.intact import taken
from tests.proof.ledger import JobsLost
from tests.proof.order import spread, strand_of
from tests.proof.tally import Tally, add_if_counted, add_losses, topic_of

_HERE = Path(__file__).parent
_LONGEST = 600
"""How many seconds a test may take that does many times as much as in `make test`."""
_BESIDE_OTHERS = 4
"""How many times as long it may take where a soak, and who knows what else, goes on beside it all the time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if depth.DEPTH != "test":
        for item in items:
            if _HERE in item.path.parents:
                item.add_marker(pytest.mark.proof)
                _give_time(item)
    if depth.DEPTH == "torture":
        # A round may be cut short: what it leaves out is another part each time, and of nothing all.
        items[:] = spread(items, strand_of, random.Random(depth.seed()))
        # What takes longest begins first.
        items.sort(key=lambda item: item.path.parent.name != "soak")


def _give_time(item: pytest.Item) -> None:
    """How long a test may take at this depth."""
    told = item.get_closest_marker("timeout")
    longest = _LONGEST if told is None else told.args[0]
    if told is None or depth.DEPTH == "torture":
        times = _BESIDE_OTHERS if depth.DEPTH == "torture" else 1
        item.add_marker(pytest.mark.timeout(longest * times), append=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Who finds jobs lost fails before it can count them; and nobody counts by which means stores were found sound."""
    if call.when == "call":
        add_if_counted(item, taken())
    if call.excinfo is not None and isinstance(call.excinfo.value, JobsLost):
        add_losses(item, call.excinfo.value.losses)


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Counts of this test; the topic is its file's subject (test_kills.py: kills)."""
    return Tally(topic_of(request.path), request.node.user_properties)


@pytest.fixture
def seed(tally: Tally) -> int:
    """The run's seed: the same draws again with TENURE_SEED set to it. Printed at the run's end, and with a failure."""
    drawn = depth.seed()
    say(f"TENURE_SEED={drawn} draws the same again")
    tally.seeded(drawn)
    return drawn
