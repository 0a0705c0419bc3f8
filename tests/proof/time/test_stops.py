"""Workers that are stopped (SIGSTOP) past their lease: others take over, and who wakes up changes nothing and has no crash to answer for."""

from __future__ import annotations

import random
import signal
import time

import pytest

from tests.proof import depth
from tests.proof.tally import Tally
from tests.proof.time.crew import Crew
from tests.support.fresh import kind_of
from tests.support.workers import Scene, WorkerProcess, until

PARTS = depth.of(test=1, proof=5)
STOPS = depth.of(test=2, proof=20)
_LEASE = "2s"
_LONG_LEASE = "45s"
"""When such a lease is over, the last beat of its worker is so old that whoever takes over counts a crash."""
_LONGEST = 20.0
"""How long a stopped worker's jobs may take to be taken over before the stop itself is the reason: it may have been stopped in
the midst of a transaction, with a row's lock in its hands. Such a stop counts for nothing."""
_LOCKED = depth.of(test=2, proof=4)
"""How many of these there may be."""


def stop_busy(crew: Crew, worker: WorkerProcess, *, known: bool = False) -> set[tuple[str, int]]:
    """Stop a worker in the midst of a handler, of which the store is to know perhaps; the claims it holds."""

    def busy() -> set[tuple[str, int]]:
        crew.supply(
            *(4, 12.0) if known else (12, 1.5)
        )  # the others may have been quicker with what there was
        held = crew.held_by(worker, known=known)
        return held if crew.begun(held) else set()

    while True:
        until(busy)
        crew.scene.stop(worker)
        if held := busy():
            return held
        worker.send(signal.SIGCONT)


def taken_over(crew: Crew, held: set[tuple[str, int]]) -> bool:
    """Wait until others have these jobs; whether they could have them."""
    deadline = time.monotonic() + _LONGEST
    while time.monotonic() < deadline:
        epochs = {str(job): epoch for job, epoch in crew.scene.sql("SELECT id, epoch FROM tenure.jobs")}
        if all(epochs.get(job, epoch + 1) > epoch for job, epoch in held):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.timeout(depth.of(test=120, proof=600))
@pytest.mark.parametrize("part", range(PARTS))
def test_jobs_of_a_worker_that_stands_still_are_done_by_others_and_nobody_is_blamed(
    part: int, scene: Scene, seed: int, tally: Tally
) -> None:
    draw = random.Random(f"{seed}-stops-{part}")
    crew = Crew(scene, draw, 3, _LEASE)
    for worker in crew.workers:
        worker.says("works on")
    stops, locked, held_then = 0, 0, set[tuple[str, int]]()
    while stops < STOPS:
        asleep = draw.sample(crew.workers, 2)
        held = {job for worker in asleep for job in stop_busy(crew, worker)}
        taken = taken_over(crew, held)
        for worker in asleep:
            worker.send(signal.SIGCONT)
        crew.beats(asleep)
        held_then |= held
        if not taken:
            locked += 1
            assert locked <= _LOCKED, "again and again nobody could take over from workers that stand still"
            continue
        stops += len(asleep)
        tally.on(kind_of(scene.url), stops=len(asleep))
        tally(taken_over=len(held))
    sums = crew.balances(lost=(STOPS // 2 + locked) * crew.at_once)
    lost = {job for job, _ in crew.outlived(crew.begun(held_then))}
    assert lost, "nobody had lost anything"
    until(lambda: lost <= crew.told_lost())
    tally(locks_held=locked, jobs=sums.acked, run_twice=sums.doubled, losses=sums.losses)
    tally(told_of_their_loss=len(lost & crew.told_lost()))


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_a_worker_that_stands_still_until_it_is_taken_for_dead_takes_the_crash_back(
    scene: Scene, seed: int, tally: Tally
) -> None:
    draw = random.Random(f"{seed}-long-stop")
    crew = Crew(scene, draw, 2, _LONG_LEASE)
    for worker in crew.workers:
        worker.says("works on")
    stop_busy(crew, crew.workers[0], known=True)
    until(crew.crashes, within=150)
    crew.workers[0].send(signal.SIGCONT)
    crew.beats(crew.workers)
    until(lambda: not crew.crashes())
    at = crew.balances(lost=crew.at_once)
    tally.on(kind_of(scene.url), stops=1)
    tally(jobs=at.acked, losses=at.losses)
