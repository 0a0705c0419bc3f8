"""Commits that an event loop hears of itself: no thread is asked unless something goes wrong, and then each job is stored once.

On PostgreSQL. A server of our own, whose processes may be stopped, ended and held up.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest

import tenure
from tenure.config import PostgresPlace, locate
from tenure.job import Request
from tenure.store.postgres.limits import Limits
from tenure.store.postgres.store import POOL, PostgresStore
from tests.support.backends import backends

MANY = 200


@pytest.fixture
def url(own_url: str) -> str:
    return own_url


def queue_at(url: str, limit: float = 60.0, patience: float = 5.0) -> tenure.AsyncQueue:
    place = locate(url)
    assert isinstance(place, PostgresPlace)
    return tenure.AsyncQueue(PostgresStore(place, patience=patience, limits=Limits(limit)))


def hook(n: int) -> dict[str, Any]:
    """What a webhook's job carries."""
    return {
        "unique": f"{n}",
        "unique_for": "1h",
        "group": f"chat {n % 7}",
        "request": Request(b'{"n": %d}' % n, {}),
    }


def told(q: tenure.AsyncQueue, heard: list[str]) -> None:
    """Hear of every thread that is asked for."""
    inner = q._hop

    async def hop(work: Callable[[], Any]) -> Any:
        heard.append("a thread")
        return await inner(work)

    q._hop = hop  # type: ignore[method-assign]


def stored(url: str) -> int:
    with tenure.open(url) as q:
        return len(q.list(limit=1_000))


def test_no_thread_is_asked_while_all_goes_well(url: str) -> None:
    heard: list[str] = []

    async def calls() -> None:
        async with queue_at(url) as q:
            # The first of two commits at a time has the one connection there is; for the other, a thread makes one.
            await asyncio.gather(*(q.enqueue("k", n, **hook(n)) for n in range(MANY)))
            told(q, heard)
            await q.enqueue("k", "bare")
            await asyncio.gather(*(q.enqueue("k", n, **hook(MANY + n)) for n in range(MANY)))
            await asyncio.gather(*(q.enqueue("k", n, tags=["t"]) for n in range(MANY)))
            again = await asyncio.gather(*(q.enqueue("k", n, **hook(n)) for n in range(MANY)))
            assert not any(one.inserted for one in again)

    asyncio.run(calls())
    assert heard == []
    assert stored(url) == 3 * MANY + 1


def test_what_is_larger_than_a_socket_takes_is_sent_while_the_loop_goes_on(url: str) -> None:
    beats = [0]

    async def beat() -> None:
        while True:
            beats[0] += 1
            await asyncio.sleep(0)

    async def calls() -> None:
        async with queue_at(url) as q:
            heart = asyncio.ensure_future(beat())
            text = "x" * 500_000
            await asyncio.gather(*(q.enqueue("k", text, tags=["large"]) for _ in range(40)))
            heart.cancel()

    asyncio.run(calls())
    assert beats[0] > 10
    with tenure.open(url) as q:
        assert [len(job.payload) for job in q.list()] == [500_000] * 40


@pytest.mark.parametrize("keyed", [True, False], ids=["webhooks", "plain"])
def test_connections_that_have_ended_cost_nobody_a_job(url: str, keyed: bool) -> None:
    async def calls() -> list[tenure.Enqueued]:
        async with queue_at(url) as q:
            await asyncio.gather(*(q.enqueue("k", n, **hook(n)) for n in range(MANY)))
            for pid in backends(url):
                os.kill(pid, signal.SIGTERM)
            jobs = (q.enqueue("k", n, **(hook(MANY + n) if keyed else {"tags": ["t"]})) for n in range(MANY))
            return await asyncio.gather(*jobs)

    answers = asyncio.run(calls())
    assert all(one.inserted for one in answers)
    assert stored(url) == 2 * MANY


def test_a_server_that_is_silent_is_given_up_and_its_jobs_are_stored_once_by_others(url: str) -> None:
    async def calls() -> list[tenure.Enqueued]:
        q = queue_at(url, limit=1.0)
        await q.enqueue("k", 0, **hook(0))
        pids = backends(url)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            waiting = asyncio.gather(*(q.enqueue("k", n, **hook(1 + n)) for n in range(MANY)))
            answers = await asyncio.wait_for(waiting, 60)
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        await q.close()
        return answers

    answers = asyncio.run(calls())
    assert len({one.id for one in answers}) == MANY
    assert stored(url) == MANY + 1


def test_a_key_that_somebody_holds_keeps_its_own_job_waiting_and_no_other(url: str) -> None:
    async def calls() -> None:
        async with queue_at(url) as q:
            with psycopg.connect(url.partition("?")[0]) as own, tenure.open(url) as sync:
                assert sync.using(own).enqueue("k", unique="held").inserted
                held = asyncio.ensure_future(q.enqueue("k", unique="held"))
                others = [q.enqueue("k", unique=f"free {n}") for n in range(MANY)]
                assert all(one.inserted for one in await asyncio.wait_for(asyncio.gather(*others), 60))
                assert not held.done()
                own.rollback()
            assert (await asyncio.wait_for(held, 60)).inserted

    asyncio.run(calls())
    assert stored(url) == MANY + 1


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # tasks that a closed loop left behind
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("told", [True, False], ids=["run", "closed"])
def test_an_event_loop_that_ends_too_early_takes_no_connection_with_it(
    url: str, steps: int, told: bool
) -> None:
    """More of them than there are connections, and nobody collects garbage; the last one finds some all the same."""
    q = queue_at(url)

    async def leave() -> None:
        await q.enqueue("k", "stored", tags=["t"])
        asyncio.ensure_future(q.enqueue("k", "nobody knows", tags=["t"]))  # noqa: RUF006 - nobody waits for it
        for _ in range(steps):
            await asyncio.sleep(0)

    async def last() -> None:
        await asyncio.wait_for(q.enqueue("k", "stored", tags=["t"]), 60)
        await q.close()

    gc.disable()
    try:
        for _ in range(POOL + 2):
            if told:
                asyncio.run(leave())
            else:
                loop = asyncio.new_event_loop()
                loop.set_exception_handler(
                    lambda _, about: None
                )  # it complains of the tasks that it left behind
                loop.run_until_complete(leave())
                for task in asyncio.all_tasks(loop):
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                loop.close()
        asyncio.run(last())
    finally:
        gc.enable()
    with tenure.open(url) as sync:
        assert [job.payload for job in sync.list(limit=100)].count("stored") == POOL + 3


def test_two_who_close_a_queue_both_come_back(url: str) -> None:
    async def calls() -> None:
        q = queue_at(url)
        waiting = [asyncio.ensure_future(q.enqueue("k", n, **hook(n))) for n in range(MANY)]
        await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.gather(q.close(), q.close()), 60)
        assert all(one.done() for one in waiting)

    asyncio.run(calls())
    assert stored(url) == MANY


def test_a_clock_that_fails_holds_up_nobody_for_ever(url: str) -> None:
    """What cannot even be begun is told to those who asked, and the next is stored."""

    async def calls() -> None:
        async with queue_at(url) as q:
            inner, broken = q._begin, [True]

            def begin(*args: Any) -> bool:
                if broken.pop() if broken else False:
                    raise RuntimeError("no time")
                return inner(*args)

            q._begin = begin  # type: ignore[method-assign, assignment]
            with pytest.raises(RuntimeError, match="no time"):
                await q.enqueue("k", 1, tags=["t"])
            assert (await asyncio.wait_for(q.enqueue("k", 2, tags=["t"]), 60)).inserted

    asyncio.run(calls())
    assert stored(url) == 1


def test_a_queue_that_is_closed_has_answered_what_it_was_asked(url: str) -> None:
    async def calls() -> list[tenure.Enqueued]:
        q = queue_at(url)
        waiting = [asyncio.ensure_future(q.enqueue("k", n, **hook(n))) for n in range(MANY)]
        await asyncio.sleep(0)
        await q.close()
        assert all(one.done() for one in waiting)
        with pytest.raises(tenure.UsageError, match="closed"):
            await q.enqueue("k")
        return [one.result() for one in waiting]

    assert all(one.inserted for one in asyncio.run(calls()))
    assert stored(url) == MANY
