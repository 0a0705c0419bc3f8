"""Who enqueues, until a file named "stop" is there or somebody kills it: one, many, unique, grouped, later, by sync and async.

Each id is written down when `enqueue` has returned it, and not before: that is what the queue has promised.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tenure
from tests.proof.kills.works import ATTEMPTS, G4
from tests.proof.ledger import Acks

__all__ = ["RUN", "main", "unanswered"]

RUN = f"{__name__}:main"
_MANY = 60
_SIDE_BY_SIDE = 8


def unanswered(folder: Path, killed: int) -> int:
    """How many jobs can have been stored at most without their ids being written down, if so many producers were killed."""
    refused = folder / "refused"
    return (killed + (refused.stat().st_size if refused.exists() else 0)) * max(_MANY, _SIDE_BY_SIDE)


def _refused(folder: Path) -> None:
    """An enqueue was told that the store is away: whether the job is there, nobody knows."""
    with (folder / "refused").open("ab") as told:
        told.write(b".")


def main(args: list[str]) -> None:
    """NAME, the seed of what is drawn, the most seconds between two calls, and the words "g4" and "async" where they are meant."""
    name, seed, pace, *words = args
    folder, chance = Path(os.environ["SCENE"]), random.Random(seed)
    acks, stop = Acks(folder / f"acks-{name}"), folder / "stop"
    kinds = ["note", "waits", "blocks", "fails", "snoozes", *([G4] * 2 if "g4" in words else [])]
    if "async" in words:
        asyncio.run(_side_by_side(acks, chance, kinds, float(pace), stop.exists))
    else:
        _one_by_one(acks, chance, kinds, float(pace), stop.exists)


def _one_by_one(
    acks: Acks, chance: random.Random, kinds: list[str], pace: float, stop: Callable[[], bool]
) -> None:
    with tenure.open() as q:
        while not stop():
            kind = chance.choice(kinds)
            try:
                if chance.random() < 0.15:
                    count = chance.choice([3, _MANY])
                    acks.add(*(answer.id for answer in q.enqueue_many([_new(kind, chance, {})] * count)))
                else:
                    acks.add(q.enqueue_job(_new(kind, chance, _options(chance))).id)
            except tenure.StoreUnavailable:
                _refused(acks.path.parent)
            time.sleep(chance.uniform(0, pace))


async def _side_by_side(
    acks: Acks, chance: random.Random, kinds: list[str], pace: float, stop: Callable[[], bool]
) -> None:
    """So that they share commits."""

    async def one() -> None:
        while not stop():
            try:
                acks.add((await q.enqueue_job(_new(chance.choice(kinds), chance, _options(chance)))).id)
            except tenure.StoreUnavailable:
                _refused(acks.path.parent)
            await asyncio.sleep(chance.uniform(0, pace * _SIDE_BY_SIDE))

    async with await tenure.aopen() as q, asyncio.TaskGroup() as tasks:
        for _ in range(_SIDE_BY_SIDE):
            tasks.create_task(one())


def _new(kind: str, chance: random.Random, options: dict[str, Any]) -> tenure.NewJob:
    """A job; of those that fail, one in five fails for good. What an outage can make fail has attempts to spare."""
    if kind == "fails":
        return tenure.NewJob(
            kind=kind, payload={"times": chance.choice([1, 1, 2, 2, 9])}, max_attempts=ATTEMPTS, **options
        )
    return tenure.NewJob(kind=kind, payload={}, max_attempts=1_000, **options)


def _options(chance: random.Random) -> dict[str, Any]:
    drawn = chance.random()
    if drawn < 0.1:
        return {"unique": f"u{chance.randrange(20)}"}
    if drawn < 0.2:
        return {"unique": f"p{chance.randrange(2_000)}", "unique_for": "1h"}
    if drawn < 0.3:
        return {"group": f"g{chance.randrange(20)}"}
    if drawn < 0.4:
        return {"delay": f"{chance.randrange(1, 100)}ms"}
    if drawn < 0.45:
        return {"priority": chance.randrange(-5, 5)}
    return {}
