"""Workers that are killed: only the guilty pay, and nobody waits for a lease where somebody saw it happen."""

from __future__ import annotations

import signal

from tenure import State
from tests.support.workers import EVERY_STORE, Scene, WorkerProcess, until


def kill_while_it_jams(scene: Scene, job_id: str, held: int) -> WorkerProcess:
    """Start a worker, wait until it runs this job and holds so many, and kill it."""
    worker = scene.start("-c", "60")
    scene.begun(job_id)
    until(lambda: scene.counts.get("running") == held)
    worker.kill()
    return worker


@EVERY_STORE
def test_a_poison_job_among_two_thousand_good_ones_dies_alone_after_three_crashes(scene: Scene) -> None:
    good = scene.enqueue("good", 1_000)
    [poison] = scene.enqueue("poison")
    good += scene.enqueue("good", 1_000)
    pool = scene.start("--processes", "4")
    until(lambda: scene.counts == {"done": 2_000, "dead": 1})
    dead = scene.job(poison)
    assert (dead.state, dead.reason, dead.crashes) == (State.DEAD, "poison", 3)
    story = scene.q.history(poison)
    assert [told.error_kind for told in story] == ["Crash"] * 3
    assert "worker" in story[0].message
    assert all("killed by SIGKILL while it ran this job" in told.message for told in story[1:])
    pool.send(signal.SIGTERM)
    assert pool.left() == 0


@EVERY_STORE
def test_of_a_killed_worker_s_jobs_only_the_one_in_flight_has_crashed(scene: Scene) -> None:
    [guilty] = scene.enqueue("jam", priority=1)
    waiting = scene.enqueue("good", 59)
    kill_while_it_jams(scene, guilty, 60)
    scene.open_gate()
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 60})
    assert scene.job(guilty).crashes == 1
    assert [told.error_kind for told in scene.q.history(guilty)] == ["Crash"]
    assert {(job.crashes, job.attempt) for job in scene.jobs(waiting)} == {(0, 1)}


def test_workers_leave_no_marks_and_no_folder_once_all_is_told(scene: Scene) -> None:
    [guilty] = scene.enqueue("jam")
    kill_while_it_jams(scene, guilty, 1)
    assert len(list(scene.folder.glob("tenure-*/*/*.marks"))) == 1
    scene.open_gate()
    second = scene.start()
    until(lambda: scene.counts == {"done": 1})
    second.send(signal.SIGTERM)
    assert second.left() == 0
    assert list(scene.folder.glob("tenure-*/*")) == []


def test_a_job_that_crashed_is_run_apart_the_next_time(scene: Scene) -> None:
    [guilty] = scene.enqueue("jam")
    first = kill_while_it_jams(scene, guilty, 1)
    assert [note.pid for note in scene.notes()] == [first.pid]
    scene.open_gate()
    second = scene.start()
    until(lambda: scene.counts == {"done": 1})
    assert scene.notes()[-1].pid not in {first.pid, second.pid}


def test_however_often_its_worker_is_killed_a_job_that_only_waited_has_not_crashed(scene: Scene) -> None:
    waiting = scene.enqueue("good", 30)
    guilty = []
    for turn in range(5):
        guilty += scene.enqueue("jam", priority=turn + 1)
        kill_while_it_jams(scene, guilty[-1], 31 + turn)
    scene.open_gate()
    scene.start()
    until(lambda: scene.counts == {"done": 35})
    assert {job.crashes for job in scene.jobs(waiting)} == {0}
    assert {job.crashes for job in scene.jobs(guilty)} == {1}
