"""Behind pgbouncer in transaction mode: with `pgbouncer=true` no call relies on a session.

Where pgbouncer is installed the tests go through one, with two server connections for everybody. Where it is not they go
straight to the server: then what they prove is that the setting breaks nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import asyncpg
import psycopg
import pytest

import tenure
from tests.support import pgbouncer
from tests.support.fresh import postgres_schema
from tests.support.pgbouncer import PgBouncer


@pytest.fixture(scope="module")
def front(postgres_url: str) -> Iterator[str]:
    """The URL by which clients come."""
    if pgbouncer.available():
        with PgBouncer(postgres_url, pool_size=2) as bouncer:
            yield bouncer.url()
    else:
        yield postgres_url


@pytest.fixture
def url(front: str, postgres_url: str) -> Iterator[str]:
    with postgres_schema(postgres_url) as schema:
        yield f"{front}?pgbouncer=true&schema={schema}"


def work(q: tenure.Queue, times: int = 1) -> None:
    """Every kind of statement a worker needs."""
    for n in range(times):
        first = q.enqueue("k", {"n": n}).id
        [claim] = q.claim()
        assert claim.id == first
        assert q.renew([claim]).kept == {first}
        assert q.progress(claim, 0.5)
        assert q.settle(claim, tenure.Done({"n": n}))
        again = q.enqueue("k").id
        [claim] = q.claim()
        assert q.settle(claim, tenure.Fail("no", retry_in="1h"))
        assert q.cancel(again) == "cancelled"
        assert q.counts()["default"]["ready"] == 0


def test_a_worker_works_through_pgbouncer(url: str) -> None:
    with tenure.open(url) as q:
        work(q, 10)
        assert q.counts()["default"]["done"] == 10


def test_groups_and_unique_keys_work_through_pgbouncer(url: str) -> None:
    with tenure.open(url) as q:
        ids = [q.enqueue("k", group="g").id for _ in range(5)]
        for expected in ids:
            [claim] = q.claim(5)
            assert claim.id == expected
            assert q.settle(claim, tenure.Done())
        answers = [q.enqueue("k", unique="u") for _ in range(5)]
        assert [a.inserted for a in answers] == [True, False, False, False, False]
        assert len({a.id for a in answers}) == 1
        periods = [q.enqueue("p", unique="u", unique_for="1h") for _ in range(5)]
        assert [a.inserted for a in periods] == [True, False, False, False, False]


def test_bulk_works_through_pgbouncer(url: str) -> None:
    with tenure.open(url) as q:
        plain = q.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(500)])
        keyed = q.enqueue_many([tenure.NewJob(kind="u", unique=str(n % 40)) for n in range(80)])
        assert [a.inserted for a in plain] == [True] * 500
        assert sum(a.inserted for a in keyed) == 40
        claims = q.claim(1_000)
        assert len(claims) == 540
        assert q.settle_many([(c, tenure.Done()) for c in claims]) == [True] * 540
        assert q.claim() == []


def test_many_clients_share_two_server_connections(url: str) -> None:
    queues = [tenure.open(url) for _ in range(10)]
    for q in queues:
        q.enqueue_many([tenure.NewJob(kind="k") for _ in range(10)])
    taken: list[str] = []
    for _ in range(10):
        for q in queues:
            [claim] = q.claim()
            assert q.settle(claim, tenure.Done())
            taken.append(claim.id)
    assert len(set(taken)) == 100
    for q in queues:
        q.close()


def options(n: int) -> dict[str, Any]:
    """A job of each kind that concurrent enqueues make a difference between."""
    kinds: list[dict[str, Any]] = [
        {},
        {"unique": f"key {n}"},
        {"group": f"chat {n % 7}"},
        {"group": f"chat {n % 7}", "request": tenure.Request(b"%d" % n, {})},
    ]
    return kinds[n % 4]


def test_concurrent_enqueues_share_commits_through_pgbouncer_and_each_is_stored_once(
    url: str, postgres_url: str
) -> None:
    async def calls() -> tuple[list[tenure.Enqueued], tenure.Enqueued]:
        async with await tenure.aopen(url) as q:
            assert not q._store.on_loop, "a server that changes is not to be heard by the event loop"
            with psycopg.connect(postgres_url) as own, tenure.open(url) as other:
                assert other.using(own).enqueue("k", unique="held").inserted
                waits = asyncio.ensure_future(q.enqueue("k", "held", unique="held"))
                others = asyncio.gather(*(q.enqueue("k", n, **options(n)) for n in range(200)))
                answers = await asyncio.wait_for(others, 60)
                assert not waits.done()
                own.rollback()
            return answers, await asyncio.wait_for(waits, 60)

    answers, held = asyncio.run(calls())
    assert all(one.inserted for one in (*answers, held))
    with tenure.open(url) as q:
        stored = {job.id: job.payload for job in q.list(limit=500)}
        assert stored == {held.id: "held", **{one.id: n for n, one in enumerate(answers)}}
        asked = [q.request(one.id) for one in answers]
    assert asked == [options(n).get("request") for n in range(200)]


def test_concurrent_enqueues_of_one_key_through_pgbouncer_make_one_job(url: str) -> None:
    async def calls() -> list[tenure.Enqueued]:
        async with await tenure.aopen(url) as q:
            return await asyncio.gather(*(q.enqueue("k", n, unique=f"{n % 10}") for n in range(100)))

    answers = asyncio.run(calls())
    assert sum(one.inserted for one in answers) == 10
    assert set(Counter(one.id for one in answers).values()) == {10}


def stored(url: str) -> list[str]:
    with tenure.open(url) as q:
        return [job.payload for job in q.list()]


def test_a_job_enqueued_in_a_psycopg_transaction_through_pgbouncer_goes_the_way_it_goes(
    url: str, front: str
) -> None:
    with tenure.open(url) as q, psycopg.connect(front) as one, psycopg.connect(front) as other:
        clients = [one, other]
        # In turn, so that neither keeps its server connection.
        for n in range(12):
            turn = clients[:: 1 if n % 2 else -1]
            for at, own in enumerate(turn):
                assert q.using(own).enqueue("k", f"kept {n}.{at}", unique=f"u {n}.{at}").inserted
            for own in turn:
                own.commit()
        for own in clients:
            assert q.using(own).enqueue("k", "gone", unique="u").inserted
            own.rollback()
    assert sorted(stored(url)) == sorted(f"kept {n}.{at}" for n in range(12) for at in range(2))


def test_a_job_settled_in_a_psycopg_transaction_through_pgbouncer_goes_the_way_it_goes(
    url: str, front: str
) -> None:
    with tenure.open(url) as q, psycopg.connect(front) as one, psycopg.connect(front) as other:
        q.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(25)])
        for n in range(12):
            turn = [one, other][:: 1 if n % 2 else -1]
            for own, claim in zip(turn, q.claim(2), strict=True):
                claim.settle_in(own, tenure.Done())
            for own in turn:
                own.commit()
        [last] = q.claim(2)
        last.settle_in(one, tenure.Done())
        one.rollback()
        found = {state: n for state, n in q.counts()["default"].items() if n}
        assert found == {"done": 24, "running": 1}


def test_a_job_enqueued_in_an_async_psycopg_transaction_through_pgbouncer_goes_the_way_it_goes(
    url: str, front: str
) -> None:
    async def calls() -> None:
        async with await tenure.aopen(url) as q:
            clients = [await psycopg.AsyncConnection.connect(front) for _ in range(2)]
            # More often than psycopg runs a statement before it prepares it; both at once and in turn, so that neither keeps
            # its server connection. It forgets what it has prepared when it rolls back, so that comes last.
            for n in range(12):
                turn = clients[:: 1 if n % 2 else -1]
                for at, own in enumerate(turn):
                    assert (await q.using(own).enqueue("k", f"kept {n}.{at}", unique=f"u {n}.{at}")).inserted
                for own in turn:
                    await own.commit()
            for own in clients:
                assert (await q.using(own).enqueue("k", "gone", unique="u")).inserted
                await own.rollback()
            for own in clients:
                await own.close()

    asyncio.run(calls())
    assert sorted(stored(url)) == sorted(f"kept {n}.{at}" for n in range(12) for at in range(2))


def test_a_job_enqueued_in_an_asyncpg_transaction_through_pgbouncer_goes_the_way_it_goes(
    url: str, front: str
) -> None:
    async def calls() -> None:
        async with await tenure.aopen(url) as q:
            # As asyncpg wants it behind pgbouncer.
            clients = [await asyncpg.connect(front, statement_cache_size=0) for _ in range(2)]
            for n in range(12):
                gone, kept = clients[:: 1 if n % 2 else -1]
                undone = gone.transaction()
                await undone.start()
                assert (await q.using(gone).enqueue("k", f"gone {n}", unique="u")).inserted
                async with kept.transaction():
                    assert (await q.using(kept).enqueue("k", f"kept {n}", unique=f"u {n}")).inserted
                await undone.rollback()
            for own in clients:
                await own.close()

    asyncio.run(calls())
    assert sorted(stored(url)) == sorted(f"kept {n}" for n in range(12))


def prepared(postgres_url: str, option: str) -> int:
    """How many statements a queue's own connection has prepared after it did everything ten times."""
    with postgres_schema(postgres_url) as schema, tenure.open(f"{postgres_url}?schema={schema}{option}") as q:
        work(q, 10)
        [link] = [runner.link for runner in q._store._pool._idle]  # type: ignore[attr-defined]
        assert isinstance(link, psycopg.Connection)
        [count] = link.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() or (None,)
        assert isinstance(count, int)
        return count


def test_with_pgbouncer_nothing_is_prepared(postgres_url: str) -> None:
    assert prepared(postgres_url, "&pgbouncer=true") == 0


def test_without_pgbouncer_statements_are_prepared(postgres_url: str) -> None:
    assert prepared(postgres_url, "") > 3


def test_no_setting_and_no_lock_of_a_session_is_left_behind(postgres_url: str) -> None:
    changed = "SELECT name FROM pg_settings WHERE source = 'session'"
    with psycopg.connect(postgres_url) as bare:
        usual = set(bare.execute(changed).fetchall())
    with (
        postgres_schema(postgres_url) as schema,
        tenure.open(f"{postgres_url}?schema={schema}&pgbouncer=true") as q,
    ):
        work(q)
        [link] = [runner.link for runner in q._store._pool._idle]  # type: ignore[attr-defined]
        assert set(link.execute(changed).fetchall()) <= usual
        mine = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        assert link.execute(mine).fetchone() == (0,)
