"""A worker that is told to stop: it finishes or gives back what it holds, and is gone in time, whatever hangs."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
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


def test_a_handler_that_blocks_the_event_loop_does_not_keep_the_process(scene: Scene) -> None:
    """It leaves on purpose: what it ran has not crashed, and the next worker takes it up at once."""
    [job] = scene.enqueue("jam", priority=1)
    waiting = scene.enqueue("good", 20)
    worker = scene.start("--grace", "2s")
    scene.begun(job)
    worker.send(signal.SIGTERM)
    assert worker.left() == 1
    scene.open_gate()
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 21})
    assert {seen.crashes for seen in scene.jobs([job, *waiting])} == {0}


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


@pytest.mark.parametrize("scene", ["sqlite", "shared"], indirect=True)
def test_a_file_that_somebody_locks_does_not_keep_the_process(scene: Scene) -> None:
    jobs = scene.enqueue("hold", 5)
    worker = scene.start("--grace", "3s")
    for job in jobs:
        scene.begun(job)
    path = str(scene.folder / "jobs.db")
    locker = sqlite3.connect(path) if "shared" in scene.url else apsw.Connection(path)
    with closing(locker):
        locker.execute("BEGIN IMMEDIATE")
        worker.send(signal.SIGTERM)
        worker.says("jobs are running")
        scene.open_gate()
        assert worker.left() == 1
        locker.execute("ROLLBACK")
    scene.start("--lease", "600s")
    until(lambda: scene.counts == {"done": 5})
    assert {seen.crashes for seen in scene.jobs(jobs)} == {0}
