"""Jobs that were in flight when a worker crashed run apart, in child processes, until they are cleared or convicted."""

from __future__ import annotations

import os

import pytest

from tenure.events import ChildCrashed
from tests.worker.house import Heard, House, crash_once


def test_a_suspect_runs_in_a_child_process_and_others_do_not(parent_house: House) -> None:
    from tests.worker import apps

    suspect = apps.plain_where.enqueue()
    crash_once(parent_house, suspect)
    innocent = apps.plain_where.enqueue()
    parent_house.start()
    assert innocent.result("30s") == os.getpid()
    assert suspect.result("30s") != os.getpid()
    end = parent_house.ended(suspect)
    assert (end.attempt, end.crashes) == (1, 1)


def test_a_suspect_that_kills_its_process_again_is_poison_in_the_end_and_the_worker_lives(
    parent_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.worker import apps

    monkeypatch.setenv("TENURE_TEST_PARENT", str(os.getpid()))
    heard = Heard(parent_house.app, ChildCrashed)
    poison = apps.plain_dies.enqueue()
    crash_once(parent_house, poison)
    fine = [apps.plain_where.enqueue() for _ in range(5)]
    parent_house.start()
    end = parent_house.ended(poison)
    assert (end.state, end.reason, end.crashes, end.attempt) == ("dead", "poison", 3, 0)
    story = parent_house.story(poison)
    assert [kind for _, kind, _ in story] == ["Crash"] * 3
    assert story[0][2] == "worker lost died"
    assert all("was killed by SIGKILL while it ran this job" in words for _, _, words in story[1:])
    assert "was killed by SIGKILL" in str(end.error)
    assert [j.result("30s") for j in fine] == [os.getpid()] * 5
    assert [e.claim.id for e in heard.events] == [poison.id] * 2


def test_suspects_run_side_by_side_each_in_a_child_of_its_own(parent_house: House) -> None:
    from tests.worker import apps

    names = ["one", "two"]
    suspects = [apps.plain_meets.enqueue(name, names) for name in names]
    crash_once(parent_house, *suspects)
    parent_house.start(children=2)
    processes = {suspect.result("30s") for suspect in suspects}
    assert len(processes | {os.getpid()}) == 3


def test_an_isolated_job_that_kills_its_process_is_poison_after_three_crashes(parent_house: House) -> None:
    from tests.worker import apps

    poison, fine = apps.dies.enqueue(), apps.where.enqueue()
    parent_house.start(children=1)
    end = parent_house.ended(poison)
    assert (end.state, end.reason, end.crashes) == ("dead", "poison", 3)
    assert len(parent_house.story(poison)) == 3
    assert isinstance(fine.result("30s"), int)
    assert parent_house.ended(fine).crashes == 0


def test_where_no_child_can_import_the_app_a_suspect_runs_here(house: House) -> None:
    @house.app.job
    async def where() -> int:
        return os.getpid()

    job = where.enqueue()
    crash_once(house, job)
    house.start()
    assert job.result("30s") == os.getpid()
