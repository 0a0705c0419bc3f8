"""A thread that has committed rests for more: whenever a call comes, before, while or after it leaves, it is answered."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tenure.client import commit
from tenure.client.commit import GroupCommit
from tenure.job import Enqueued
from tenure.newjob import NewJob, Row, check

CALLS = 600
ROWS = [check(NewJob(kind="k")), check(NewJob(kind="k", unique="a"))]


@pytest.mark.parametrize("rest", [0.0, 0.0002, 5.0])
def test_every_call_is_answered_however_long_threads_rest(
    rest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "_REST", rest)
    draw, stored, threads = random.Random(f"{rest}"), list[str](), set[int]()

    def store(rows: Sequence[Row], _asked: bool) -> list[Enqueued]:
        threads.add(threading.get_ident())
        stored.extend(row.id for row in rows)
        return [Enqueued(row.id, inserted=True) for row in rows]

    async def calls() -> None:
        commits = GroupCommit(store, asyncio.to_thread)
        for n in range(CALLS):
            row = ROWS[n % 2]
            assert await asyncio.wait_for(commits.enqueue(row), 30) == (row.id, True)
            await asyncio.sleep(draw.choice((0, 0, 0.0001, 0.0003)))
        last = asyncio.ensure_future(commits.enqueue(ROWS[0]))
        await asyncio.sleep(0)
        await asyncio.wait_for(commits.finish(), 4)  # who rests does not hold it up
        assert last.done()

    asyncio.run(calls())
    assert len(stored) == CALLS + 1
    assert threading.get_ident() not in threads


def test_of_two_threads_that_find_nothing_one_rests_and_both_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "_REST", 0.05)
    commits = GroupCommit(
        lambda rows, _asked: [Enqueued(row.id, inserted=True) for row in rows], asyncio.to_thread
    )

    async def both() -> None:
        loop = asyncio.get_running_loop()
        work = [asyncio.to_thread(commits._work, 0, loop) for _ in range(2)]
        await asyncio.wait_for(asyncio.gather(*work), 30)

    for _ in range(5):
        asyncio.run(both())


def test_who_rests_is_called_in_the_middle_of_what_the_event_loop_hears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commit, "_REST", 30.0)
    stored, hops, begun = list[int](), list[None](), threading.Event()

    def store(rows: Sequence[Row], _asked: bool) -> list[Enqueued]:
        stored.append(len(rows))
        if len(stored) > 1:
            begun.set()
        return [Enqueued(row.id, inserted=True) for row in rows]

    def hop(work: Callable[[], Any]) -> Any:
        hops.append(None)
        return asyncio.to_thread(work)

    async def calls() -> None:
        commits = GroupCommit(store, hop)
        await commits.enqueue(ROWS[0])
        while not commits._rests[0]:  # noqa: ASYNC110 - a thread rests
            await asyncio.sleep(0.001)
        answers = [asyncio.get_running_loop().create_future() for _ in range(40)]
        for answer in answers[:32]:
            commits.put(ROWS[0], answer)
        assert begun.wait(30)  # the event loop has not gone on
        for answer in answers[32:]:
            commits.put(ROWS[0], answer)
        await asyncio.wait_for(asyncio.gather(*answers), 30)
        await asyncio.wait_for(commits.finish(), 30)

    asyncio.run(calls())
    assert stored[:2] == [1, 32]
    assert sum(stored) == 41
    assert len(hops) == 1


@pytest.mark.parametrize("rest", [0.0, 0.0002, 5.0])
def test_nobody_of_many_who_come_at_once_is_forgotten(rest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "_REST", rest)
    draw, stored = random.Random(f"{rest}"), list[str]()

    def store(rows: Sequence[Row], _asked: bool) -> list[Enqueued]:
        stored.extend(row.id for row in rows)
        return [Enqueued(row.id, inserted=True) for row in rows]

    async def calls() -> None:
        commits = GroupCommit(store, asyncio.to_thread)
        for _ in range(150):
            many = [
                commits.enqueue(ROWS[draw.random() < 0.3])
                for _ in range(draw.choice((1, 31, 32, 33, 64, 90)))
            ]
            await asyncio.wait_for(asyncio.gather(*many), 30)
            await asyncio.sleep(draw.choice((0, 0, 0.0001, 0.0003)))
        await asyncio.wait_for(commits.finish(), 30)

    asyncio.run(calls())
