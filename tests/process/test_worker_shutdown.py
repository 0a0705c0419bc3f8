"""A worker that is told to stop: it finishes or gives back what it holds, and is gone in time, whatever hangs."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from tenure import State
from tests.support.fresh import postgres_schema
from tests.support.proxy import Proxy
from tests.support.workers import Scene, open_scene, until


def test_told_to_stop_it_finishes_what_runs(scene: Scene) -> None:
    [job] = scene.enqueue("hold")
    worker = scene.start()
    scene.begun(job)
    worker.send(signal.SIGTERM)
    worker.says("stops: 1 jobs are running")
    assert scene.job(job).state is State.RUNNING
    scene.open_gate()
    assert worker.left() == 0
    assert scene.job(job).state is State.DONE


def test_threads_that_handlers_left_behind_hold_up_nobody(scene: Scene) -> None:
    jobs = scene.enqueue("leaves_a_thread", 2)
    worker = scene.start()
    until(lambda: scene.counts == {"done": len(jobs)})
    worker.send(signal.SIGTERM)
    assert worker.left() == 0
    assert "threads are left that do not end" in worker.log


def test_told_to_stop_it_gives_back_what_waits_and_claims_nothing_more(scene: Scene) -> None:
    """One slot that has run many short jobs holds more of them than it can run at once."""
    scene.enqueue("good", 1_000)
    [running] = scene.enqueue("hold")
    waiting = scene.enqueue("good", 1_000)
    worker = scene.start("-c", "1")
    scene.begun(running)
    until(lambda: scene.counts["done"] == 1_000 and scene.counts["running"] > 1)
    worker.send(signal.SIGTERM)
    worker.says("stops: 1 jobs are running")
    scene.open_gate()
    assert worker.left() == 0
    assert scene.counts == {"done": 1_001, "ready": 1_000}
    assert {(job.attempt, job.crashes) for job in scene.jobs(waiting)} == {(0, 0)}


@pytest.mark.parametrize("scene", ["sqlite"], indirect=True)
def test_a_signal_that_any_of_its_threads_takes_is_heard_while_nothing_happens(scene: Scene) -> None:
    """Python runs its handler in the main thread, which sleeps: the kernel wakes the thread that it gave the signal to."""
    worker = scene.start()
    worker.says("works on")
    threads = {int(thread.name) for thread in Path(f"/proc/{worker.pid}/task").iterdir()}
    os.kill(max(threads - {worker.pid}), signal.SIGTERM)
    assert worker.left() == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_told_twice_it_gives_back_what_runs_at_once(scene: Scene, how: signal.Signals) -> None:
    [job] = scene.enqueue("hold")
    worker = scene.start("--grace", "600s")
    scene.begun(job)
    worker.send(how)
    worker.says("stops: 1 jobs are running")
    worker.send(how)
    assert worker.left() == 0
    seen = scene.job(job)
    assert (seen.state, seen.attempt, seen.crashes) == (State.READY, 0, 0)
    assert not scene.notes("ended")


def test_past_the_grace_period_an_async_handler_is_stopped_and_its_job_given_back(scene: Scene) -> None:
    [job] = scene.enqueue("hold")
    worker = scene.start("--grace", "2s")
    scene.begun(job)
    worker.send(signal.SIGTERM)
    assert worker.left() == 0
    seen = scene.job(job)
    assert (seen.state, seen.attempt, seen.crashes) == (State.READY, 0, 0)


def test_a_handler_that_hangs_in_a_thread_is_left_behind_and_its_job_given_back(scene: Scene) -> None:
    [job] = scene.enqueue("hang")
    worker = scene.start("--grace", "3s")
    scene.begun(job)
    worker.send(signal.SIGTERM)
    assert worker.left() == 0
    seen = scene.job(job)
    assert (seen.state, seen.attempt, seen.crashes) == (State.READY, 0, 0)
    assert [claim.id for claim in scene.q.claim(kinds=["hang"])] == [job]


@pytest.mark.parametrize("kind", ["jam", "sleeps"])
def test_a_handler_that_blocks_the_event_loop_does_not_keep_the_process(scene: Scene, kind: str) -> None:
    """It leaves on purpose: what it ran has not crashed, and all that it held is there for others at once."""
    jobs = _blocked(scene, kind)
    worker = scene.start("--grace", "3s", "--lease", "600s")
    scene.begun(jobs[0])
    worker.send(signal.SIGTERM)
    assert worker.left() == 1
    _all_given_back(scene, jobs)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("kind", ["jam", "sleeps"])
def test_told_twice_while_a_handler_blocks_the_event_loop_it_gives_back_what_it_holds_and_leaves(
    scene: Scene, kind: str, how: signal.Signals
) -> None:
    jobs = _blocked(scene, kind)
    worker = scene.start("--grace", "600s", "--lease", "600s")
    scene.begun(jobs[0])
    worker.send(how)
    worker.says("told to stop")
    worker.send(how)
    assert worker.left() == 1
    assert "a handler blocks the event loop; what was held is given back" in worker.log
    _all_given_back(scene, jobs)


def test_told_twice_a_pool_gives_back_what_runs_where_the_event_loop_is_blocked(scene: Scene) -> None:
    jobs = scene.enqueue("sleeps", seconds=3_600)  # alone: the other process would do what waits behind it
    pool = scene.start("--processes", "2", "--grace", "600s", "--lease", "600s")
    scene.begun(jobs[0])
    pool.send(signal.SIGTERM)
    pool.says("told to stop")
    pool.send(signal.SIGTERM)
    assert pool.left() == 0
    _all_given_back(scene, jobs)


@pytest.mark.parametrize("scene", ["sqlite", "shared"], indirect=True)
def test_told_twice_with_the_event_loop_blocked_and_the_file_locked_it_leaves_in_time(scene: Scene) -> None:
    jobs = _blocked(scene, "sleeps")
    worker = scene.start("--grace", "4s", "--lease", "600s")
    scene.begun(jobs[0])
    with _locked(scene):
        worker.send(signal.SIGTERM)
        worker.says("told to stop")
        worker.send(signal.SIGTERM)
        assert worker.left() == 1
    assert "what is held is left to the next start" in worker.log
    scene.start()
    until(lambda: len(scene.notes("begun", jobs[0])) == 2)
    assert scene.job(jobs[0]).crashes == 0


def _blocked(scene: Scene, kind: str) -> list[str]:
    """A job that blocks the event loop, and some that wait behind it."""
    payload = {"seconds": 3_600} if kind == "sleeps" else {}
    return [*scene.enqueue(kind, priority=1, **payload), *scene.enqueue("good", 20)]


def _all_given_back(scene: Scene, jobs: list[str]) -> None:
    """As they were before they were claimed; nobody is left, nobody is to blame."""
    assert {(seen.state, seen.attempt, seen.crashes) for seen in scene.jobs(jobs)} == {(State.READY, 0, 0)}
    assert not scene.q.workers()
    assert not list(scene.folder.rglob("*.marks"))


@contextmanager
def _locked(scene: Scene) -> Iterator[None]:
    """Nobody else writes to the file."""
    path = str(scene.folder / "jobs.db")
    locker = sqlite3.connect(path) if "shared" in scene.url else apsw.Connection(path)
    with closing(locker):
        locker.execute("PRAGMA busy_timeout = 10000")  # whoever writes just now is let finish
        locker.execute("BEGIN IMMEDIATE")
        yield
        locker.execute("ROLLBACK")


@pytest.fixture
def silent(tmp_path: Path, postgres_url: str) -> Iterator[tuple[Scene, Proxy]]:
    """Workers behind a wire that can fall silent."""
    with (
        postgres_schema(postgres_url) as schema,
        Proxy(postgres_url) as proxy,
        open_scene(f"{postgres_url}?schema={schema}", tmp_path) as scene,
    ):
        scene.worker_url = f"{proxy.url}&schema={schema}"
        yield scene, proxy


def test_a_database_that_falls_silent_does_not_keep_the_process(silent: tuple[Scene, Proxy]) -> None:
    scene, proxy = silent
    scene.enqueue("good", 5)
    worker = scene.start("--grace", "3s")
    until(lambda: scene.counts == {"done": 5})
    jobs = scene.enqueue("hold", 5)
    for job in jobs:
        scene.begun(job)
    proxy.fall_silent()
    worker.send(signal.SIGTERM)
    worker.says("jobs are running")
    scene.open_gate()
    assert worker.left() == 1
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 10})
    assert {seen.crashes for seen in scene.jobs(jobs)} == {0}


def test_a_database_that_falls_silent_does_not_keep_a_pool_that_had_to_kill_a_child(
    silent: tuple[Scene, Proxy],
) -> None:
    scene, proxy = silent
    [job] = scene.enqueue("grabs", seconds=3_600)
    pool = scene.start("--processes", "2", "--grace", "2s", "--lease", "600s")
    scene.begun(job)
    proxy.swallow()
    pool.send(signal.SIGTERM)
    assert pool.left() == 0  # by itself: it is no alarm that ends it
    assert "is killed" in pool.log
    assert "pool: the database did not answer before the grace period ended" in pool.log
    proxy.heal()
    scene.start("--lease", "600s")
    scene.begun(job, 2)
    assert (scene.job(job).crashes, scene.q.history(job)) == (0, [])


def test_a_database_that_falls_silent_does_not_keep_a_pool_that_reports_a_crash(
    silent: tuple[Scene, Proxy],
) -> None:
    scene, proxy = silent
    [job] = scene.enqueue("hold")
    pool = scene.start("--processes", "2", "--grace", "2s", "--lease", "600s")
    victim = scene.begun(job).pid
    proxy.swallow()
    os.kill(victim, signal.SIGKILL)
    pool.says("was killed by SIGKILL; it is started again")
    pool.send(signal.SIGTERM)
    assert pool.left() == 0
    assert "pool: the database did not answer before the grace period ended" in pool.log
    proxy.heal()
    scene.start("--lease", "600s")
    scene.begun(job, 2)
    assert scene.job(job).crashes == 1


@pytest.mark.parametrize("scene", ["sqlite", "shared"], indirect=True)
def test_a_file_that_somebody_locks_does_not_keep_the_process(scene: Scene) -> None:
    jobs = scene.enqueue("hold", 5)
    worker = scene.start("--grace", "3s")
    for job in jobs:
        scene.begun(job)
    with _locked(scene):
        worker.send(signal.SIGTERM)
        worker.says("jobs are running")
        scene.open_gate()
        assert worker.left() == 1
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 5})
    assert {seen.crashes for seen in scene.jobs(jobs)} == {0}
