"""Child processes of workers: those that die idle harm nobody, and none outlives its worker."""

from __future__ import annotations

import os
import signal

from tenure import State
from tests.support.workers import Scene, alive, until


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
