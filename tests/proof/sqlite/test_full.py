"""A disk that fills up and is freed again: a clear error, nothing torn, and work that goes on by itself."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from uuid_utils import uuid7

import tenure
from tenure.events import Outage
from tests.proof import depth
from tests.proof.ledger import at_rest, balance, intact
from tests.proof.notes import Effect
from tests.proof.sqlite.small import SmallDisk, small_disk
from tests.proof.tally import Tally
from tests.worker.house import Heard, House, until

_FILLS = depth.of(test=2, proof=10)
"""How often the disk of a worker is filled, at least."""
_SAID = re.compile(r"is full; nothing was stored; free some space|check the disk")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    """A disk that fills up when it is told to."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with small_disk(tmp_path / "small") as made:
        yield made


def said_full(error: tenure.StoreUnavailable) -> None:
    """What a caller is told."""
    assert _SAID.search(str(error)), error


def fill(q: tenure.Queue, disk: SmallDisk, rng: random.Random) -> list[str]:
    """Enqueue until a few were refused; the ids of those that were promised."""
    promised: list[str] = []
    refused = 0
    # A log that begins again at its start needs no more room, and then a full disk would hold nobody up.
    with closing(apsw.Connection(str(disk.folder / "jobs.db"))) as file:
        file.set_busy_timeout(10_000)
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    disk.leave(rng.randrange(400_000))
    while refused < 3:
        jobs = [
            tenure.NewJob(kind="work", payload={"text": "x" * rng.randrange(20_000)}, id=str(uuid7()))
            for _ in range(rng.choice((1, 1, 2, 60)))
        ]
        try:
            answers = [q.enqueue_job(jobs[0])] if len(jobs) == 1 else q.enqueue_many(jobs)
            promised += [answer.id for answer in answers]
        except tenure.StoreUnavailable as error:
            said_full(error)
            refused += 1
    return promised


def test_a_disk_that_fills_up_again_and_again_loses_and_tears_nothing(
    disk: SmallDisk, seed: int, tally: Tally
) -> None:
    rng = random.Random(f"{seed}-full-torn")
    url = f"sqlite:///{disk.folder}/jobs.db"
    with tenure.open(url) as q:
        promised: list[str] = []
        for _ in range(depth.of(test=4, proof=30)):
            promised += fill(q, disk, rng)
            balance(q, promised, tried=promised, allow=("ready", "running", "done"))
            disk.free()
            claims = q.claim(10_000)
            assert {claim.id for claim in claims} == set(promised), "what was promised is not what is there"
            disk.leave(rng.randrange(30_000))
            try:
                settled = all(q.settle_many([(claim, tenure.Done()) for claim in claims]))
            except tenure.StoreUnavailable as error:
                said_full(error)
                disk.free()
                settled = all(q.settle_many([(claim, tenure.Done()) for claim in claims]))
                tally(settles_refused=1)
            assert settled
            disk.free()
            intact(url)
            tally(fills=1, mounted=int(disk.mounted))
            sums = balance(
                q, promised, tried=promised, effects=[Effect.of(claim) for claim in claims], allow=("done",)
            )
            tally(jobs=sums.done, losses=sums.losses)
            # The room that finished jobs leave is used again.
            assert q.purge(tenure.Filter(states=["done"])) == sums.done
            promised = []


def test_a_worker_on_a_disk_that_fills_up_pauses_and_goes_on_by_itself(
    disk: SmallDisk, seed: int, tally: Tally
) -> None:
    rng = random.Random(f"{seed}-full-worker")
    url = f"sqlite:///{disk.folder}/jobs.db"
    house, ran, go, lock = House("sqlite", url), [], threading.Event(), threading.Lock()
    heard = Heard(house.app, Outage)

    @house.app.job
    async def work(ctx: tenure.Context, text: str) -> None:
        with lock:
            ran.append(ctx.id)

    @house.app.job
    async def held(ctx: tenure.Context) -> None:
        """Ends while the disk is full."""
        with lock:
            ran.append(ctx.id)
        while not go.is_set():  # noqa: ASYNC110 - a thread says so
            await asyncio.sleep(0.01)

    promised: list[str] = []
    house.start(lease="60s")
    try:
        # A log that begins again at its start while the disk is full holds nobody up: then it is filled once more.
        for turn in range(4 * _FILLS):
            if turn >= _FILLS and heard.events:
                break
            go.clear()
            holding = {held.enqueue().id for _ in range(3)}
            until(lambda holding=holding: holding <= set(ran))  # type: ignore[misc]
            promised += holding
            promised += fill(house.queue, disk, rng)
            disk.leave(0)
            before = len(heard.events)
            go.set()
            until(
                lambda holding=holding, before=before: (  # type: ignore[misc]
                    len(heard.events) > before or all(house.queue.get(job).state == "done" for job in holding)  # type: ignore[union-attr]
                )
            )
            disk.free()
            at_rest(house.queue)
            tally(fills=1, mounted=int(disk.mounted))
        sums = balance(house.queue, promised, tried=promised, allow=("done",))
        assert sums.crashes == 0
        assert sorted(ran) == sorted(promised), "a job ran twice, or not at all"
        assert heard.events, "no worker ever met a full disk"
        for told in heard.events:
            assert _SAID.search(told.error), told
    finally:
        go.set()
        disk.free()
        house.close()
    intact(url)
    tally(jobs=sums.acked, losses=sums.losses, outages=len(heard.events))
