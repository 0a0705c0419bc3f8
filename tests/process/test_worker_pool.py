"""A pool of worker processes: those that die or are used up are replaced, and all leave with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from tenure import State
from tests.support.child import ROOT
from tests.support.workers import Scene, WorkerProcess, alive, until

_SOON = ("--poll", "200ms")
_POOL = """
import logging, sys
import tenure
from tenure.worker.pool import Pool
from tenure.worker.settings import WorkerSettings

logging.basicConfig()
url, program = sys.argv[1:]
Pool("", lambda: tenure.open(url), 2, WorkerSettings(), place=url, command=[program]).run()
"""


def a_job_on_each(scene: Scene, pool: WorkerProcess, kind: str, processes: int) -> dict[int, str]:
    """Enqueue until every process of the pool has begun one; which job each of them runs, by pid."""
    until(lambda: pool.log.count("works on") >= processes)
    at = dict[int, str]()
    for _ in count():
        at |= {note.pid: note.id for note in scene.notes()}
        if len(at) >= processes:
            return at
        [job] = scene.enqueue(kind)
        scene.begun(job)
    raise AssertionError


def test_a_child_that_was_killed_is_replaced_and_its_job_runs_again(scene: Scene) -> None:
    pool = scene.start("--processes", "2", "-c", "1", "--lease", "600s", *_SOON)
    at = a_job_on_each(scene, pool, "hold", 2)
    victim, job = at.popitem()
    os.kill(victim, signal.SIGKILL)
    again = scene.begun(job, 2)
    assert again.pid != victim
    until(lambda: len(pool.children) == 3)
    assert scene.job(job).crashes == 1
    assert "was killed by SIGKILL" in scene.q.history(job)[0].message
    scene.open_gate()
    until(lambda: scene.counts == {"done": 2})
    pool.send(signal.SIGTERM)
    assert pool.left() == 0


def test_a_child_leaves_after_so_many_jobs_and_another_takes_its_place(scene: Scene) -> None:
    pool = scene.start("--processes", "2", "-c", "1", "--max-jobs", "10", *_SOON)
    jobs = scene.enqueue("tells", 30)
    until(lambda: len(pool.children) > 2)
    jobs += scene.enqueue("tells", 30)
    until(lambda: len(pool.children) > 3 and scene.counts == {"done": 60})
    assert len({note.pid for note in scene.notes()}) > 1
    assert {(job.attempt, job.crashes) for job in scene.jobs(jobs)} == {(1, 0)}
    assert "was killed" not in pool.log
    assert "though nobody told it to" not in pool.log
    pool.send(signal.SIGTERM)
    assert pool.left() == 0


def test_a_child_that_makes_room_is_replaced_though_threads_are_left_in_it(scene: Scene) -> None:
    pool = scene.start("--processes", "2", "-c", "1", "--max-jobs", "1", *_SOON)
    scene.enqueue("leaves_a_thread", 6)
    until(lambda: scene.counts == {"done": 6})
    assert "it is started again in" not in pool.log
    pool.send(signal.SIGTERM)
    assert pool.left() == 0


def test_a_child_that_uses_too_much_memory_leaves_and_another_takes_its_place(scene: Scene) -> None:
    pool = scene.start("--processes", "2", "-c", "1", "--max-memory", str(200 << 20), *_SOON)
    jobs = scene.enqueue("grows", 12)
    until(lambda: scene.counts == {"done": 12})
    assert "makes room for a fresh one" in pool.log
    until(lambda: len(pool.children) > 2)
    assert {job.crashes for job in scene.jobs(jobs)} == {0}


@pytest.mark.parametrize("kind", ["hold", "jam"])
def test_children_whose_parent_was_killed_finish_what_runs_and_leave_though_they_are_told_once(
    scene: Scene, kind: str
) -> None:
    """That the parent is gone is nobody's word: the first SIGTERM is the first."""
    pool = scene.start("--processes", "2", "-c", "1", "--grace", "20s", *_SOON)
    at = a_job_on_each(scene, pool, kind, 2)
    pool.kill()
    until(lambda: pool.log.count("the pool's parent is gone") == 2)
    for pid in at:
        os.kill(pid, signal.SIGTERM)
    time.sleep(1.2)  # who takes that for the second word has given back what runs by now
    scene.open_gate()
    until(lambda: not any(alive(pid) for pid in pool.children))
    assert {job.state for job in scene.jobs(list(at.values()))} == {State.DONE}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_told_to_stop_a_pool_finishes_what_runs(scene: Scene, how: signal.Signals) -> None:
    pool = scene.start("--processes", "2", "-c", "1", *_SOON)
    at = a_job_on_each(scene, pool, "hold", 2)
    later = scene.enqueue("good", 5)
    pool.send(how)
    until(lambda: pool.log.count("stops: 1 jobs are running") == 2)
    scene.open_gate()
    assert pool.left() == 0
    assert not any(alive(pid) for pid in pool.children)
    assert {job.state for job in scene.jobs(list(at.values()))} == {State.DONE}
    assert {(job.state, job.attempt) for job in scene.jobs(later)} == {(State.READY, 0)}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_told_twice_a_pool_gives_back_what_runs_at_once(scene: Scene, how: signal.Signals) -> None:
    pool = scene.start("--processes", "2", "-c", "1", "--grace", "600s", *_SOON)
    at = a_job_on_each(scene, pool, "hold", 2)
    pool.send(how)
    until(lambda: pool.log.count("stops: 1 jobs are running") == 2)
    pool.send(how)
    assert pool.left() == 0
    back = scene.jobs(list(at.values()))
    assert {(job.state, job.attempt, job.crashes) for job in back} == {(State.READY, 0, 0)}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_child_told_by_its_parent_and_by_others_has_been_told_once(
    scene: Scene, how: signal.Signals
) -> None:
    """A process manager may send its signal to every process of a service."""
    pool = scene.start("--processes", "2", "-c", "1", *_SOON)
    at = a_job_on_each(scene, pool, "hold", 2)
    for pid in [*pool.children, pool.pid]:
        os.kill(pid, how)
    until(lambda: pool.log.count("stops: 1 jobs are running") == 2)
    time.sleep(0.5)  # who was told twice has given back what runs by now
    scene.open_gate()
    assert pool.left() == 0
    assert {job.state for job in scene.jobs(list(at.values()))} == {State.DONE}


@pytest.mark.parametrize("scene", ["sqlite"], indirect=True)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_children_that_are_told_before_they_can_listen_end_without_a_fuss(
    scene: Scene, how: signal.Signals
) -> None:
    script = scene.folder / "slow.py"
    script.write_text("import os, pathlib, time, tenure\nshop = tenure.App()\n"
                      "@shop.job\nasync def sell() -> None: ...\n"
                      "if 'TENURE_POOL_PARENT' in os.environ:\n"
                      "    pathlib.Path(__file__).with_name(f'{os.getpid()}.began').touch()\n"
                      "    time.sleep(3600)\n")  # fmt: skip
    pool = scene.start("--processes", "2", address=f"{script}:shop")
    until(lambda: len(list(scene.folder.glob("*.began"))) == 2)
    pool.send(how)
    assert pool.left() == 0
    assert pool.log.count(f"was killed by {how.name}") == 2
    assert "ERROR" not in pool.log
    assert "Abort" not in pool.log


def test_a_child_that_holds_the_interpreter_does_not_keep_the_pool(scene: Scene) -> None:
    """No Python runs in it, so it hears no signal: its parent kills it, and its job has not crashed."""
    [job] = scene.enqueue("grabs", seconds=3_600)
    pool = scene.start("--processes", "2", "--grace", "1s")
    scene.begun(job)
    pool.send(signal.SIGTERM)
    assert pool.left() == 0
    scene.start("--lease", "600s")  # it tells what the pool had no time for
    scene.begun(job, 2)
    seen = scene.job(job)
    assert (seen.attempt, seen.crashes, scene.q.history(job)) == (1, 0, [])


def test_a_pool_works_for_an_app_in_a_script(scene: Scene) -> None:
    script = scene.folder / "shop.py"
    script.write_text("import tenure\nshop = tenure.App()\n"
                      "@shop.job\nasync def sell() -> None: ...\n"
                      "@shop.job(isolate=True)\ndef wrap() -> None: ...\n")  # fmt: skip
    jobs = scene.enqueue("sell", 5) + scene.enqueue("wrap", 1)
    pool = scene.start("--processes", "2", address=f"{script}:shop")
    until(lambda: scene.counts == {"done": len(jobs)})
    pool.send(signal.SIGTERM)
    assert pool.left() == 0


def test_a_process_that_cannot_be_started_is_tried_again_and_the_pool_lives(tmp_path: Path) -> None:
    program, begun, log = tmp_path / "program", tmp_path / "begun", tmp_path / "log"
    with log.open("wb") as told:
        pool = subprocess.Popen(
            [sys.executable, "-c", _POOL, f"sqlite:///{tmp_path}/jobs.db", str(program)],
            cwd=ROOT,
            stderr=told,
        )
    try:
        until(lambda: log.read_text().count("could not be started") >= 3 or pool.poll() is not None)
        (tmp_path / "new").write_text(f"#!/bin/sh\necho begun >> {begun}\nexec sleep 3600\n")
        (tmp_path / "new").chmod(0o700)
        (tmp_path / "new").rename(program)
        until(lambda: begun.exists() and begun.read_text().count("begun") == 2)
    finally:
        pool.terminate()
    assert pool.wait(60) == 0
    assert "No such file or directory" in log.read_text()
    assert "it is tried again in 1 s" in log.read_text()


def test_a_process_that_does_not_hear_the_second_word_is_told_it_again(tmp_path: Path) -> None:
    program, heard = tmp_path / "program", tmp_path / "heard"
    program.write_text(
        f"#!{sys.executable}\nimport signal, sys\n"
        f"def hear(number, _):\n    with open({str(heard)!r}, 'a') as file: file.write(f'{{number}}\\n')\n"
        "signal.signal(signal.SIGTERM, hear)\nsignal.signal(signal.SIGINT, hear)\nhear(0, None)\n"
        f"while open({str(heard)!r}).read().split().count('2') < 6: signal.pause()\n"
    )
    program.chmod(0o700)
    pool = subprocess.Popen(
        [sys.executable, "-c", _POOL, f"sqlite:///{tmp_path}/jobs.db", str(program)], cwd=ROOT
    )

    def words(number: int) -> int:
        return heard.read_text().split().count(str(int(number))) if heard.exists() else 0

    try:
        until(lambda: words(0) == 2)
        pool.terminate()
        until(lambda: words(signal.SIGTERM) == 2)
        pool.terminate()
        assert pool.wait(60) == 0
    finally:
        pool.kill()
    assert words(signal.SIGINT) >= 6
    assert words(signal.SIGTERM) == 2
