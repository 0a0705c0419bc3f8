"""Clocks that leap past every lease: who lives has not crashed, even where it took a job from itself."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import tenure
from tenure.worker.lease import Keeper
from tests.worker.house import House, until


def test_a_worker_that_took_a_job_from_itself_has_not_crashed(house: House) -> None:
    clock = house.stand_still()
    begun: list[int] = []
    gate = asyncio.Event()

    @house.app.job
    async def holds(ctx: tenure.Context) -> None:
        begun.append(ctx.claim.epoch)
        await gate.wait()

    @house.app.job
    async def passes() -> None:
        """Makes the worker look for jobs."""

    job = holds.enqueue()
    working = house.start(lease="3s")
    until(lambda: begun)

    def leap() -> bool:
        clock.advance("60s")
        passes.enqueue()
        return bool(house.story(job))

    until(leap)
    seen = house.seen(job, lambda j: j.crashes == 0)
    until(lambda: len(begun) > 1)
    working.worker._loop.call_soon_threadsafe(gate.set)
    assert house.ended(job).state == "done"
    assert seen.attempt <= 1
    assert {kind for _, kind, _ in house.story(job)} == {"LeaseLost"}


def test_what_a_worker_took_from_itself_before_it_began_is_begun_once(house: House) -> None:
    clock = house.stand_still()
    blocked, free = threading.Event(), threading.Event()
    begun: list[int] = []

    @house.app.job
    async def blocks() -> None:
        """Nothing is begun meanwhile: the event loop stands still."""
        blocked.set()
        free.wait()

    @house.app.job
    async def waits(ctx: tenure.Context) -> None:
        begun.append(ctx.claim.epoch)

    blocks.enqueue()
    working = house.start(lease="3s")
    until(blocked.is_set)
    job = waits.enqueue()
    first = house.seen(job, lambda j: j.state == "running").epoch

    def leap() -> bool:
        clock.advance("4s")
        house.queue.beat(working.worker.name)  # it lives, so the job is no suspect
        house.queue.reclaim()
        return house.seen(job, bool).epoch > first

    sent = set[tuple[str, int]]()
    """What the claimer has handed over. It looks twice for a claim, and what is running meanwhile may not be on its way yet."""
    claimer: Any = working.worker._claimer
    claims = claimer._claim

    def claim(*given: Any, **terms: Any) -> Any:
        answer = claims(*given, **terms)
        sent.update((c.id, c.epoch) for c in list(working.worker._held))
        return answer

    claimer._claim = claim

    def is_on_its_way() -> bool:
        now = house.seen(job, bool)
        lasts = now.lease_until is not None and now.lease_until > clock()
        return lasts and now.epoch > first and (job.id, now.epoch) in sent

    try:
        until(leap)
        until(is_on_its_way)
    finally:
        free.set()
    assert house.ended(job).state == "done"
    assert len(begun) == 1
    assert begun[0] > first


def test_a_claim_has_not_started_because_an_older_one_of_its_job_still_runs(house: House) -> None:
    clock = house.stand_still()
    q, job = house.queue, house.queue.enqueue("k")
    [older] = q.claim(lease="3s", started=False)
    clock.advance("10s")
    assert q.reclaim() == 1
    [newer] = q.claim(lease="3s", started=False)
    runs: Any = {job.id: SimpleNamespace(claim=older, context=None, begun=True)}
    keeper = Keeper(
        q, worker=newer.worker, queues=None, kinds=["k"], lease=timedelta(seconds=3), held={newer}, runs=runs,
        renewed=lambda *_: None, outage=lambda *_: None, about=dict,
    )  # fmt: skip
    keeper._keep()
    clock.advance("60s")
    assert q.reclaim() == 1
    assert house.seen(job, lambda j: j.state == "ready").crashes == 0
