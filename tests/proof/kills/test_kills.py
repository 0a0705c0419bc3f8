"""G1, G2, G4, G5: whoever is killed, and whenever, nothing acknowledged is lost and nothing is stuck."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.proof import depth
from tests.proof.kills.crowd import open_crowd
from tests.proof.tally import Tally
from tests.support.fresh import Kind, fresh_url

_KILLS = depth.of(test=30, proof=64, torture=100)
_ROUNDS = depth.of(test=2, proof=5, torture=33)
"""Ten thousand kills in a round of torture."""
_PACE = depth.of(test=0.02, proof=0.005)
"""The most seconds between two enqueues of a producer."""
SCENES: list[tuple[Kind, int, int]] = [
    *(("sqlite", number, _KILLS) for number in range(1, _ROUNDS + 1)),
    *(("postgres", number, _KILLS) for number in range(1, _ROUNDS + 1)),
    *(("shared", number, _KILLS) for number in range(1, _ROUNDS + 1)),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("store", "number", "kills"),
    [pytest.param(*scene, id=f"{scene[0]}-{scene[1]}") for scene in SCENES],
)
def test_workers_producers_and_janitors_are_killed_and_nothing_acknowledged_is_lost(
    store: Kind, number: int, kills: int, tmp_path: Path, postgres_url: str, seed: int, tally: Tally
) -> None:
    chance = random.Random(f"{seed}-kills-{store}-{number}")
    with (
        fresh_url(store, tmp_path, postgres_url) as url,
        open_crowd(url, tmp_path, chance, g4=store != "sqlite") as crowd,
    ):
        workers = [
            crowd.add_worker("worker-a", 4),
            crowd.add_worker("worker-b", 2, "--no-janitor"),
        ]
        crowd.add_producer("producer-a", _PACE)
        crowd.add_producer("producer-b", _PACE, "async")
        crowd.add_janitor()
        crowd.strike(kills)
        crowd.rest()
        made = crowd.balance()
        assert [w.process.leave() for w in workers if w.process is not None] == [0, 0]
    tally.on(store, kills=crowd.kills.total(), **crowd.kills_by_actor(), crashes=made.crashes)
    tally(jobs=made.stored, losses=made.losses, taken_away=made.taken_away)
    tally(stale_tried=crowd.rivals.tried, stale_refused=made.refused)
