"""A database that goes away for a moment: workers stay up, and what they did is settled in the end."""

from __future__ import annotations

import asyncio
import threading

from tests.worker.house import House, until


def test_everything_settles_when_all_connections_are_cut_again_and_again(house: House) -> None:
    """On SQLite, where nothing can be cut, the file is locked by somebody else instead."""
    begun = threading.Semaphore(0)

    @house.app.job(max_attempts=1)
    async def works(n: int) -> int:
        begun.release()
        await asyncio.sleep(0.002)
        return n

    @house.app.job(max_attempts=1)
    def in_thread(n: int) -> int:
        begun.release()
        return n

    jobs = house.app.enqueue_many([k.call(n) for n in range(150) for k in (works, in_thread)])
    house.start(concurrency=5, prefetch=0)
    for _ in range(4):
        for _ in range(30):
            assert begun.acquire(timeout=30)
        _disturb(house)
    until(lambda: _done(house) == len(jobs))
    assert {(j.attempt, j.crashes) for j in map(house.ended, jobs[:10])} == {(1, 0)}


def _done(house: House) -> int:
    return house.queue.counts()["default"].get("done", 0)


def _disturb(house: House) -> None:
    if house.store == "postgres":
        with house.connection() as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
    elif house.store == "shared":
        with house.connection() as db:
            db.execute("BEGIN IMMEDIATE")
            threading.Event().wait(0.1)
            db.rollback()
    else:
        import apsw

        path = house.url.removeprefix("sqlite:///")
        with_apsw = apsw.Connection(path)
        with_apsw.set_busy_timeout(10_000)
        with_apsw.execute("BEGIN IMMEDIATE")
        threading.Event().wait(0.1)
        with_apsw.execute("ROLLBACK")
        with_apsw.close()
