"""A PostgreSQL that stands still, or a network that swallows packets: connections stay open, and nothing is answered.

A backend that is stopped (SIGSTOP) is just that: its kernel goes on acknowledging, so no system tells that it is silent.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import tenure
from tenure.config import PostgresPlace, locate
from tenure.store.postgres.limits import ORDINARY, WORK, Limits
from tenure.store.postgres.store import PostgresStore
from tenure.store.postgres.trip import PREPARE_AFTER
from tests.support.backends import backends
from tests.support.postgres import PostgresServer
from tests.worker.house import House, until

_SOON = 1.0


@pytest.fixture
def url(own_url: str) -> str:
    return own_url


def _impatient(url: str, **options: Any) -> tenure.Queue:
    place = locate(url)
    assert isinstance(place, PostgresPlace)
    return tenure.Queue(PostgresStore(place, patience=0.2, limits=Limits(_SOON)), **options)


@contextmanager
def stopped(url: str) -> Iterator[list[int]]:
    """While this lasts, every connection there is stands still; new ones work."""
    pids = backends(url)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield pids
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


VERBS: dict[str, Callable[[tenure.Queue, tenure.Claim], Any]] = {
    "enqueue": lambda q, claim: q.enqueue("other", delay="1h").inserted,
    "enqueue unique": lambda q, claim: q.enqueue("other", unique="u").inserted,
    "enqueue_many": lambda q, claim: len(q.enqueue_many([tenure.NewJob(kind="other")] * 60)) == 60,
    "claim": lambda q, claim: len(q.claim()) == 1,
    "settle": lambda q, claim: q.settle(claim, tenure.Done()),
    "fail": lambda q, claim: q.settle(claim, tenure.Fail("no")),
    "renew": lambda q, claim: q.renew([claim], lease="60s").kept == {claim.id},
    "beat": lambda q, claim: q.beat("w") is None,
    "counts": lambda q, claim: q.counts()["default"]["running"] == 1,
    "next_due": lambda q, claim: q.next_due() is not None,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_call_that_is_not_answered_fails_within_its_limit_and_the_next_one_works(
    verb: str, url: str
) -> None:
    q = _impatient(url)
    q.enqueue("k")
    q.enqueue("k")
    [claim] = q.claim(lease="60s")
    with stopped(url):
        with pytest.raises(tenure.StoreUnavailable, match=r"not answered within 1 s") as caught:
            VERBS[verb](q, claim)
        assert "\n" not in str(caught.value)
        assert VERBS[verb](q, claim)
    q.close()


@pytest.mark.parametrize("before", [1, PREPARE_AFTER + 2], ids=["first", "prepared"])
def test_a_single_enqueue_that_is_not_answered_is_stored_once_by_another_connection(
    url: str, before: int
) -> None:
    q = _impatient(url)
    stored = [q.enqueue("k", {}).id for _ in range(before)]
    with stopped(url) as pids:
        stored.append(q.enqueue("k", {}).id)
        assert sorted(job.id for job in q.list()) == stored
    until(
        lambda: not set(pids) & set(backends(url))
    )  # whatever they were asked, they have done it or not by now
    assert sorted(job.id for job in q.list()) == stored
    q.close()


def test_who_is_interrupted_while_a_single_enqueue_is_not_answered_goes_on_with_another_connection(
    url: str,
) -> None:
    class Enough(Exception):
        pass

    def ring(_number: int, _frame: object) -> None:
        raise Enough

    q = _impatient(url)
    stored = [q.enqueue("k", {}).id for _ in range(PREPARE_AFTER + 2)]
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with stopped(url):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Enough):
                q.enqueue("k", {})
            assert q.get(stored[0]) is not None
            stored.append(q.enqueue("k", {}).id)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert set(stored) <= {job.id for job in q.list()}
    q.close()


def test_what_nobody_waits_for_any_more_is_cancelled_on_the_server(
    url: str, own_server: PostgresServer
) -> None:
    """A server that is only slow is not left with statements that pile up."""
    q = _impatient(url)
    place = locate(url)
    assert isinstance(place, PostgresPlace)
    q.enqueue("k")
    with psycopg.connect(own_server.url()) as other:
        other.execute(f'LOCK TABLE "{place.schema}".jobs IN ACCESS EXCLUSIVE MODE'.encode())
        with pytest.raises(tenure.StoreUnavailable, match="not answered within"):
            q.list()
        until(lambda: backends(url) == [])
    assert len(q.list()) == 1
    q.close()


def test_migrations_may_take_as_long_as_they_take(url: str, own_server: PostgresServer) -> None:
    schema = url.partition("application_name=")[2]
    with psycopg.connect(own_server.url(), autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"tenure.migrate.{schema}",))
        opened: list[tenure.Queue] = []
        opening = threading.Thread(target=lambda: opened.append(_impatient(url)))
        opening.start()
        waits = "SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND wait_event = 'advisory' AND now() - query_start > '1.5 s'"  # fmt: skip
        until(lambda: other.execute(waits, (schema,)).fetchone())
        other.execute("SELECT pg_advisory_unlock_all()")
        opening.join(30)
    assert opened[0].enqueue("k").inserted
    opened[0].close()


def test_a_connection_of_the_callers_own_has_no_limit(url: str, own_server: PostgresServer) -> None:
    q = _impatient(url)
    answers: list[Any] = []
    with psycopg.connect(own_server.url()) as mine, psycopg.connect(own_server.url()) as theirs:
        q.using(theirs).enqueue("k", unique="u")
        pid = mine.info.backend_pid
        asking = threading.Thread(target=lambda: answers.append(q.using(mine).enqueue("k", unique="u")))
        asking.start()
        waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '1.5 s'"  # fmt: skip
        with psycopg.connect(own_server.url(), autocommit=True) as other:
            until(lambda: other.execute(waits, (pid,)).fetchone())
        theirs.rollback()
        asking.join(30)
        mine.commit()
    assert answers[0].inserted
    q.close()


def test_limits_are_generous_and_those_of_renewals_leave_room_for_another_try() -> None:
    from tenure.store.plan import Statement

    limits = Limits()
    ask = [limits.of(Statement(name, {})) for name in ("counts", "next_due", "beat")]
    assert ask == [ORDINARY, WORK, 10.0]
    for lease, limit in ((3_600, 10.0), (30, 10.0), (15, 5.0), (1, 2.0)):
        assert limits.of(Statement("renew", {"lease": lease * 1_000_000})) == limit
        assert limits.of(Statement("beat", {})) == limit
    assert limits.of(Statement("claim", {"lease": 15_000_000})) == WORK
    assert limits.of(Statement("beat", {})) == 5.0


def test_a_worker_whose_connections_fall_silent_goes_on_by_itself_and_loses_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    limits = Limits(3.0)
    monkeypatch.setattr("tenure.store.postgres.store.limits_at", lambda _place: limits)
    ran: list[int] = []
    begun, go = threading.Event(), threading.Event()
    looks = url.replace("application_name=", "application_name=not_")
    house = House("postgres", looks)
    worker = tenure.App(url.replace("?", "?notify=false&"))

    @worker.job
    def long() -> str:
        begun.set()
        go.wait(60)
        return "kept"

    @worker.job
    async def short(n: int) -> int:
        ran.append(n)
        return n

    app, house.app = house.app, worker
    held = house.queue.enqueue("long")
    house.start(lease="8s")
    assert begun.wait(30)
    house.app = app
    with stopped(url) as pids:
        assert len(pids) >= 3
        jobs = [house.queue.enqueue("short", {"n": n}) for n in range(20)]
        assert [house.ended(job).result for job in jobs] == list(range(20))
        lease = house.seen(held, lambda j: j.lease_until).lease_until
        house.seen(held, lambda j: j.lease_until != lease)
        go.set()
        end = house.ended(held)
        assert (end.result, end.epoch, end.crashes) == ("kept", 1, 0)
    house.close()
    worker.close()
    until(lambda: backends(url) == [])  # whatever the silent ones were asked, they have done it or not by now
    assert sorted(ran) == list(range(20))
    with tenure.open(looks) as q:
        assert {state: n for state, n in q.counts()["default"].items() if n} == {"done": 21}
