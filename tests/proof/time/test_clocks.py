"""Clocks that jump by an hour while jobs run, and workers whose clocks differ.

On PostgreSQL the database's clock decides, so the clock of a worker's machine means nothing. On SQLite the machine's clock is the
store's: when it leaps, leases may look over, and what is lost by that has not crashed.
"""

from __future__ import annotations

import random

import pytest

from tests.proof import depth
from tests.proof.tally import Tally
from tests.proof.time.crew import Crew
from tests.support.fresh import kind_of
from tests.support.workers import Scene, WorkerProcess, until

JUMPS = depth.of(test=2, proof=20)
_HOUR = 3_600


@pytest.mark.timeout(depth.of(test=120, proof=600))
def test_a_clock_that_jumps_an_hour_forth_and_back_costs_nobody_a_crash_or_an_attempt(
    scene: Scene, seed: int, tally: Tally
) -> None:
    draw = random.Random(f"{seed}-jumps")
    crew = Crew(scene, draw, 2, "10s")
    for jump in range(JUMPS):
        for worker in crew.workers:
            until(lambda w=worker: _holds(crew, w))  # type: ignore[misc]
        ahead = _HOUR if jump % 2 == 0 else draw.choice((0, -_HOUR))
        crew.set_clock(ahead)
        noted = crew.noted()
        crew.enqueue(4, 0.5)
        crew.beats(crew.workers)
        until(lambda ahead=ahead, noted=noted: _sees(crew, ahead, noted))  # type: ignore[misc]
        if jump % 2 == 0 and scene.url.startswith("sqlite"):
            until(lambda: crew.beats_ahead() > _HOUR / 2)  # the machine's clock is the store's
    crew.set_clock(0)
    # On PostgreSQL no worker's own clock takes a job from anybody.
    sums = crew.balances(lost=0 if scene.url.startswith("postgresql") else JUMPS * crew.at_once)
    tally.on(kind_of(scene.url), jumps=JUMPS)
    tally(jobs=sums.acked, run_twice=sums.doubled, refused=crew.refused(), losses=sums.losses)


@pytest.mark.parametrize("scene", ["postgres"], indirect=True)
def test_workers_whose_clocks_are_an_hour_apart_take_nothing_from_each_other_and_start_nothing_early(
    scene: Scene, seed: int, tally: Tally
) -> None:
    draw = random.Random(f"{seed}-skew")
    crew = Crew(scene, draw, 3, "5s")
    for worker, ahead in zip(crew.workers, (-_HOUR, 0, _HOUR), strict=True):
        crew.set_clock(ahead, worker)
        worker.says("works on")
    crew.enqueue(depth.of(test=20, proof=200), 1.0)
    later = crew.enqueue(depth.of(test=10, proof=50), 0.3, delay="3s")
    until(lambda: all(_sees(crew, ahead, 0) for ahead in (-_HOUR, 0, _HOUR)))
    sums = crew.balances()
    assert sums.doubled == 0
    early = [job for job in scene.jobs(later) if job.started_at is None or job.started_at < job.run_at]
    assert not early
    tally(jobs=sums.acked, skewed_workers=3, losses=sums.losses)


def _holds(crew: Crew, worker: WorkerProcess) -> bool:
    """Whether a worker has work. Who finds its clock moved claims nothing for a while, and the other may do all there is meanwhile."""
    crew.supply(8, 2.0)
    return bool(crew.held_by(worker))


def _sees(crew: Crew, ahead: int, since: int) -> bool:
    """Whether a handler has run by such a clock since then: who finds its clock moved claims nothing for a while, so there must be work later."""
    crew.supply(8, 0.5)
    return crew.saw(ahead, since)
