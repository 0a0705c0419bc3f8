"""Two commits side by side: what has gathered need not wait for the one before, and nobody overtakes whom it shares a key with."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import defaultdict
from collections.abc import Sequence

import pytest

from tenure.client.commit import GroupCommit
from tenure.client.commit_on_loop import Heard, LoopCommit
from tenure.job import Enqueued, Request
from tenure.newjob import NewJob, Row, check

ROWS = 3_000


def row(key: str, group: str | None = None, *, request: bool = True) -> Row:
    came = Request(b"{}", {}) if request else None
    return check(NewJob(kind="k", unique=key, unique_for="1h", group=group, request=came))


def told(rows: Sequence[Row]) -> list[Enqueued]:
    return [Enqueued(row.id, inserted=True) for row in rows]


def test_what_has_gathered_is_committed_beside_and_those_who_share_a_key_wait() -> None:
    first, second = row("a", "chat"), row("b", "chat")
    others = [row(f"other {n}") for n in range(8)]
    seen: list[list[str]] = []
    go_on = threading.Event()

    def store(rows: Sequence[Row], _asked: bool) -> list[Enqueued]:
        seen.append([row.id for row in rows])
        if len(seen) == 1:
            assert go_on.wait(30)
        return told(rows)

    async def calls() -> None:
        commits = GroupCommit(store, asyncio.to_thread, 2)
        waiting = [asyncio.ensure_future(commits.enqueue(first))]
        while not seen:  # noqa: ASYNC110 - a thread sees
            await asyncio.sleep(0.001)
        waiting.append(asyncio.ensure_future(commits.enqueue(second)))
        await asyncio.wait_for(asyncio.gather(*map(commits.enqueue, others)), 30)
        assert not waiting[1].done()
        go_on.set()
        await asyncio.wait_for(asyncio.gather(*waiting), 30)
        await commits.finish()

    asyncio.run(calls())
    assert seen == [[first.id], [other.id for other in others], [second.id]]


@pytest.mark.parametrize("on_loop", [True, False], ids=["on the loop", "by threads"])
@pytest.mark.parametrize("request_", [True, False], ids=["with requests", "without"])
def test_however_it_goes_each_is_stored_once_and_those_who_share_a_key_in_their_order(
    request_: bool, on_loop: bool
) -> None:
    draw = random.Random("lanes")
    rows = [
        row(f"{n % 700}", f"chat {draw.randrange(30)}" if n % 3 else None, request=request_)
        for n in range(ROWS)
    ]
    order: list[str] = []
    under_way: dict[object, set[str]] = {}
    stored: dict[str, list[str]] = defaultdict(list)
    most, lock = [0], threading.Lock()

    def begin(given: Sequence[Row], who: object) -> None:
        mine = {key for row in given for key in (row.group_key, row.unique_hash) if key is not None}
        with lock:
            assert all(mine.isdisjoint(others) for others in under_way.values())
            under_way[who] = mine
            most[0] = max(most[0], len(under_way))
            order.extend(row.id for row in given)
            for row in given:
                for key in (row.group_key, row.unique_hash):
                    if key is not None:
                        stored[key].append(row.id)

    def end(who: object) -> None:
        with lock:
            del under_way[who]

    def store(given: Sequence[Row], _asked: bool) -> list[Enqueued]:
        begin(given, threading.get_ident())
        time.sleep(len(given) % 3 / 1_000)
        end(threading.get_ident())
        return told(given)

    def fly(given: Sequence[Row], tell: Heard) -> bool:
        if draw.random() < 0.1:
            return False  # a thread has to

        def land() -> None:
            end(tell)
            tell(told(given))

        begin(given, tell)
        asyncio.get_running_loop().call_later(len(given) % 3 / 1_000, land)
        return True

    async def calls() -> None:
        commits = GroupCommit(store, asyncio.to_thread, 2)
        if on_loop:
            commits = LoopCommit(fly, store, asyncio.to_thread, 2)
        waiting = []
        for one in rows:
            waiting.append(asyncio.ensure_future(commits.enqueue(one)))
            if draw.random() < 0.05:
                await asyncio.sleep(draw.choice((0, 0.001)))
        answers = await asyncio.wait_for(asyncio.gather(*waiting), 60)
        assert [answer.id for answer in answers] == [one.id for one in rows]
        await commits.finish()

    asyncio.run(calls())
    assert most == [2 if request_ else 1]
    assert request_ or order == [one.id for one in rows]
    for key, ids in stored.items():
        assert ids == [one.id for one in rows if key in (one.group_key, one.unique_hash)]
