"""Workers killed at any moment: every job ends, and what was written with its end was written once."""

from __future__ import annotations

import random
from functools import partial

import pytest

from tests.support.child import run_child
from tests.support.workers import Scene, until

_JOBS, _KILLS = 500, 10

ENQUEUE = """
import os, sys
os.environ["TENURE_URL"] = sys.argv[1]
from tests.support.scenes import app, effect
app.enqueue_many([effect.call(n) for n in range(int(sys.argv[2]))])
app.close()
"""


def has_begun(scene: Scene, times: int) -> bool:
    return len(scene.notes()) >= times or scene.counts == {"done": _JOBS}


@pytest.mark.proof
@pytest.mark.parametrize("scene", ["shared", "postgres"], indirect=True)
@pytest.mark.parametrize("seed", [1])
def test_whenever_workers_are_killed_every_job_ends_and_its_effect_is_written_once(
    scene: Scene, seed: int
) -> None:
    scene.sql("CREATE TABLE tenure.effects (n integer)")
    run_child(ENQUEUE, scene.url, str(_JOBS))
    chance = random.Random(seed)
    moments = sorted(chance.sample(range(1, _JOBS - 20), _KILLS))
    scene.max_crashes = _KILLS + 1  # a job may be in flight at every one of them, and is not to blame
    worker = scene.start("-c", "4")
    for moment in moments:
        until(partial(has_begun, scene, moment))
        worker.kill()
        worker = scene.start("-c", "4")
    until(lambda: sum(scene.counts.get(state, 0) for state in ("done", "dead")) == _JOBS)
    assert scene.counts == {"done": _JOBS}
    assert sorted(n for (n,) in scene.sql("SELECT n FROM tenure.effects")) == list(range(_JOBS))
    assert len(scene.notes()) >= _JOBS
