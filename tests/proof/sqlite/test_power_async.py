"""The power goes while many enqueue at once and share commits (AsyncQueue): what was answered is there, on a file of its own.

As in test_power, but several hands act at once: the order in which acts are stored is theirs, and is known only where one was
promised before another was asked for.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import pytest

import tenure
from tests.proof import depth
from tests.proof.ledger import JobsLost, intact, stored
from tests.proof.sqlite.acts import Act, check_hooks
from tests.proof.sqlite.disk import Disk, Step
from tests.proof.sqlite.hands import Hands, Times
from tests.proof.sqlite.platters import WAYS, Platters, cuts
from tests.proof.sqlite.test_power import work_off
from tests.proof.tally import Tally

_DOINGS = depth.of(test=8, proof=25)
"""How many things each hand does."""
_LIVES = depth.of(test=1, proof=2)


def one_life(
    folder: Path, url: str, acts: list[Act], rng: random.Random
) -> tuple[list[Step], list[Act | None]]:
    """Do things on the file in this folder; the disk's log, and all that was asked for."""

    async def live(disk: Disk) -> Hands:
        async with await tenure.aopen(url, max_crashes=1_000) as q:
            hands = Hands(q, disk, list(acts))
            await hands.live(_DOINGS, rng)
            return hands

    with Disk() as disk:
        disk.knows(folder)
        disk.mark(("begins", len(acts)))
        hands = asyncio.run(live(disk))
        return disk.log, hands.acts


def jobs_of(url: str) -> dict[str, tenure.JobSeen]:
    """What the file has, which is sound."""
    intact(url)
    with tenure.open(url, max_crashes=1_000) as q:
        return {job.id: job for job in stored(q)}


@pytest.mark.parametrize("durability", ["full", "normal"])
@pytest.mark.parametrize("file", range(depth.of(test=1, proof=3)))
def test_what_was_answered_in_a_shared_commit_outlives_a_power_cut(
    file: int, durability: str, tmp_path: Path, seed: int, tally: Tally
) -> None:
    rng = random.Random(f"{seed}-power-async-{durability}-{file}")
    count = depth.of(test=8, proof=20 if durability == "full" else 10)
    url = "sqlite:///{}/jobs.db" + ("?durability=normal" if durability == "normal" else "")
    acts: list[Act] = []
    folder = tmp_path / "first"
    folder.mkdir()
    for life in range(_LIVES):
        log, asked_for = one_life(folder, url.format(folder), acts, rng)
        times = Times(log, len(acts))
        if durability == "full":
            synced = sum(step[0] == "sync" for step in log)
            assert synced < len(times.told), "nobody shared a commit"
        survivor = rng.randrange(count)
        for number, (at, platters) in enumerate(cuts(log, count, rng)):
            left = tmp_path / f"{life}-{number}"
            left.mkdir()
            platters.leave(left, WAYS[number % len(WAYS)], rng)
            if number == survivor:
                shutil.copytree(left, tmp_path / f"next-{life}")
            place = url.format(left)
            full = durability == "full"
            kept, lost = times.kept(asked_for, jobs_of(place), at, all_told=full)
            hooks = check_hooks(place, kept)
            work_off(place, kept)
            if number == survivor:
                acts = kept
            tally(cuts=1, promises=times.promised(at), losses=lost if full else 0, webhooks=hooks)
            shutil.rmtree(left)
        folder = tmp_path / f"next-{life}"


def test_an_answer_before_its_commit_was_synced_is_noticed(tmp_path: Path, seed: int) -> None:
    rng = random.Random(f"{seed}-power-async-noticed")
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    log, asked_for = one_life(before, f"sqlite:///{before}/jobs.db?durability=normal", [], rng)
    times, platters = Times(log, 0), Platters()
    # The power goes when an act has been promised during which nothing was synced.
    cut = next(at for n, at in times.told.items() if ("sync" not in {s[0] for s in log[times.asked[n] : at]}))
    for step in log[: cut + 1]:
        platters.step(step)
    platters.leave(after, "lost", rng)
    with pytest.raises(JobsLost, match="promised acts are lost"):
        times.kept(asked_for, jobs_of(f"sqlite:///{after}/jobs.db"), cut + 1, all_told=True)
