"""Who enqueues, until a file named "stop" is there or somebody kills it: one, many, unique, grouped, later, by sync and async.

Each id is written down when `enqueue` has returned it, and not before: that is what the queue has promised. What is about to be
asked for is written down before: nothing else may be there at the end.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from uuid_utils import uuid7

import tenure
from tests.proof.kills.works import ATTEMPTS, G4, PERIOD
from tests.proof.notes import Acks

__all__ = ["RUN", "main"]

RUN = f"{__name__}:main"
_MANY = 60
_SIDE_BY_SIDE = 8


class Papers:
    """What one producer writes down."""

    def __init__(self, folder: Path, name: str) -> None:
        self.tried, self.acks = Acks(folder / f"tried-{name}"), Acks(folder / f"acks-{name}")

    def ask(self, *jobs: tenure.NewJob) -> list[tenure.NewJob]:
        """These are about to be enqueued."""
        self.tried.add(*(str(job.id) for job in jobs))
        return list(jobs)


def main(args: list[str]) -> None:
    """NAME, the seed of what is drawn, the most seconds between two calls, and the words "g4" and "async" where they are meant."""
    name, seed, pace, *words = args
    folder, chance = Path(os.environ["SCENE"]), random.Random(seed)
    papers, stop = Papers(folder, name), folder / "stop"
    kinds = ["note", "waits", "blocks", "fails", "snoozes", *([G4] * 2 if "g4" in words else [])]
    if "async" in words:
        asyncio.run(_side_by_side(papers, chance, kinds, float(pace), stop.exists))
    else:
        _one_by_one(papers, chance, kinds, float(pace), stop.exists)


def _one_by_one(
    papers: Papers, chance: random.Random, kinds: list[str], pace: float, stop: Callable[[], bool]
) -> None:
    with tenure.open() as q:
        while not stop():
            kind = chance.choice(kinds)
            # Who is told that the store is away does not know whether the jobs are there.
            with suppress(tenure.StoreUnavailable):
                if chance.random() < 0.15:
                    some = papers.ask(*(_new(kind, chance, {}) for _ in range(chance.choice([3, _MANY]))))
                    papers.acks.add(*(answer.id for answer in q.enqueue_many(some)))
                else:
                    [job] = papers.ask(_new(kind, chance, _options(chance)))
                    papers.acks.add(q.enqueue_job(job).id)
            time.sleep(chance.uniform(0, pace))


async def _side_by_side(
    papers: Papers, chance: random.Random, kinds: list[str], pace: float, stop: Callable[[], bool]
) -> None:
    """So that they share commits."""

    async def one() -> None:
        while not stop():
            with suppress(tenure.StoreUnavailable):
                [job] = papers.ask(_new(chance.choice(kinds), chance, _options(chance)))
                papers.acks.add((await q.enqueue_job(job)).id)
            await asyncio.sleep(chance.uniform(0, pace * _SIDE_BY_SIDE))

    async with await tenure.aopen() as q, asyncio.TaskGroup() as tasks:
        for _ in range(_SIDE_BY_SIDE):
            tasks.create_task(one())


def _new(kind: str, chance: random.Random, options: dict[str, Any]) -> tenure.NewJob:
    """A job under an id of its own; of those that fail, one in five fails for good. What an outage can make fail has attempts to spare."""
    options |= {"id": str(uuid7())}
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
        return {"unique": f"{PERIOD}{chance.randrange(2_000)}", "unique_for": "1h"}
    if drawn < 0.3:
        return {"group": f"g{chance.randrange(20)}"}
    if drawn < 0.4:
        return {"delay": f"{chance.randrange(1, 100)}ms"}
    if drawn < 0.45:
        return {"priority": chance.randrange(-5, 5)}
    return {}
