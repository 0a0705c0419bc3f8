"""Jobs that wait for a child process: they keep no slot from the others, and no more of them are held than can start."""

from __future__ import annotations

import os
from pathlib import Path

import tenure
from tests.worker import apps
from tests.worker.house import House, crash_once, until


def _busy(house: House, folder: Path, **options: object) -> tenure.Job[None]:
    """A job that occupies a child until it is cancelled."""
    job = apps.patient.options(**options).enqueue()  # type: ignore[arg-type]
    until((folder / "began").exists)
    return job


def test_isolated_jobs_that_wait_for_a_child_keep_no_slot_from_others(
    parent_house: House, tmp_path: Path
) -> None:
    parent_house.start(children=1, concurrency=2, lease="2s")
    first = _busy(parent_house, tmp_path)
    waiting = [apps.where.options(priority=1).enqueue() for _ in range(4)]
    assert apps.plain_where.enqueue().result("30s") == os.getpid()
    assert {job.state for job in _seen(parent_house, waiting)} == {"ready"}
    first.cancel()
    assert len({job.result("30s") for job in waiting}) == 1


def test_isolated_jobs_that_find_no_child_here_are_left_to_other_workers(
    parent_house: House, tmp_path: Path
) -> None:
    parent_house.start(children=1, poll="60s", grace="2s")
    first = _busy(parent_house, tmp_path)
    waiting = [apps.where.enqueue() for _ in range(4)]
    parent_house.start(children=1, poll="60s", grace="2s")
    assert len({job.result("30s") for job in waiting}) == 1
    seen = parent_house.queue.get(first.id)
    assert seen is not None
    assert seen.state == "running"


def test_a_free_child_is_given_the_next_isolated_job_whatever_came_between(parent_house: House) -> None:
    calls = [apps.where.call(), apps.plain_where.call(), apps.where_async.call()] * 8
    jobs = parent_house.app.enqueue_many(calls)
    parent_house.start(children=1, concurrency=3, prefetch=0)
    assert len({job.result("30s") for job in jobs}) == 2


def test_a_child_that_is_free_again_is_worth_a_claim(parent_house: House) -> None:
    """The poll is long: nobody else tells the claimer, who would look every few seconds."""
    parent_house.start(children=1, poll="1h", lease="1h")
    jobs = parent_house.app.enqueue_many([apps.where.call() for _ in range(20)])
    assert isinstance(jobs[-1].result("30s"), int)


def test_suspects_that_wait_for_a_child_keep_no_slot_from_others(parent_house: House, tmp_path: Path) -> None:
    suspects = [apps.plain_where.enqueue() for _ in range(4)]
    crash_once(parent_house, *suspects)
    first = apps.patient.options(priority=1).enqueue()
    parent_house.start(children=1, concurrency=2, lease="2s")
    until((tmp_path / "began").exists)
    assert apps.plain_where.enqueue().result("30s") == os.getpid()
    assert suspects[0].cancel() in ("asked", "cancelled")
    assert parent_house.ended(suspects[0]).state == "cancelled"
    first.cancel()
    assert os.getpid() not in {job.result("30s") for job in suspects[1:]}


def test_suspects_that_find_no_child_here_are_left_to_other_workers(
    parent_house: House, tmp_path: Path
) -> None:
    suspects = [apps.plain_where.enqueue() for _ in range(4)]
    crash_once(parent_house, *suspects)
    first = apps.patient.options(priority=1).enqueue()
    full = parent_house.start(children=1, grace="2s")
    until((tmp_path / "began").exists)
    put_off = parent_house.seen(suspects[0], lambda j: j.state == "scheduled")
    assert (put_off.attempt, put_off.crashes) == (0, 1)
    parent_house.start(children=1)
    pids = {job.result("60s") for job in suspects}
    assert os.getpid() not in pids
    until(lambda: full.worker._about()["ended"] == 0)
    seen = parent_house.queue.get(first.id)
    assert seen is not None
    assert seen.state == "running"


def test_a_suspect_of_a_group_waits_here_for_its_child_and_nobody_of_its_group_overtakes_it(
    parent_house: House, tmp_path: Path
) -> None:
    grouped = apps.plain_where.options(group="g", order="start")
    suspect, alone = grouped.enqueue(), apps.plain_where.enqueue()
    crash_once(parent_house, suspect, alone)
    behind = grouped.enqueue()
    first = apps.patient.options(priority=1).enqueue()
    parent_house.start(children=1, lease="2s")
    until((tmp_path / "began").exists)
    parent_house.seen(alone, lambda j: j.state == "scheduled")
    assert [job.state for job in _seen(parent_house, [suspect, behind])] == ["running", "waiting"]
    first.cancel()
    assert suspect.result("30s") != os.getpid()
    assert behind.result("30s") == os.getpid()


def test_a_suspect_that_waited_for_a_child_when_the_worker_stopped_is_given_back(
    parent_house: House, tmp_path: Path
) -> None:
    suspect = apps.plain_where.enqueue()
    crash_once(parent_house, suspect)
    first = apps.patient.options(priority=1).enqueue()
    working = parent_house.start(children=1, lease="2s")
    until((tmp_path / "began").exists)
    parent_house.seen(suspect, lambda j: j.state == "running")
    working.tell()
    given_back = parent_house.seen(suspect, lambda j: j.state in ("ready", "scheduled"))
    assert (given_back.attempt, given_back.crashes) == (0, 1)
    first.cancel()
    working.gone()


def test_a_job_in_a_child_counts_among_those_of_its_queue(parent_house: House, tmp_path: Path) -> None:
    parent_house.start(queues=["narrow:1", "*:1"], children=2, lease="2s")
    first = _busy(parent_house, tmp_path, queue="narrow")
    behind = apps.plain_where.options(queue="narrow").enqueue()
    assert apps.plain_where.enqueue().result("30s") == os.getpid()
    assert [job.state for job in _seen(parent_house, [behind])] == ["ready"]
    first.cancel()
    assert behind.result("30s") == os.getpid()


def _seen(house: House, jobs: list[tenure.Job[int]]) -> list[tenure.JobSeen]:
    found = [house.queue.get(job.id) for job in jobs]
    return [job for job in found if job is not None]
