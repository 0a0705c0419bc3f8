"""The power goes at any moment: what was promised is there, nothing is torn, and what has ended does not run again.

SQLite writes to a disk of the test's own, which remembers what was synced. For every moment that is drawn the file is made
as a power cut could have left it, opened by a new queue, compared with what had been promised by then, and worked off.
"""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

import tenure
from tests.proof import depth
from tests.proof.ledger import JobsLost, intact, stored
from tests.proof.sqlite.acts import Act, Life, check_hooks, hooks_of, shown
from tests.proof.sqlite.disk import Disk, Step
from tests.proof.sqlite.platters import WAYS, cuts
from tests.proof.tally import Tally

_ACTS = depth.of(test=70, proof=250)
_LIVES = 2
"""How often one file loses its power, and goes on from what is left."""


def told_by(log: list[Step]) -> tuple[int, int]:
    """How many acts had been promised at the end of this log, and how many asked for."""
    told = asked = 0
    for step in log:
        if step[0] == "mark":
            word, number = step[1]
            if word == "told":
                told = number
            asked = max(asked, number + (word == "asked"))
    return told, asked


def there(url: str, acts: list[Act], told: int, asked: int, durability: str) -> int:
    """How many of these acts the file still has, and that it has the first so many, and no part of another."""
    intact(url)
    with tenure.open(url, max_crashes=1_000) as q:
        jobs: dict[str, tenure.JobSeen] = {job.id: job for job in stored(q)}
    # What was asked for and not promised yet may be there or not: one that was lost can still be asked for again.
    seen = [shown(act, jobs) for act in acts[:asked]]
    kept = seen.index(False) if False in seen else len(seen)
    assert True not in seen[kept:], "a later act is there without an earlier one"
    if durability == "full":
        lost = [job for act in acts[kept:told] for job in act.ids]
        if lost:
            raise JobsLost(lost, f"{told - kept} of {told} promised acts are lost")
    assert jobs.keys() <= {job for act in acts[:asked] for job in act.ids}, "a job came from nowhere"
    return kept


def half_an_hour_later() -> datetime:
    """Every lease is over, and no retry is due."""
    return datetime.now(UTC) + timedelta(minutes=30)


def work_off(url: str, acts: list[Act]) -> None:
    """Everything that has not ended is claimed, once, and nothing else is; then all is at rest, and the file sound."""
    ended = {job for act in acts if act.state for job in act.ids}
    left = {job for act in acts for job in act.ids} - ended
    taken: list[str] = []
    with tenure.open(url, max_crashes=1_000, clock=half_an_hour_later) as q:
        while claims := q.claim(500):
            taken += [claim.id for claim in claims]
            assert all(q.settle_many([(claim, tenure.Done()) for claim in claims]))
        assert q.pulse(overdue_by=0).overdue_leases == 0, "a lease is overdue at rest"
    intact(url)
    assert len(set(taken)) == len(taken)
    assert not ended & set(taken), "a job that had ended ran again"
    assert left == set(taken), "a job that had not ended was never claimed"


def one_life(folder: Path, url: str, acts: list[Act], rng: random.Random) -> tuple[list[Step], list[Act]]:
    """Do things on the file in this folder; the disk's log, and all that was asked for."""
    with Disk() as disk:
        disk.knows(folder)
        disk.mark(("told", len(acts)))
        q = tenure.open(url, max_crashes=1_000)
        ended = {job for act in acts if act.state for job in act.ids}
        life = Life(q, disk, rng, list(acts), {job for act in acts for job in act.ids} - ended)
        life.live(_ACTS)
        q.close()
        return disk.log, life.acts


@pytest.mark.parametrize("durability", ["full", "normal"])
@pytest.mark.parametrize("file", range(depth.of(test=1, proof=6)))
def test_what_was_promised_outlives_a_power_cut(
    file: int, durability: str, tmp_path: Path, seed: int, tally: Tally
) -> None:
    rng = random.Random(f"{seed}-power-{durability}-{file}")
    count = depth.of(test=9, proof=26 if durability == "full" else 10)
    acts: list[Act] = []
    folder = tmp_path / "first"
    folder.mkdir()
    for life in range(_LIVES):
        url = "sqlite:///{}/jobs.db" + ("?durability=normal" if durability == "normal" else "")
        log, asked_for = one_life(folder, url.format(folder), acts, rng)
        survivor = rng.randrange(count)
        for number, (at, platters) in enumerate(cuts(log, count, rng)):
            left = tmp_path / f"{life}-{number}"
            left.mkdir()
            how = WAYS[number % len(WAYS)]
            platters.leave(left, how, rng)
            told, asked = told_by(log[:at])
            if number == survivor:
                shutil.copytree(left, tmp_path / f"next-{life}")
            kept = there(url.format(left), asked_for, told, asked, durability)
            hooks = check_hooks(url.format(left), asked_for[:kept])
            work_off(url.format(left), asked_for[:kept])
            if number == survivor:
                acts = asked_for[:kept]
            tally(cuts=1, promises=told, losses=max(told - kept, 0) if durability == "full" else 0)
            tally(**{f"{durability} cuts": 1}, webhooks=hooks)
            shutil.rmtree(left)
        folder = tmp_path / f"next-{life}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM tenure_requests WHERE job_id = ?", "requests: 1 rows too few or too many"),
        ("DELETE FROM tenure_ledger WHERE job_id = ?", "ledger: 1 rows too few or too many"),
        ("UPDATE tenure_requests SET body = x'00' WHERE job_id = ?", "came with another request"),
        ("UPDATE tenure_ledger SET until = 0 WHERE job_id = ?", "sent again was stored again"),
    ],
)
def test_a_webhook_without_its_request_or_its_period_is_noticed(
    change: str, said: str, tmp_path: Path, seed: int
) -> None:
    url, hooks = f"sqlite:///{tmp_path}/jobs.db", hooks_of(random.Random(f"{seed}-power-noticed"), [])
    with tenure.open(url) as q:
        act = Act(
            (), hooks={answer.id: job for answer, job in zip(q.enqueue_many(hooks), hooks, strict=True)}
        )
    assert check_hooks(url, [act]) == len(hooks)
    with closing(apsw.Connection(f"{tmp_path}/jobs.db")) as file:
        file.execute(change, (next(iter(act.hooks)),))
    with pytest.raises(AssertionError, match=said):
        check_hooks(url, [act])
