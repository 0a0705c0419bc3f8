"""Workers that come back: stopped past their lease, or cut off from the database. Nobody has crashed in the end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure import State
from tests.support.fresh import postgres_schema
from tests.support.postgres import PostgresServer
from tests.support.workers import EVERY_STORE, Scene, WorkerProcess, open_scene, until

_LEASE = ("--lease", "3s", "--poll", "500ms")
_LONGER = ("--lease", "10s", "--poll", "500ms")


def take_over(scene: Scene, job: str, first: WorkerProcess) -> None:
    """A worker whose job another one took over goes on, and finds that out."""
    scene.begun(job, 2)
    assert scene.notes()[-1].pid != first.pid
    first.send(signal.SIGCONT)
    first.says("its claim is lost")
    until(lambda: scene.job(job).crashes == 0)
    scene.open_gate()
    until(lambda: scene.counts == {"done": 1})
    assert len(scene.notes("ended")) == 1
    for worker in scene.started:
        worker.send(signal.SIGTERM)
        assert worker.left() == 0
    assert (scene.job(job).state, scene.job(job).crashes) == (State.DONE, 0)


@EVERY_STORE
def test_a_worker_that_was_stopped_past_its_lease_has_lost_a_job_which_has_not_crashed(scene: Scene) -> None:
    for worker in [scene.start(*_LEASE) for _ in range(2)]:
        worker.says("works on")  # a start may take so long that who was stopped meanwhile is taken for dead
    [job] = scene.enqueue("hold")
    pid = scene.begun(job).pid
    [first] = [worker for worker in scene.started if worker.pid == pid]
    scene.stop(first)
    take_over(scene, job, first)
    assert scene.q.history(job) == []


def test_a_worker_that_was_taken_for_dead_takes_the_crash_back_when_it_goes_on(scene: Scene) -> None:
    [job] = scene.enqueue("hold")
    first = scene.start(*_LEASE)
    scene.begun(job)
    until(lambda: scene.sql(f"SELECT doubt FROM tenure.jobs WHERE id = '{job}'")[0][0] is None)
    scene.stop(first)
    scene.sql("UPDATE tenure.workers SET seen_at = seen_at - 60000000")
    scene.start(*_LEASE)
    until(lambda: scene.job(job).crashes == 1)
    take_over(scene, job, first)
    assert [told.error_kind for told in scene.q.history(job)] == ["LeaseLost"]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of our own, to be stopped."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture
def outage(server: PostgresServer, tmp_path: Path) -> Iterator[Scene]:
    with (
        postgres_schema(server.url()) as schema,
        open_scene(f"{server.url()}?schema={schema}", tmp_path) as scene,
    ):
        yield scene


def outlast(server: PostgresServer, scene: Scene, seconds: float) -> None:
    """Stop the server while jobs run and others wait; let those that run end meanwhile; start it again.

    Nothing runs twice: what ended meanwhile is settled before anybody takes back what he could have taken for lost.
    """
    running = scene.enqueue("hold", 10)
    workers = [scene.start("-c", "5", *_LONGER) for _ in range(2)]
    for job in running:
        scene.begun(job)
    waiting = scene.enqueue("good", 200)
    server.stop("fast")
    gone = time.monotonic()
    scene.open_gate()
    until(lambda: len(scene.notes("ended")) == 10)
    until(lambda: time.monotonic() - gone > seconds)
    server.start()
    until(lambda: scene.counts == {"done": 210})
    assert {(job.attempt, job.crashes) for job in scene.jobs(waiting + running)} == {(1, 0)}
    assert len(scene.notes()) == 10
    for worker in workers:
        worker.send(signal.SIGTERM)
        assert worker.left() == 0


def test_an_outage_longer_than_the_lease_costs_no_job_anything(server: PostgresServer, outage: Scene) -> None:
    outlast(server, outage, 12)


@pytest.mark.proof
def test_an_outage_so_long_that_all_workers_look_dead_costs_no_job_anything(
    server: PostgresServer, outage: Scene
) -> None:
    outlast(server, outage, 40)
