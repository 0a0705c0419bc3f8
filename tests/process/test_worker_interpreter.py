"""Handlers that let no other Python run: their claims are kept all the same."""

from __future__ import annotations

import pytest

from tests.support.workers import Scene, WorkerProcess, until


def ends_in_peace(scene: Scene, job: str, worker: WorkerProcess) -> None:
    """Another worker stands by to take over what is lost; nothing is."""
    scene.begun(job)
    scene.start("--lease", "3s", "--poll", "500ms")
    until(lambda: scene.counts == {"done": 1})
    seen = scene.job(job)
    assert (seen.attempt, seen.crashes, seen.epoch) == (1, 0, 1)
    assert len(scene.notes()) == 1
    assert "lost" not in worker.log


def test_a_handler_that_holds_the_gil_for_less_than_five_sixths_of_the_lease_keeps_its_claim(
    scene: Scene,
) -> None:
    [job] = scene.enqueue("grabs", seconds=4)
    ends_in_peace(scene, job, scene.start("--lease", "8s"))


def test_a_handler_that_blocks_the_event_loop_for_longer_than_the_lease_keeps_its_claim(scene: Scene) -> None:
    [job] = scene.enqueue("sleeps", seconds=6)
    ends_in_peace(scene, job, scene.start("--lease", "3s"))


@pytest.mark.proof
def test_a_handler_that_holds_the_gil_for_twenty_seconds_keeps_its_claim(scene: Scene) -> None:
    [job] = scene.enqueue("grabs", seconds=20)
    ends_in_peace(scene, job, scene.start())
