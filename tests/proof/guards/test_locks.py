"""Locks on PostgreSQL: rows that somebody holds are passed over, rows that are decided about are held, in one order for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
import pytest

import tenure
from tenure.newjob import lane_of
from tenure.store.open import open_store
from tenure.store.plan import Plan, Result, Statement
from tests.proof.guards.test_moves import LANE, claim, new
from tests.proof.guards.workbench import NOW, Workbench, pack, uid, unused
from tests.support.workers import until


@contextmanager
def held(b: Workbench, text: str, *values: Any) -> Iterator[psycopg.Connection[Any]]:
    """Somebody's open transaction that has done this."""
    with psycopg.connect(b.url) as other:
        b.sql(text, *values, link=other)
        yield other
        other.rollback()


def jobs_of(b: Workbench, name: str) -> tuple[str, Callable[[], list[Any]]]:
    """Two rows, and what a statement finds of them: the table they are in, and the asking."""
    match name:
        case "claim":
            _two(b, "ready")
            return "jobs", lambda: [uid(n) for n in claim(b, {LANE: 9})]
        case "promote":
            _two(b, "scheduled")
            b.ask("clock", now=NOW)
            return "jobs", lambda: _promoted(b)
        case "expired":
            _two(b, "ready", expires_at=NOW)
            return "jobs", lambda: b.first("expired", limit=9, now=NOW)
        case "overdue":
            _two(b, "running", lease_until=NOW)
            return "jobs", lambda: b.first("overdue", limit=9, after=0, grace=0, alive=1, now=NOW)
        case "of_worker":
            _two(b, "running", lease_until=NOW, worker="w")
            return "jobs", lambda: b.first("of_worker", worker="w", limit=9, now=NOW)
        case "unclaimed":
            _two(b, "ready")
            return "jobs", lambda: b.first("unclaimed", ids=pack({"id": uid(1)}, {"id": uid(2)}), now=NOW)
        case "renew":
            _two(b, "running", epoch=1, lease_until=NOW)
            claims = pack(*({"id": uid(n), "epoch": 1} for n in (1, 2)))
            return "jobs", lambda: b.first("renew", claims=claims, lease=5, started="[]", now=NOW)
        case "purge":
            _two(b, "done")
            return "finished", lambda: _gone(b, "purge", ids=pack({"id": uid(1)}, {"id": uid(2)}))
        case _:
            _two(b, "done", finished_at=NOW)
            more = {"state": "done", "age": 0, "queue": None, "except_queues": "[]"}
            return "finished", lambda: _gone(b, "retain", limit=9, now=NOW, **more)


def _two(b: Workbench, state: str, **more: Any) -> None:
    for n in (1, 2):
        b.job(n, state, **more)


def _promoted(b: Workbench) -> list[str]:
    b.ask("promote", limit=9, after=0, now=NOW)
    return [uid(n) for n, state in b.states().items() if state == "ready"]


def _gone(b: Workbench, name: str, **params: Any) -> list[str]:
    before = set(b.states())
    b.ask(name, **params)
    return [uid(n) for n in sorted(before - set(b.states()))]


@pytest.mark.parametrize(
    "name", ["claim", "promote", "expired", "overdue", "of_worker", "unclaimed", "renew", "purge", "retain"]
)
def test_a_row_that_somebody_holds_is_passed_over(server: Workbench, name: str) -> None:
    table, find = jobs_of(server, name)
    with held(server, f"SELECT 1 FROM tenure.{table} WHERE id = ? FOR UPDATE", uid(1)):
        assert find() == [uid(2)]
    if name in ("expired", "overdue", "of_worker", "unclaimed"):
        assert sorted(find()) == [uid(1), uid(2)]


@pytest.mark.parametrize(("table", "statement"), [("ledger", "retain_ledger"), ("notes", "retain_notes")])
def test_what_somebody_looks_at_is_forgotten_later(server: Workbench, table: str, statement: str) -> None:
    for n in (1, 2):
        server.put("ledger", unique_hash=uid(n), job_id=uid(n), until=NOW)
        server.put("notes", name=uid(n), value="v", until=NOW)
    key = "unique_hash" if table == "ledger" else "name"
    with held(server, f"SELECT 1 FROM tenure.{table} WHERE {key} = ? FOR UPDATE", uid(1)):
        assert server.ask(statement, limit=9, now=NOW).changed == 1
    assert server.ask(statement, limit=9, now=NOW).changed == 1


def test_a_schedule_that_somebody_fires_is_passed_by(server: Workbench) -> None:
    told = {
        "cron": "c",
        "tz": "z",
        "missed": "one",
        "kind": "k",
        "payload": "{}",
        "options": "{}",
        "source": "s",
    }
    server.put("schedules", name="a", created_at=0, updated_at=5, since=0, **told)
    with held(server, "SELECT 1 FROM tenure.schedules WHERE name = 'a' FOR UPDATE"):
        assert server.ask("fire", name="a", fire=9, updated_at=5, id="j").changed == 0
    assert server.ask("fire", name="a", fire=9, updated_at=5, id="j").changed == 1


def stop_the_clock(b: Workbench) -> None:
    """It is NOW in this schema, whoever asks; nobody uses it again after that."""
    b.sql(
        f"CREATE OR REPLACE FUNCTION tenure.micros(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT coalesce(given, {NOW})'"
    )


def test_sleepers_that_nobody_renewed_are_swept_away_by_one(server: Workbench) -> None:
    stop_the_clock(server)
    for name, end in (("a", NOW - 1), ("b", NOW - 1), ("me", NOW - 1), ("ends now", NOW)):
        server.put("sleepers", id=name, channel="c", until=end)
    server.ask("sleepers_add", id="me", channel="c", length=9)
    assert server.sql("SELECT until FROM tenure.sleepers WHERE id = 'me'") == [(NOW + 9,)]
    with held(server, "SELECT 1 FROM tenure.sleepers WHERE id = 'a' FOR UPDATE"):
        server.ask("sleepers_sweep")
    assert server.sql("SELECT id FROM tenure.sleepers ORDER BY 1") == [("a",), ("ends now",), ("me",)]
    server.ask("sleepers_sweep")
    assert server.sql("SELECT id FROM tenure.sleepers ORDER BY 1") == [("ends now",), ("me",)]
    server.ask("sleepers_remove", id="me")
    assert server.sql("SELECT id FROM tenure.sleepers") == [("ends now",)]


def locked(b: Workbench, table: str, *numbers: int) -> list[int]:
    """Which of these rows somebody holds."""
    with psycopg.connect(b.url) as other:
        free = b.sql(f"SELECT seq FROM tenure.{table} FOR UPDATE SKIP LOCKED", link=other)
    return [n for n in numbers if (n,) not in free]


@pytest.mark.parametrize("name", ["hold", "find_pending", "find_finished"])
def test_what_is_decided_about_is_held_until_it_is_decided(server: Workbench, name: str) -> None:
    table = "finished" if name == "find_finished" else "jobs"
    server.job(1, "done" if name == "find_finished" else "running", epoch=1)
    by_name: dict[str, dict[str, Any]] = {
        "hold": {"claims": pack({"id": uid(1), "epoch": 1}), "now": NOW},
        "find_pending": {"id": uid(1), "now": NOW},
        "find_finished": {"id": uid(1)},
    }
    params = by_name[name]

    def plan() -> Plan[list[int]]:
        answer = yield Statement(name, params)
        assert len(answer.rows) == 1
        return locked(server, table, 1)

    assert server.store.run(lambda _: plan()) == [1]
    assert locked(server, table, 1) == []


@contextmanager
def waiting(b: Workbench, name: str, **params: Any) -> Iterator[Future[Result]]:
    """The statement in a thread, once it waits for somebody's lock."""
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(lambda: b.ask(name, **params))
        until(
            lambda: (
                asked.done() or b.sql(f"{waits} OR (NOT granted AND locktype = 'transactionid')") != [(0,)]
            )
        )
        yield asked


_OTHER_PLANS = ("indexscan", "indexonlyscan", "bitmapscan", "nestloop", "mergejoin")


@contextmanager
def end_to_end(b: Workbench) -> Iterator[Workbench]:
    """The same store, by connections for which the server makes no plan but to read tables as they lie there."""
    [(database,)] = b.sql("SELECT current_database()")
    for name in _OTHER_PLANS:
        b.sql(f'ALTER DATABASE "{database}" SET enable_{name} = off')
    try:
        # With options of one's own, the store does not ask for indexes by its.
        store = open_store(f"{b.url}?schema={b.schema}&options=-c%20jit%3Doff%20-c%20lock_timeout%3D10s")
        yield Workbench(store, b.name, b.prefix, b.link, b.url)
        store.close()
    finally:
        for name in _OTHER_PLANS:
            b.sql(f'ALTER DATABASE "{database}" RESET enable_{name}')


@contextmanager
def among_many(b: Workbench) -> Iterator[Workbench]:
    """The same among many other jobs, as the planner knows; tables that are used again would stay as large."""
    with unused(b) as fresh, end_to_end(fresh) as bench:
        for n in range(100, 500):
            bench.job(n)
        bench.sql("ANALYZE tenure.jobs")
        yield bench


_PLANS: dict[str, Callable[[Workbench], AbstractContextManager[Workbench]]]
_PLANS = {"usual plans": nullcontext, "end to end": end_to_end, "end to end among many": among_many}


@pytest.mark.parametrize("plans", _PLANS)
@pytest.mark.parametrize("name", ["hold", "pardon", "replay", "unreplay"])
def test_rows_are_waited_for_in_the_order_of_their_ids(server: Workbench, name: str, plans: str) -> None:
    """Who waits for the first holds none of the others, whatever order it was asked in, and whatever order they lie in: so nobody
    waits in a ring."""
    with _PLANS[plans](server) as bench:
        _wait_in_order(bench, name)


def _wait_in_order(server: Workbench, name: str) -> None:
    numbers = range(1, 41)
    table = "finished" if name == "replay" else "jobs"
    for n in reversed(numbers):
        server.job(n, "dead" if "replay" in name else "running", epoch=1, crashes=3)
    rows = pack(*({"id": uid(n), "epoch": 1, "less": 1} for n in reversed(numbers)))
    by_name: dict[str, dict[str, Any]] = {
        "hold": {"claims": rows, "now": NOW},
        "pardon": {"packed": rows},
        "replay": {"ids": rows, "anew": True, "run_at": None, "delay": None, "now": NOW},
        "unreplay": {"ids": rows},
    }
    if name == "unreplay":
        for n in reversed(numbers):
            server.ask("replay", **by_name["replay"] | {"ids": pack({"id": uid(n)})})
    params = by_name[name]  # fmt: skip
    with (
        held(server, f"SELECT 1 FROM tenure.{table} WHERE id = ? FOR UPDATE", uid(1)) as other,
        waiting(server, name, **params) as asked,
    ):
        assert not asked.done()
        assert locked(server, table, *numbers) == [1]
        other.rollback()
        assert len(asked.result(30).rows) == 40


def test_a_replay_waits_for_who_purges_and_brings_nothing_back(server: Workbench) -> None:
    server.job(1, "dead")
    with (
        held(server, "DELETE FROM tenure.finished WHERE id = ?", uid(1)) as other,
        waiting(
            server, "replay", ids=pack({"id": uid(1)}), anew=True, run_at=None, delay=None, now=NOW
        ) as asked,
    ):
        other.commit()
        assert asked.result(30).rows == []
    assert server.states() == {}


def test_a_replay_that_somebody_claims_meanwhile_is_not_undone(server: Workbench) -> None:
    server.job(1, "dead", epoch=1)
    server.ask("replay", ids=pack({"id": uid(1)}), anew=True, run_at=None, delay=None, now=NOW)
    with (
        held(server, "UPDATE tenure.jobs SET epoch = 2, state = 'running' WHERE id = ?", uid(1)) as other,
        waiting(server, "unreplay", ids=pack({"id": uid(1)})) as asked,
    ):
        other.commit()
        assert asked.result(30).rows == []
    assert server.states() == {1: "running"}


def test_of_two_replayed_together_the_first_to_arrive_gets_the_slot(server: Workbench) -> None:
    server.job(1, "dead", unique_hash=uid(90), seq=2)
    server.job(2, "dead", unique_hash=uid(90), seq=1)
    assert server.first(
        "replay", ids=pack({"id": uid(1)}, {"id": uid(2)}), anew=True, run_at=None, delay=None, now=NOW
    ) == [uid(2)]


def test_a_waiting_job_that_somebody_moves_is_not_admitted(server: Workbench) -> None:
    server.job(1, "waiting", group_key="g", group_limit=1)
    with (
        held(server, "UPDATE tenure.jobs SET state = 'scheduled' WHERE id = ?", uid(1)) as other,
        waiting(server, "admit", groups=pack({"group_key": "g"})) as asked,
    ):
        other.commit()
        assert asked.result(30).changed == 0
    assert server.states() == {1: "scheduled"}


def test_unique_slots_are_taken_in_one_order(server: Workbench) -> None:
    rows = [new(n, unique_hash=uid(100 - n)) for n in (1, 2, 3)]
    periods = pack(*({"id": uid(n), "unique_hash": uid(100 - n), "unique_for": 9} for n in (1, 2, 3)))
    insert = "INSERT INTO tenure.ledger (unique_hash, job_id, until) VALUES (?, ?, 0)"
    with (
        held(server, insert, uid(97), uid(9)) as other,
        waiting(server, "ledger", packed=periods, now=NOW) as asked,
    ):
        assert not asked.done()
        # Neither of the others was taken by who waits for the first.
        server.sql("SET lock_timeout = '500ms'")
        server.sql(insert, uid(98), uid(9))
        server.sql(insert, uid(99), uid(9))
        other.rollback()
        assert asked.result(30).changed == 3
    taken = "INSERT INTO tenure.jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, unique_hash) VALUES (?, 'l', 'q', 'k', 0, '{}', 1, 0, 0, ?)"
    with (
        held(server, taken, uid(50), uid(97)) as other,
        waiting(server, "enqueue", rows=rows, now=NOW) as asked,
    ):
        assert not asked.done()
        server.sql(taken, uid(51), uid(98))
        server.sql(taken, uid(52), uid(99))
        other.rollback()
        assert asked.result(30).changed == 1
    server.sql("RESET lock_timeout")


def test_ids_that_callers_chose_are_taken_in_one_order(server: Workbench) -> None:
    """However they were given: who took them the other way round would wait for who waits for it."""
    rows = [new(n) for n in (3, 2, 1)]
    taken = "INSERT INTO tenure.jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at) VALUES (?, 'l', 'q', 'k', 0, '{}', 1, 0, 0)"
    with held(server, taken, uid(1)) as other, waiting(server, "enqueue", rows=rows, now=NOW) as asked:
        assert not asked.done()
        server.sql("SET lock_timeout = '500ms'")
        server.sql(taken, uid(2))
        server.sql(taken, uid(3))
        other.rollback()
        assert asked.result(30).changed == 1
    server.sql("RESET lock_timeout")


def test_a_quick_claim_takes_nothing_while_there_is_a_lane_it_does_not_know(server: Workbench) -> None:
    server.job(1)
    low, high = lane_of("q", "k", -9), lane_of("q", "k", 9)
    assert claim(server, {LANE: 9}, gaps=pack({"low": low, "high": LANE}, {"low": LANE, "high": high})) == [1]
    server.sql("UPDATE tenure.jobs SET state = 'ready'")
    server.job(2, "scheduled", rank=-5)
    server.job(3, rank=-9)
    server.job(4, rank=9)
    server.job(5, kind="z")
    gaps = pack({"low": low, "high": LANE}, {"low": LANE, "high": high})
    assert claim(server, {LANE: 9}, gaps=gaps) == [1]
    server.sql("UPDATE tenure.jobs SET state = 'ready' WHERE seq = 1")
    server.job(6, rank=-5)
    assert claim(server, {LANE: 9}, gaps=gaps) == []
    server.job(7, run_at=NOW + 5)
    assert claim(server, {LANE: 9}, run_at=NOW + 5, seq=7) == [7]


def test_a_group_is_decided_about_by_one_at_a_time(server: Workbench) -> None:
    groups = pack({"group_key": "g"})
    text = server.store.dialect.statements["group_locks"].text
    with psycopg.connect(server.url) as other:
        assert psycopg.RawCursor(other).execute(text, [groups]).fetchall() == [("g", True)]
        assert server.ask("group_locks", groups=groups).rows == [("g", False)]
        server.ask("wake", groups=pack({"group_key": "g"}, {"group_key": "h"}, {"group_key": "i"}))
        assert sorted(server.first("wakes", limit=9)) == ["h", "i"]
        assert len(server.first("wakes", limit=1)) == 1
        server.ask("woken", groups=pack({"group_key": "h"}))
        assert sorted(server.sql("SELECT group_key FROM tenure.wakes")) == [("g",), ("i",)]
    with psycopg.connect(server.url) as old:
        # A transaction that sees an old snapshot must not decide.
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert psycopg.RawCursor(old).execute(text, [groups]).fetchall() == [("g", False)]


@pytest.mark.parametrize("name", ["enqueue", "enqueue_one", "replay", "tell"])
def test_only_those_who_sleep_are_told(server: Workbench, name: str) -> None:
    server.job(1, "dead")
    number = iter(range(10, 99))

    def tell() -> None:
        match name:
            case "enqueue":
                server.ask("enqueue", rows=[new(next(number))], now=NOW)
            case "enqueue_one":
                row = {
                    k: new(next(number))[k]
                    for k in ("id", "lane", "queue", "kind", "rank", "payload", "max_attempts")
                }
                server.ask("enqueue_one", now=NOW, **row)
            case "replay":
                server.job(next(number), "dead")
                server.ask("replay", ids=pack({"id": uid(99)}), anew=True, run_at=None, delay=None, now=NOW)
            case _:
                server.ask("tell", now=NOW)

    channel = f"guards_{name}"
    with psycopg.connect(server.url, autocommit=True) as ear:
        ear.execute(f"LISTEN {channel}".encode())
        server.put("sleepers", id="woke", channel=channel, until=NOW)
        tell()
        server.sql(f"NOTIFY {channel}, 'nobody'")
        server.sql("UPDATE tenure.sleepers SET until = ?", NOW + 1)
        # One of them is told: in a store all listen on one channel.
        server.put("sleepers", id="too", channel=f"{channel}_too", until=NOW + 1)
        ear.execute(f"LISTEN {channel}_too".encode())
        tell()
        server.sql(f"NOTIFY {channel}, 'over'")
        heard = [notice.payload for notice in ear.notifies(timeout=10, stop_after=3)]
    assert heard == ["nobody", "", "over"]


def test_a_job_that_has_ended_does_not_end_again(server: Workbench) -> None:
    server.job(1, "done", epoch=1)
    server.job(1, "running", epoch=1)
    columns = {"id": [uid(1)], "seq": [1], "epoch": [1], "result": [None]}
    with pytest.raises(tenure.StoreError):
        server.ask("settle_done", columns=columns, now=NOW)
    assert server.sql("SELECT count(*) FROM tenure.finished") == [(1,)]
