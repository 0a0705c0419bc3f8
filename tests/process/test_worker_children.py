"""Child processes of workers: those that die idle harm nobody, none outlives its worker, and none pays for another's crash."""

from __future__ import annotations

import os
import signal

import pytest

from tenure import State
from tests.support.workers import Scene, WorkerProcess, alive, until


def test_a_child_that_died_while_it_was_idle_is_nobody_s_crash(scene: Scene) -> None:
    [first] = scene.enqueue("tells_apart")
    scene.start("--children", "1")
    child = scene.begun(first).pid
    until(lambda: scene.counts == {"done": 1})
    os.kill(child, signal.SIGKILL)
    until(lambda: not alive(child))
    [second] = scene.enqueue("tells_apart")
    until(lambda: scene.counts == {"done": 2})
    assert scene.begun(second).pid != child
    assert (scene.job(second).crashes, scene.q.history(second)) == (0, [])


def test_children_leave_when_their_worker_was_killed_and_what_they_ran_has_crashed(scene: Scene) -> None:
    [job] = scene.enqueue("hold_apart")
    worker = scene.start()
    child = scene.begun(job).pid
    assert child != worker.pid
    worker.kill()
    until(lambda: not alive(child))
    scene.open_gate()
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 1})
    assert scene.job(job).crashes == 1


def test_a_job_that_kills_its_worker_from_a_child_is_convicted_too(scene: Scene) -> None:
    [poison] = scene.enqueue("poison_apart")
    good = scene.enqueue("good", 200)
    pool = scene.start("--processes", "2", "--lease", "600s")
    until(lambda: scene.counts == {"done": 200, "dead": 1})
    dead = scene.job(poison)
    assert (dead.state, dead.reason, dead.crashes) == (State.DEAD, "poison", 3)
    assert {job.state for job in scene.jobs(good)} == {State.DONE}
    pool.send(signal.SIGTERM)
    assert pool.left() == 0


def _end_inside(scene: Scene, worker: WorkerProcess, how: str) -> None:
    """Have a job kill the worker from inside."""
    scene.enqueue("ends", how=how)
    assert worker.left() != 0


@pytest.mark.parametrize("how", ["exit", "segfault", "kill"])
def test_a_job_in_a_child_does_not_pay_for_one_that_kills_the_worker_from_inside(
    scene: Scene, how: str
) -> None:
    [innocent] = scene.enqueue("hold_apart")
    for turn in range(3):
        worker = scene.start("--lease", "600s")
        scene.begun(innocent, turn + 1)
        _end_inside(scene, worker, how)
    scene.open_gate()
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 1, "dead": 3})
    job = scene.job(innocent)
    assert (job.crashes, job.attempt, scene.q.history(innocent)) == (0, 1, [])


def test_a_job_that_crashed_once_beside_a_guilty_one_runs_apart_and_never_pays_again(scene: Scene) -> None:
    [innocent] = scene.enqueue("hold")
    for turn in range(4):
        worker = scene.start("--lease", "600s")
        assert (scene.begun(innocent, turn + 1).pid == worker.pid) == (turn == 0)
        _end_inside(scene, worker, "exit")
    scene.open_gate()
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 1, "dead": 4})
    assert scene.job(innocent).crashes == 1


@pytest.mark.parametrize(
    ("how", "crashes"), [(signal.SIGKILL, 1), (signal.SIGABRT, 0)], ids=["kill", "abort"]
)
def test_a_pool_blames_a_job_in_a_child_only_for_a_worker_that_was_killed(
    scene: Scene, how: signal.Signals, crashes: int
) -> None:
    [innocent] = scene.enqueue("hold_apart")
    pool = scene.start("--processes", "2", "--lease", "600s")
    scene.begun(innocent)
    for worker in pool.children:
        os.kill(worker, how)
    scene.begun(innocent, 2)
    assert scene.job(innocent).crashes == crashes
    scene.open_gate()
    until(lambda: scene.counts == {"done": 1})
    pool.send(signal.SIGTERM)
    assert pool.left() == 0
