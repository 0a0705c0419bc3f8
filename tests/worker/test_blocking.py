"""Neither handlers that block the event loop or hold the interpreter nor chores that take long cost a claim its lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tenure.events import ClaimGone
from tests.worker.house import PATIENCE, Heard, House, until

_LEASE = 2.0


def test_a_handler_that_blocks_the_event_loop_past_its_lease_keeps_its_claim(house: House) -> None:
    heard = Heard(house.app, ClaimGone)

    @house.app.job
    async def sleeps() -> str:
        time.sleep(_LEASE * 0.6)  # noqa: ASYNC251 - this is what must not hurt
        return "slept"

    @house.app.job
    async def counts() -> str:
        end = time.monotonic() + _LEASE * 0.6
        while time.monotonic() < end:
            pass
        return "counted"

    @house.app.job
    def beside() -> str:
        return "beside"

    jobs = [sleeps.enqueue(), counts.enqueue(), beside.enqueue()]
    house.start(lease=_LEASE, concurrency=3)
    with_others = house.app.open()
    stop = threading.Event()

    def takes_back() -> None:
        while not stop.wait(0.05):
            with_others.reclaim()

    other = threading.Thread(target=takes_back)
    other.start()
    try:
        assert [j.result("30s") for j in jobs] == ["slept", "counted", "beside"]
    finally:
        stop.set()
        other.join(30)
        with_others.close()
    assert [(j.attempt, j.crashes, j.epoch) for j in map(house.ended, jobs)] == [(1, 0, 1)] * 3
    assert heard.events == []


def test_a_handler_that_holds_the_interpreter_past_a_renewal_keeps_its_claim(house: House) -> None:
    """Shorter than the lease, longer than the time between renewals: nobody else runs meanwhile, in C code."""
    heard = Heard(house.app, ClaimGone)

    @house.app.job
    async def holds() -> float:
        size, held = 100_000, 0.0
        while held < _LEASE / 5:
            began = time.monotonic()
            _ = 7**size
            held, size = time.monotonic() - began, size * 2
        return held

    job = holds.enqueue()
    house.start(lease=_LEASE)
    assert job.result("30s") > _LEASE / 6
    assert (house.ended(job).epoch, house.ended(job).crashes) == (1, 0)
    assert heard.events == []


@pytest.mark.parametrize("whose", ["chores", "settles"])
def test_neither_chores_nor_settles_under_way_delay_a_renewal(house: House, whose: str) -> None:
    going = threading.Event()

    @house.app.job
    def mine() -> None:
        going.wait(PATIENCE)

    job = mine.enqueue()
    worker: Any = house.start(lease=_LEASE).worker
    house.seen(job, lambda j: j.state == "running")
    until(lambda: worker._janitor._thread.is_alive())
    with _all_taken(worker._janitor._queue if whose == "chores" else worker._queue):
        for _ in range(3):
            before = house.queue.get(job.id)
            house.seen(job, lambda j, was=before: j.lease_until > was.lease_until)  # type: ignore[misc]
    going.set()
    assert house.ended(job).epoch == 1


@contextmanager
def _all_taken(queue: Any) -> Iterator[None]:
    """Every connection that a queue may have is in use, and nothing is locked in the database."""
    leaving, inside = threading.Event(), list[int]()

    def wait(_again: bool) -> Any:
        inside.append(1)
        leaving.wait(PATIENCE)
        yield from ()

    # On PostgreSQL a queue has a few connections, on SQLite one to write with.
    most = getattr(getattr(queue._store, "_pool", None), "_size", 1)
    threads = [threading.Thread(target=queue._store.run, args=(wait,)) for _ in range(most)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(inside) == most)
        yield
    finally:
        leaving.set()
        for thread in threads:
            thread.join(PATIENCE)
