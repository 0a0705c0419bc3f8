"""Handlers that fill the event loop's own threads with calls that block: the worker's own work needs none of them."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import tenure
from tenure.events import WorkerStopped
from tests.worker.house import Heard, House, until

_MORE_THAN_THREADS = 40
"""More than an event loop has, which are 32 at most."""


def test_a_suspect_starts_all_the_same(parent_house: House, tmp_path: Path) -> None:
    from tests.worker import apps

    suspect = apps.plain_where.enqueue()
    [claim] = parent_house.queue.claim(1, worker="lost")
    parent_house.queue.pause("default")
    assert parent_house.queue.vanished("lost", started=[(claim.id, claim.epoch)], story="died") == 1
    for _ in range(_MORE_THAN_THREADS):
        apps.fills.options(queue="full").enqueue()
    try:
        parent_house.start(concurrency=_MORE_THAN_THREADS + 1)
        until(lambda: len(list(tmp_path.glob("fills-*"))) == _MORE_THAN_THREADS)
        parent_house.queue.resume("default")
        assert isinstance(suspect.result("30s"), int)
    finally:
        (tmp_path / "go").touch()


def test_a_transaction_that_was_rolled_back_is_noticed_all_the_same(own_house: House) -> None:
    house, go, full = own_house, threading.Event(), threading.Semaphore(0)

    @house.app.job
    async def fills() -> None:
        full.release()
        await asyncio.to_thread(go.wait, 60)

    @house.app.job(retry=tenure.Fixed("1h"))
    def rolls_back(ctx: tenure.Context) -> None:
        with house.connection() as db:
            ctx.claim.settle_in(db, tenure.Done())
            db.rollback()

    for _ in range(_MORE_THAN_THREADS):
        fills.enqueue()
    try:
        house.start(concurrency=_MORE_THAN_THREADS + 1)
        for _ in range(_MORE_THAN_THREADS):
            assert full.acquire(timeout=30)
        assert house.seen(rolls_back.enqueue(), lambda j: j.state == "scheduled").attempt == 1
    finally:
        go.set()


def test_the_worker_stops_in_good_order_all_the_same(house: House) -> None:
    go, full = threading.Event(), threading.Semaphore(0)
    heard = Heard(house.app, WorkerStopped)

    @house.app.job
    async def fills() -> None:
        full.release()
        await asyncio.to_thread(go.wait, 60)

    jobs = [fills.enqueue() for _ in range(_MORE_THAN_THREADS)]
    try:
        working = house.start(concurrency=_MORE_THAN_THREADS)
        for _ in range(_MORE_THAN_THREADS):
            assert full.acquire(timeout=30)
        working.tell()
        working.tell()
        until(lambda: heard.events)
        assert {j.state for j in map(house.queue.get, [job.id for job in jobs]) if j is not None} == {"ready"}
        assert house.queue.workers() == []
    finally:
        go.set()


def test_the_worker_s_own_threads_have_names_and_end_with_it(house: House) -> None:
    @house.app.job
    def named() -> str:
        return threading.current_thread().name

    working = house.start()
    assert str(named.enqueue().result("30s")).startswith("tenure-handler-")
    desk = working.worker._desk._threads
    assert [thread.name for thread in desk] == ["tenure-desk-0"]
    working.stop()
    until(lambda: not any(thread.is_alive() for thread in desk))
