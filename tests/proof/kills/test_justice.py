"""What is asked after a run of kills is noticed where it does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tenure
from tests.proof.kills.justice import check_crashes, check_deaths, check_keys
from tests.proof.ledger import stored
from tests.support.workers import Scene, open_scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(f"sqlite:///{tmp_path}/jobs.db", tmp_path) as made:
        yield made


def test_a_crash_of_who_was_not_killed_and_more_than_it_ran_are_noticed(scene: Scene) -> None:
    scene.enqueue("k", 2)
    for claim in scene.q.claim(2, worker="host:7:a"):
        assert scene.q.settle(claim, tenure.Crashed("gone"))
    check_crashes(scene, {7}, 2)
    with pytest.raises(AssertionError, match="2 jobs crashed in host:7:a, which was not killed"):
        check_crashes(scene, {8}, 2)
    with pytest.raises(AssertionError, match="which runs 1 at once"):
        check_crashes(scene, {7}, 1)


def test_a_key_with_two_jobs_is_noticed(scene: Scene) -> None:
    for kind in ("k", "another"):
        scene.q.enqueue(kind, unique="p1", unique_for="1h")
    jobs = list(stored(scene.q))
    check_keys(jobs)
    with pytest.raises(AssertionError, match=r"more than one job: {\('k', 'p1'\): 2}"):
        check_keys([*jobs, *(job for job in jobs if job.kind == "k")])


def test_a_death_untold_and_one_told_of_twice_are_noticed(scene: Scene) -> None:
    scene.q.enqueue("k")
    [claim] = scene.q.claim()
    assert scene.q.settle(claim, tenure.Bury("no use"))
    with pytest.raises(AssertionError, match=f"untold: .*{claim.id}"):
        check_deaths(stored(scene.q))
    first = scene.q.enqueue("tell", {"dead": {"id": claim.id}}).id
    assert check_deaths(stored(scene.q)) == [first]
    scene.q.enqueue("tell", {"dead": {"id": claim.id}})
    with pytest.raises(AssertionError, match=f"twice: .*{claim.id}"):
        check_deaths(stored(scene.q))
