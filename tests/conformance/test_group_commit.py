"""Group commit: concurrent enqueues of one async queue share commits, and each is answered as if it were alone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, cast

import apsw
import psycopg
import pytest

import tenure
from tests.support.places import WAYS, Loop, Place

everywhere = pytest.mark.parametrize(
    "place", [pytest.param(w, id=w[0]) for w in WAYS if w[1] == "async"], indirect=True
)
with_row_locks = pytest.mark.parametrize(
    "place", [pytest.param(("postgres", "async"), id="postgres")], indirect=True
)


@pytest.fixture
def aq(place: Place) -> tenure.AsyncQueue:
    """An async queue, to be awaited by the test itself."""
    return cast("tenure.AsyncQueue", cast("Any", place.open()).target)


@contextmanager
def nobody_can_write(place: Place) -> Iterator[Callable[[], Any]]:
    """Hold the store's write lock; the answer lets go of it."""
    holder: Any
    if place.store == "postgres":
        with psycopg.connect(place.postgres_url) as holder:
            holder.execute(place._placed("LOCK TABLE tenure.jobs IN SHARE MODE"))
            yield holder.rollback
        return
    holder = (
        apsw.Connection(str(place.path))
        if place.store == "sqlite"
        else sqlite3.connect(str(place.path), isolation_level=None, check_same_thread=False)
    )
    try:
        holder.execute("BEGIN IMMEDIATE")
        yield lambda: holder.execute("ROLLBACK")
    finally:
        holder.close()


@contextmanager
def somebody_is_enqueueing(place: Place, **options: Any) -> Iterator[Any]:
    """A transaction of somebody else's that has enqueued such a job and not ended yet: its connection, and the answer."""
    with tenure.open(place.url) as queue, psycopg.connect(place.postgres_url) as connection:
        yield connection, queue.using(connection).enqueue("k", **options)


async def settle_down() -> None:
    """Let every task that is ready to run do so."""
    for _ in range(10):
        await asyncio.sleep(0)


def commits(place: Place) -> int:
    """How many commits the stored jobs came in: all jobs of one carry the same moment."""
    [(count,)] = place.sql("SELECT count(DISTINCT created_at) FROM tenure.jobs")
    return int(count)


def stored(place: Place) -> set[str]:
    return {str(job) for (job,) in place.sql("SELECT id FROM tenure.jobs")}


async def soon(work: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> Any:
    """Wait for what must not have to wait for anybody else."""
    return await asyncio.wait_for(work, 30)


@everywhere
def test_two_hundred_calls_at_once_are_all_stored_and_each_is_answered_right(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def work() -> list[tenure.Enqueued]:
        return await asyncio.gather(*(aq.enqueue("k", {"n": n}, priority=n % 3) for n in range(200)))

    answers = loop.wait(work())
    assert all(answer.inserted for answer in answers)
    assert stored(place) == {answer.id for answer in answers}
    jobs = {job.id: job for job in loop.wait(aq.list(limit=500))}
    assert [(jobs[a.id].payload, jobs[a.id].priority) for a in answers] == [
        ({"n": n}, n % 3) for n in range(200)
    ]


@everywhere
def test_more_calls_at_once_than_one_commit_takes_are_all_stored(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def work() -> list[tenure.Enqueued]:
        return await asyncio.gather(*(aq.enqueue("k", n) for n in range(1_200)))

    answers = loop.wait(work())
    assert stored(place) == {answer.id for answer in answers}
    assert len(stored(place)) == 1_200


@everywhere
def test_calls_that_arrive_while_a_commit_is_on_its_way_share_the_next(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def work(release: Callable[[], Any]) -> None:
        first = asyncio.ensure_future(aq.enqueue("k", 0))
        await settle_down()
        others = [asyncio.ensure_future(aq.enqueue("k", n)) for n in range(1, 100)]
        await settle_down()
        assert not any(task.done() for task in (first, *others))
        release()
        await soon(asyncio.gather(first, *others))

    with nobody_can_write(place) as release:
        loop.wait(work(release))
    assert len(stored(place)) == 100
    assert commits(place) == 2


@everywhere
def test_calls_with_unique_keys_share_commits_too(place: Place, loop: Loop, aq: tenure.AsyncQueue) -> None:
    async def work() -> None:
        await asyncio.gather(*(aq.enqueue("k", unique=f"key {n}") for n in range(100)))

    loop.wait(work())
    assert len(stored(place)) == 100
    assert commits(place) < 10


@everywhere
def test_a_call_that_is_alone_goes_at_once(place: Place, loop: Loop, aq: tenure.AsyncQueue) -> None:
    async def work() -> None:
        for n in range(20):
            await aq.enqueue("k", n)

    loop.wait(work())
    assert commits(place) == 20


@everywhere
def test_once_a_call_is_answered_its_job_is_seen_by_everybody(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def one(n: int) -> bool:
        answer = await aq.enqueue("k", unique=f"{n}" if n % 2 else None)
        return answer.id in stored(place)

    async def work() -> list[bool]:
        return await asyncio.gather(*(one(n) for n in range(20)))

    assert all(loop.wait(work()))


@everywhere
def test_calls_are_stored_in_the_order_they_were_made(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def work() -> list[Any]:
        await asyncio.gather(*(aq.enqueue("k", n) for n in range(100)))
        return [claim.job.payload for claim in await aq.claim(100)]

    assert loop.wait(work()) == list(range(100))


@everywhere
@pytest.mark.parametrize("period", [None, "1h"], ids=["in flight", "for a period"])
def test_of_calls_with_one_key_one_is_inserted_and_the_others_are_told_its_id(
    place: Place, loop: Loop, aq: tenure.AsyncQueue, period: str | None
) -> None:
    async def work() -> list[tenure.Enqueued]:
        return await asyncio.gather(
            *(aq.enqueue("k", unique=f"{n % 10}", unique_for=period) for n in range(200))
        )

    answers = loop.wait(work())
    for key in range(10):
        same = answers[key::10]
        assert [answer.inserted for answer in same].count(True) == 1
        assert {answer.id for answer in same} == {next(a.id for a in same if a.inserted)}
    assert len(stored(place)) == 10


@everywhere
def test_jobs_of_every_sort_can_share_a_commit(place: Place, loop: Loop, aq: tenure.AsyncQueue) -> None:
    request = tenure.Request(b"body", {"a": "b"})

    async def work() -> tuple[tenure.Enqueued, ...]:
        return await asyncio.gather(
            aq.enqueue("plain"),
            aq.enqueue("grouped", group="g"),
            aq.enqueue("grouped", group="g"),
            aq.enqueue("later", delay="1h"),
            aq.enqueue("hook", request=request),
        )

    answers = loop.wait(work())
    jobs = [loop.wait(aq.get(answer.id)) for answer in answers]
    assert [job and job.state for job in jobs] == ["ready", "ready", "waiting", "scheduled", "ready"]
    assert loop.wait(aq.request(answers[4].id)) == request
    assert commits(place) == 1


@everywhere
@pytest.mark.parametrize(
    "bad", [{"payload": float("nan")}, {"delay": -1}, {"max_attempts": 0}, {"unique": "\ud800"}], ids=repr
)
def test_bad_input_raises_for_its_caller_alone(
    place: Place, loop: Loop, aq: tenure.AsyncQueue, bad: dict[str, Any]
) -> None:
    async def work() -> list[Any]:
        good = [aq.enqueue("k", n) for n in range(10)]
        return await asyncio.gather(*good[:5], aq.enqueue("k", **bad), *good[5:], return_exceptions=True)

    answers = loop.wait(work())
    assert isinstance(answers.pop(5), tenure.FieldError)
    assert stored(place) == {answer.id for answer in answers}


@everywhere
def test_a_call_whose_task_is_cancelled_breaks_none_of_the_others(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def work(release: Callable[[], Any]) -> list[Any]:
        first = asyncio.ensure_future(aq.enqueue("k", "first"))
        await settle_down()
        others = [asyncio.ensure_future(aq.enqueue("k", n)) for n in range(10)]
        await settle_down()
        first.cancel()
        others[3].cancel()
        await settle_down()
        release()
        return await soon(asyncio.gather(first, *others, return_exceptions=True))  # type: ignore[no-any-return]

    with nobody_can_write(place) as release:
        answers = loop.wait(work(release))
    gone = [answer for answer in answers if isinstance(answer, asyncio.CancelledError)]
    kept = {answer.id for answer in answers if isinstance(answer, tenure.Enqueued)}
    assert (len(gone), len(kept)) == (2, 9)
    assert kept <= stored(place)
    assert loop.wait(aq.enqueue("k", "after")).inserted


@everywhere
def test_one_queue_serves_two_event_loops_at_once(place: Place, loop: Loop, aq: tenure.AsyncQueue) -> None:
    other = Loop()

    async def work() -> list[tenure.Enqueued]:
        return await asyncio.gather(*(aq.enqueue("k") for _ in range(50)))

    try:
        far = asyncio.run_coroutine_threadsafe(work(), other._loop)
        answers = loop.wait(work()) + far.result(30)
    finally:
        other.close()
    assert stored(place) == {answer.id for answer in answers}
    assert len(answers) == 100


@everywhere
def test_closing_waits_for_the_calls_that_were_made_before(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def work(release: Callable[[], Any]) -> list[Any]:
        first = asyncio.ensure_future(aq.enqueue("k"))
        await settle_down()
        others = [asyncio.ensure_future(aq.enqueue("k")) for _ in range(5)]
        await settle_down()
        closing = asyncio.ensure_future(aq.close())
        await settle_down()
        release()
        await soon(closing)
        return await soon(asyncio.gather(first, *others, return_exceptions=True))  # type: ignore[no-any-return]

    with nobody_can_write(place) as release:
        answers = loop.wait(work(release))
    assert [type(answer) for answer in answers] == [tenure.Enqueued] * 6
    assert stored(place) == {answer.id for answer in answers}


@everywhere
def test_a_call_on_a_closed_queue_says_so(place: Place, loop: Loop, aq: tenure.AsyncQueue) -> None:
    loop.wait(aq.close())
    with pytest.raises(tenure.UsageError, match="closed"):
        loop.wait(soon(aq.enqueue("k")))


KEYS = [{"unique": "a"}, {"unique": "a", "unique_for": "1h"}]
BY_ID = {"id": "01890000-0000-7000-8000-000000000001"}


@with_row_locks
@pytest.mark.parametrize("mine", [*KEYS, BY_ID], ids=["unique", "for a period", "id"])
def test_a_call_that_waits_for_somebodys_transaction_holds_up_no_other(
    place: Place, loop: Loop, aq: tenure.AsyncQueue, mine: dict[str, Any]
) -> None:
    async def work(end: Callable[[], Any]) -> None:
        before = [aq.enqueue("k", unique=f"before {n}" if n % 2 else None) for n in range(20)]
        after = [aq.enqueue("k", unique=f"after {n}" if n % 2 else None) for n in range(20)]
        calls = [asyncio.ensure_future(call) for call in (*before, aq.enqueue("k", **mine), *after)]
        waiting = calls.pop(20)
        try:
            assert all(answer.inserted for answer in await soon(asyncio.gather(*calls)))
            assert (await soon(aq.enqueue("k", unique="later"))).inserted
            assert not waiting.done()
        finally:
            end()
        await soon(waiting)

    with somebody_is_enqueueing(place, **mine) as (connection, _):
        loop.wait(work(connection.rollback))


@with_row_locks
@pytest.mark.parametrize("mine", KEYS, ids=["unique", "for a period"])
def test_a_call_that_waited_is_a_duplicate_once_the_transaction_committed(
    place: Place, loop: Loop, aq: tenure.AsyncQueue, mine: dict[str, Any]
) -> None:
    async def work(end: Callable[[], Any]) -> tenure.Enqueued:
        waiting = asyncio.ensure_future(aq.enqueue("k", "mine", **mine))
        await settle_down()
        assert not waiting.done()
        end()
        return await soon(waiting)  # type: ignore[no-any-return]

    with somebody_is_enqueueing(place, **mine) as (connection, theirs):
        answer = loop.wait(work(connection.commit))
    assert answer == tenure.Enqueued(theirs.id, inserted=False)
    assert stored(place) == {theirs.id}
    assert loop.wait(aq.get(theirs.id)).payload is None  # type: ignore[union-attr]


@with_row_locks
@pytest.mark.parametrize("mine", KEYS, ids=["unique", "for a period"])
def test_a_call_that_waited_is_inserted_once_the_transaction_rolled_back(
    place: Place, loop: Loop, aq: tenure.AsyncQueue, mine: dict[str, Any]
) -> None:
    async def work(end: Callable[[], Any]) -> tenure.Enqueued:
        waiting = asyncio.ensure_future(aq.enqueue("k", "mine", **mine))
        await settle_down()
        assert not waiting.done()
        end()
        return await soon(waiting)  # type: ignore[no-any-return]

    with somebody_is_enqueueing(place, **mine) as (connection, _):
        answer = loop.wait(work(connection.rollback))
    assert answer.inserted
    assert stored(place) == {answer.id}
    assert loop.wait(aq.get(answer.id)).payload == "mine"  # type: ignore[union-attr]


@with_row_locks
def test_who_was_made_to_wait_goes_on_as_before(place: Place, loop: Loop, aq: tenure.AsyncQueue) -> None:
    async def more(name: str) -> list[bool]:
        calls = [aq.enqueue("k", unique=f"{name}-{n}", unique_for="1h") for n in range(3)]
        return [answer.inserted for answer in await soon(asyncio.gather(*calls))]

    async def work() -> None:
        for turn in range(6):  # often enough for everything to be prepared
            assert await more(f"before {turn}") == [True] * 3
        with somebody_is_enqueueing(place, unique="theirs", unique_for="1h") as (connection, theirs):
            waits = asyncio.create_task(aq.enqueue("k", unique="theirs", unique_for="1h"))
            assert await more("beside") == [True] * 3
            connection.commit()
            assert await soon(waits) == (theirs.id, False)
        for turn in range(6):
            assert await more(f"after {turn}") == [True] * 3

    loop.wait(work())


@with_row_locks
def test_more_waiting_calls_than_threads_leave_room_for_the_others(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    keys = [f"key {n}" for n in range(24)]

    async def work(end: Callable[[], Any]) -> None:
        waiting = [asyncio.ensure_future(aq.enqueue("k", unique=key)) for key in keys]
        await settle_down()
        try:
            for _ in range(5):
                assert (await soon(aq.enqueue("k"))).inserted
            assert len(await soon(aq.claim(5))) == 5
            assert not any(task.done() for task in waiting)
        finally:
            end()
        assert all(answer.inserted for answer in await soon(asyncio.gather(*waiting)))

    with tenure.open(place.url) as queue, psycopg.connect(place.postgres_url) as connection:
        queue.using(connection).enqueue_many([tenure.NewJob(kind="k", unique=key) for key in keys])
        loop.wait(work(connection.rollback))


@everywhere
def test_what_was_claimed_for_nobody_is_given_back(place: Place, aq: tenure.AsyncQueue, loop: Loop) -> None:
    """A claim whose caller was cancelled meanwhile: its jobs are ready again, no attempt burned, no lease waited for."""

    async def claim_and_leave() -> None:
        await aq.enqueue_many([tenure.NewJob(kind="k") for _ in range(20)])
        claiming = asyncio.ensure_future(aq.claim(20))
        await asyncio.sleep(0)
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming

    async def given_back() -> None:
        # Claimed (epoch 1), then released (epoch 2).
        while {(job.epoch, str(job.state)) for job in await aq.list()} != {(2, "ready")}:
            pass

    loop.wait(claim_and_leave())
    loop.wait(asyncio.wait_for(given_back(), 30))
    assert [attempt for (attempt,) in place.sql("SELECT DISTINCT attempt FROM tenure.jobs")] == [0]


@everywhere
def test_closing_first_gives_back_what_was_claimed_for_nobody(
    place: Place, aq: tenure.AsyncQueue, loop: Loop
) -> None:
    async def claim_leave_and_close() -> None:
        await aq.enqueue_many([tenure.NewJob(kind="k") for _ in range(20)])
        claiming = asyncio.ensure_future(aq.claim(20))
        await asyncio.sleep(0)
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming
        await aq.close()

    loop.wait(claim_leave_and_close())
    assert place.sql("SELECT DISTINCT state, epoch, attempt FROM tenure.jobs") == [("ready", 2, 0)]


@everywhere
@pytest.mark.parametrize("steps", [1, 2, 10])
def test_calls_whose_commit_is_cancelled_are_told_and_the_next_is_stored(
    place: Place, loop: Loop, aq: tenure.AsyncQueue, steps: int
) -> None:
    """However far it had come: before its first step, on its way into a thread, and there."""

    async def work(release: Callable[[], Any]) -> None:
        others = asyncio.all_tasks()
        calls = [asyncio.ensure_future(aq.enqueue("k", unique=unique)) for unique in (None, "a")]
        for _ in range(steps + 1):
            await asyncio.sleep(0)
        committing = asyncio.all_tasks() - others - set(calls)
        assert len(committing) >= 2
        for task in committing:
            task.cancel()
        await asyncio.wait(committing)
        release()
        told = await soon(asyncio.gather(*calls, return_exceptions=True))
        assert all(isinstance(answer, (tenure.Enqueued, asyncio.CancelledError)) for answer in told)
        assert (await soon(aq.enqueue("k"))).inserted
        assert (await soon(aq.enqueue("k", unique="b"))).inserted

    with nobody_can_write(place) as release:
        loop.wait(work(release))


@with_row_locks
def test_a_call_that_waits_for_somebody_is_told_when_its_waiting_is_cancelled(
    place: Place, loop: Loop, aq: tenure.AsyncQueue
) -> None:
    async def work() -> None:
        others = asyncio.all_tasks()
        call = asyncio.ensure_future(aq.enqueue("k", unique="a"))
        tasks: set[asyncio.Task[Any]] = set()
        while not any("_insist" in repr(task) for task in tasks):
            await asyncio.sleep(0.001)
            tasks = asyncio.all_tasks() - others - {call}
        for task in tasks:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(call)

    with somebody_is_enqueueing(place, unique="a"):
        loop.wait(work())
