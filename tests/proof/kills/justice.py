"""G5, G6 and G10 after a run of kills: only who was killed has crashes, a key has one job, and a death has one that tells of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import tenure
from tests.proof.kills import works
from tests.support.workers import Scene

__all__ = ["check_crashes", "check_deaths", "check_keys"]

_CRASHES = "SELECT worker, count(*) FROM tenure.attempts WHERE error_kind = 'Crash' GROUP BY worker"


def check_crashes(scene: Scene, killed: Collection[int], at_once: int) -> None:
    """Crashes are of processes that were killed, and no more in one than it ran `at_once`: who waited in its buffer has none."""
    for worker, crashes in scene.sql(_CRASHES):
        assert int(worker.split(":")[1]) in killed, (
            f"{crashes} jobs crashed in {worker}, which was not killed"
        )
        assert crashes <= at_once, f"{crashes} jobs crashed in {worker}, which runs {at_once} at once"


def check_keys(jobs: Iterable[tenure.JobSeen]) -> None:
    """Whoever was killed while it enqueued: a key that is unique for a period has one job of a kind."""
    keyed = [(job.kind, job.unique) for job in jobs if job.unique is not None]
    keys = Counter((kind, key) for kind, key in keyed if key.startswith(works.PERIOD))
    twice = {key: times for key, times in keys.items() if times > 1}
    assert not twice, f"unique keys with more than one job: {twice}"


def check_deaths(jobs: Iterable[tenure.JobSeen]) -> list[str]:
    """Every death has one job that tells of it, and nothing else has; their ids."""
    known = list(jobs)
    told = Counter(job.payload["dead"]["id"] for job in known if job.kind == works.TOLD)
    dead = Counter(job.id for job in known if job.state == "dead")
    assert told == dead, (
        f"untold: {list(dead - told)[:3]}; told of without a death, or twice: {list(told - dead)[:3]}"
    )
    return [job.id for job in known if job.kind == works.TOLD]
