"""A thread that has committed rests for more: whenever a call comes, before, while or after it leaves, it is answered."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence

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
