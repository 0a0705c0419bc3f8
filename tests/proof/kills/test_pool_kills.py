"""Pools (--processes N): parents and workers are killed; children of a killed parent leave by themselves, and nothing is lost."""

from __future__ import annotations

import os
import random
import re
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.proof import depth
from tests.proof.kills.crowd import Actor, Crowd, open_crowd
from tests.proof.tally import Tally
from tests.support.fresh import Kind, fresh_url
from tests.support.workers import alive, until

_CHILD = re.compile(r"pool: process \d+ of \d+ has pid (\d+)")
_PROCESSES = 2
_MEET = 5
"""How many kills there are between two meetings of rivals."""
STORES: list[Kind] = ["sqlite", "postgres"]


def living(pool: Actor) -> list[int]:
    """The processes of a pool that live, those of a killed parent among them."""
    assert pool.process is not None
    return [pid for pid in map(int, _CHILD.findall(pool.process.log)) if alive(pid)]


def one_that_works(crowd: Crowd, pool: Actor, orphans: set[int]) -> int:
    """Wait for processes of the pool that have run a job, and choose one."""
    found: list[int] = []

    def anybody() -> bool:
        found[:] = [pid for pid in living(pool) if pid not in orphans and crowd.tail.look(pid)]
        return bool(found)

    until(anybody)
    return crowd.chance.choice(found)


def kill_one(crowd: Crowd, pool: Actor, orphans: set[int]) -> int:
    """Kill one that has run a job; some leave by themselves, as a job tells them to, before they are struck."""
    while True:
        child = one_that_works(crowd, pool, orphans)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
            return child


def strike(crowd: Crowd, pool: Actor, parents: int, children: int) -> None:
    """Kill workers of the pool, and the parent of all of them, in an order that was drawn."""
    blows = ["parent"] * parents + ["child"] * children
    crowd.chance.shuffle(blows)
    orphans: set[int] = set()
    for blow in blows:
        if blow == "child":
            child = kill_one(crowd, pool, orphans)
            crowd.killed.add(child)
            until(partial(gone, child))
        else:
            one_that_works(crowd, pool, orphans)
            assert pool.process is not None
            orphans.update(living(pool))
            crowd.killed |= orphans
            pool.process.kill()
            crowd.start(pool)
        crowd.kills[blow] += 1
        if crowd.kills.total() % _MEET == 1:
            crowd.rivals.meet()
    until(lambda: not any(map(alive, orphans)))


def gone(pid: int) -> bool:
    return not alive(pid)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", STORES)
def test_a_pool_s_parent_and_its_workers_are_killed_and_nothing_acknowledged_is_lost(
    store: Kind, tmp_path: Path, postgres_url: str, seed: int, tally: Tally
) -> None:
    chance = random.Random(f"{seed}-pools-{store}")
    with (
        fresh_url(store, tmp_path, postgres_url) as url,
        open_crowd(url, tmp_path, chance, g4=store != "sqlite") as crowd,
    ):
        pool = crowd.add_worker("pool", 4, "--processes", str(_PROCESSES), "--grace", "10s")
        crowd.add_producer("producer", 0.05)
        strike(crowd, pool, parents=depth.of(test=1, proof=10), children=depth.of(test=2, proof=20))
        crowd.rest()
        made = crowd.balance()
        assert pool.process is not None
        assert pool.process.leave() == 0
    parents, workers = crowd.kills["parent"], crowd.kills["child"]
    tally.on(store, kills=crowd.kills.total(), pool_parent_kills=parents, pool_worker_kills=workers)
    tally(jobs=made.stored, losses=made.losses, crashes=made.crashes, taken_away=made.taken_away)
    tally(stale_tried=crowd.rivals.tried, stale_refused=made.refused)
