"""Statements that keep and forget: each changes what it is told to, once, and leaves the rest alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.proof.guards.test_moves import new
from tests.proof.guards.workbench import NOW, Workbench, pack, uid, unused

MINUTE, HOUR = 60_000_000, 3_600_000_000


def attempt(b: Workbench, n: int, epoch: int, **more: Any) -> None:
    told = {"attempt": 1, "finished_at": NOW, "error_kind": "Crash", "message": "m", **more}
    b.put("attempts", job_id=uid(n), epoch=epoch, **told)


def test_crashes_are_absolved_and_closed_one_by_one(bench: Workbench) -> None:
    for n, epoch, outcome in (
        (1, 1, "reclaim"),
        (1, 2, "reclaim"),
        (2, 1, "reclaim"),
        (1, 3, "fail"),
        (3, 1, "reclaim"),
    ):
        attempt(bench, n, epoch, outcome=outcome)
    claims = pack({"id": uid(1), "epoch": 1}, {"id": uid(1), "epoch": 3}, {"id": uid(9), "epoch": 1})
    assert bench.first("absolve", claims=claims, message="x") == [uid(1)]
    lost = bench.sql("SELECT job_id, epoch FROM tenure.attempts WHERE error_kind = 'LeaseLost'")
    assert lost == [(uid(1), 1)]
    bench.ask("crashes_close", ids=pack({"id": uid(1)}, {"id": uid(2)}))
    left = bench.sql(
        "SELECT job_id, epoch, outcome FROM tenure.attempts WHERE outcome IS NOT NULL ORDER BY 1, 2"
    )
    assert left == [(uid(1), 3, "fail"), (uid(3), 1, "reclaim")]


def test_what_is_told_twice_is_kept_once(bench: Workbench) -> None:
    for said in ("first", "second"):
        bench.ask("add_audit", id=uid(1), who="w", action="a", what="x", count=1, said=said, now=NOW)
        row = {"id": uid(1), "epoch": 1, "attempt": 1, "finished_at": NOW, "error_kind": "E", "message": said}
        empty = dict.fromkeys(["worker", "started_at", "outcome", "traceback", "fingerprint"])
        bench.ask("attempt_add", packed=pack({**empty, **row}))
        bench.ask("request_add", rows=[{"id": uid(1), "body": said.encode(), "headers": said}])
        seen = {"queue": "", "ready": len(said), "running": 0, "oldest": None, "busy": 0, "slots": 0}
        bench.ask("add_samples", packed=pack(seen), now=NOW)
    assert bench.sql("SELECT said FROM tenure.audit") == [("first",)]
    assert bench.sql("SELECT message FROM tenure.attempts") == [("first",)]
    assert bench.sql("SELECT headers FROM tenure.requests") == [("first",)]
    assert bench.sql("SELECT ready FROM tenure.samples") == [(5,)]


def test_figures_add_up_or_are_put_in_place(bench: Workbench) -> None:
    row = {"queue": "q", "kind": "k", "done": 1, "failed": 2, "dead": 3, "cancelled": 4, "waited": "a", "ran": "b"}  # fmt: skip
    for _ in range(2):
        bench.ask("add_rollups", packed=pack(row), source="w", now=90 * MINUTE)
        bench.ask("set_rollups", packed=pack({**row, "span": 60, "minute": 60}))
        told = {
            "fingerprint": "f",
            "count": 1,
            "dead": 1,
            "kind": "k",
            "error_kind": "E",
            "message": "m",
            "sample_id": uid(1),
            "frame": "f",
        }
        bench.ask("add_errors", packed=pack(told), now=NOW)
    kept = bench.sql("SELECT span, minute, done, failed, dead, cancelled, waited, ran FROM tenure.rollups ORDER BY span")  # fmt: skip
    assert kept == [(1, 90, 2, 4, 6, 8, "aa", "bb"), (60, 60, 1, 2, 3, 4, "a", "b")]
    bench.ask("set_rollups", packed=pack({**row, "span": 60, "minute": 60, "done": 9}))
    assert bench.sql("SELECT done FROM tenure.rollups WHERE span = 60") == [(9,)]
    assert bench.sql("SELECT count, dead FROM tenure.error_groups") == [(2, 2)]


def test_figures_are_forgotten_by_age(bench: Workbench) -> None:
    empty = {
        "source": "",
        "queue": "q",
        "kind": "k",
        "done": 1,
        "failed": 0,
        "dead": 0,
        "cancelled": 0,
        "waited": "",
        "ran": "",
    }
    for span in (1, 60):
        for minute in (60, 119, 120, 600):
            bench.put("rollups", span=span, minute=minute, **empty)
    bench.ask("retain_rollups", span=1, age=480, now=605 * MINUTE)
    left = bench.sql("SELECT span, minute FROM tenure.rollups ORDER BY 1, 2")
    assert left == [(1, 120), (1, 600), (60, 60), (60, 119), (60, 120), (60, 600)]
    counts = {"queue": "q", "ready": 0, "running": 0, "oldest": None, "busy": 0, "slots": 0}
    for minute in (119, 120, 600):
        bench.put("samples", minute=minute, **counts)
    bench.ask("retain_samples", age=480, now=600 * MINUTE)
    assert bench.sql("SELECT minute FROM tenure.samples ORDER BY 1") == [(120,), (600,)]
    told = {
        "fingerprint": "f",
        "count": 1,
        "dead": 0,
        "kind": "k",
        "error_kind": "E",
        "message": "m",
        "sample_id": "s",
        "frame": "",
    }
    for hour in (5, 6, 7):
        bench.put("error_groups", hour=hour, first_seen=0, last_seen=0, **told)
    bench.ask("retain_errors", age=4, now=10 * HOUR)
    assert bench.sql("SELECT hour FROM tenure.error_groups ORDER BY 1") == [(6,), (7,)]


def test_notes_are_changed_by_comparing(bench: Workbench) -> None:
    for name, until in (("n", NOW + 1), ("m", None), ("over", NOW)):
        bench.put("notes", name=name, value="v", until=until)

    def value(name: str) -> object:
        return bench.sql("SELECT value FROM tenure.notes WHERE name = ?", name)[0][0]

    change = {"keep": None, "expect": "v", "value": "new", "now": NOW}
    assert bench.ask("change_note", name="n", **change).changed == 1
    assert (value("n"), value("m")) == ("new", "v")
    assert bench.ask("change_note", name="n", **change).changed == 0
    assert bench.ask("change_note", name="over", **change).changed == 0
    assert bench.ask("change_note", name="m", **change).changed == 1
    for name, anyway, set_ in (("m", False, 0), ("m", True, 1), ("over", False, 1), ("fresh", False, 1)):
        given = {"value": "set", "keep": None, "anyway": anyway, "now": NOW}
        assert (name, bench.ask("set_note", name=name, **given).changed) == (name, set_)
    for name, expect, anyway, gone in (("m", "no", False, 0), ("m", "set", False, 1), ("n", "no", True, 1)):
        assert bench.ask("remove_note", name=name, expect=expect, anyway=anyway, now=NOW).changed == gone
    assert {n for (n,) in bench.sql("SELECT name FROM tenure.notes")} == {"over", "fresh"}
    bench.put("notes", name="late", value="set", until=NOW)
    assert bench.ask("remove_note", name="late", expect="set", anyway=False, now=NOW).changed == 0


def test_what_is_over_is_forgotten_up_to_the_limit(bench: Workbench) -> None:
    for n in range(1, 6):
        bench.put("ledger", unique_hash=uid(n), job_id=uid(n), until=NOW if n < 4 else NOW + 1)
        bench.put("notes", name=f"n{n}", value="v", until=NOW if n < 4 else NOW + 1)
        bench.put("workers", id=f"w{n}", started_at=0, seen_at=NOW - (11 if n < 4 else 10))
    for statement, limited in (("retain_ledger", True), ("retain_notes", True), ("retain_workers", False)):
        if limited:
            assert bench.ask(statement, limit=2, now=NOW).changed == 2
            assert bench.ask(statement, limit=2, now=NOW).changed == 1
        else:
            assert bench.ask(statement, age=10, now=NOW).changed == 3
    assert [bench.sql(f"SELECT count(*) FROM tenure.{t}")[0][0] for t in ("ledger", "notes", "workers")] == [
        2,
        2,
        2,
    ]


def test_old_finished_jobs_go_by_state_age_and_queue(bench: Workbench) -> None:
    for n, (state, queue, ago) in enumerate(
        [("done", "q", 10), ("done", "q", 11), ("done", "other", 10), ("done", "kept", 10), ("dead", "q", 10), ("done", "q", 9)], 1
    ):  # fmt: skip
        # The first ended when it was made, at the very edge.
        bench.job(n, state, queue=queue, finished_at=NOW - ago, created_at=NOW - (10 if n == 1 else 20))
        attempt(bench, n, 1)
        bench.put("requests", job_id=uid(n), body=b"b", headers="{}")
    bench.job(7, created_at=NOW - 99)

    def retain(limit: int, queue: str | None) -> int:
        more = {"state": "done", "age": 10, "except_queues": '["kept"]', "now": NOW}
        return bench.ask("retain", limit=limit, queue=queue, **more).changed

    assert retain(1, "q") == 1
    assert retain(9, "q") == 1
    assert sorted(bench.states()) == [3, 4, 5, 6, 7]
    assert retain(9, None) == 1
    assert sorted(bench.states()) == [4, 5, 6, 7]
    for table in ("attempts", "requests"):
        assert bench.sql(f"SELECT job_id FROM tenure.{table} ORDER BY 1") == [(uid(n),) for n in (4, 5, 6)]


def test_jobs_without_a_unique_key_take_no_room_in_the_index_of_keys(bench: Workbench) -> None:
    asked = {
        "sqlite": "SELECT sum(ncell) FROM dbstat WHERE name = 'tenure_jobs_unique'",
        "postgres": "SELECT pg_relation_size('tenure.jobs_unique')",
    }
    with unused(bench) as fresh:
        before = fresh.sql(asked[fresh.name])
        fresh.ask("enqueue", rows=[new(n) for n in range(1, 9)], now=NOW)
        assert fresh.sql(asked[fresh.name]) == before


@pytest.mark.parametrize("young", [9, 0])
def test_retention_in_a_file_goes_from_the_oldest_up_to_the_first_that_is_too_young(
    file: Workbench, young: int
) -> None:
    """Whatever clocks that were set back say of when that one, or others behind it, ended."""
    for n, ago in enumerate([20, 20, young, 20, 9], 1):
        file.job(n, "done", created_at=NOW - ago, finished_at=NOW - 15)
    for limit, left in ((1, [2, 3, 4, 5]), (9, [3, 4, 5])):
        file.ask("retain", limit=limit, state="done", age=10, queue=None, except_queues="[]", now=NOW)
        assert sorted(file.states()) == left


def test_only_finished_jobs_are_purged_and_replayed(bench: Workbench) -> None:
    for n, state in enumerate(["done", "ready", "running", "dead", "cancelled"], 1):
        bench.job(n, state, run_at=NOW - 5)
        attempt(bench, n, 1)
        bench.put("requests", job_id=uid(n), body=b"b", headers="{}")
    some = pack(*({"id": uid(n)} for n in (1, 2, 3)))
    assert bench.ask("purge", ids=some).changed == 1
    assert bench.states() == {2: "ready", 3: "running", 4: "dead", 5: "cancelled"}
    for table in ("attempts", "requests"):
        assert bench.sql(f"SELECT job_id FROM tenure.{table} ORDER BY 1") == [(uid(n),) for n in (2, 3, 4, 5)]
    back = pack(*({"id": uid(n)} for n in (2, 3, 4)))
    assert bench.first("replay", ids=back, anew=True, run_at=None, delay=None, now=NOW) == [uid(4)]
    assert bench.states() == {2: "ready", 3: "running", 4: "ready", 5: "cancelled"}
    assert bench.sql("SELECT seq FROM tenure.jobs WHERE run_at = ?", NOW) == [(4,)]


def test_of_those_it_is_told_of_who_stands_beside_its_own_end_is_taken_back(server: Workbench) -> None:
    for n, ended in ((1, True), (2, False), (3, True)):
        server.job(n)
        if ended:
            server.job(n, "done")
    assert server.first("enqueue_undo", ids=pack({"id": uid(1)}, {"id": uid(2)})) == [uid(1)]
    assert server.sql("SELECT seq FROM tenure.jobs ORDER BY 1") == [(2,), (3,)]


@pytest.mark.parametrize("anew", [True, False])
def test_a_job_is_replayed_as_new_or_as_it_was(bench: Workbench, anew: bool) -> None:
    was = {"attempt": 2, "crashes": 1, "started_at": NOW - 5, "expires_at": NOW + 5}
    bench.job(1, "dead", settled_epoch=3, outcome="bury", trace=",2:fail,", **was)
    bench.job(2, "dead", group_key="g", settled_epoch=3, trace=",2:fail,", **was)
    bench.job(3, "dead", outcome="bury", trace=",2:fail,", **was)
    ids = pack(*({"id": uid(n)} for n in (1, 2, 3)))
    bench.ask("replay", ids=ids, anew=anew, run_at=None, delay=None, now=NOW)
    now = (0, 0, None, None, True) if anew else (*was.values(), False)
    columns = "state, trace, attempt, crashes, started_at, expires_at, was IS NOT NULL"
    found = bench.sql(f"SELECT {columns} FROM tenure.jobs ORDER BY id")
    assert found == [
        ("ready", ",2:fail,3:bury,", *now), ("waiting", ",2:fail,", *now), ("ready", ",2:fail,", *now),
    ]  # fmt: skip


@pytest.mark.parametrize(("delay", "groups"), [(None, ["g"]), (5, [None])])
def test_a_group_is_told_of_a_replay_that_waits_in_its_line(
    bench: Workbench, delay: int | None, groups: list[str | None]
) -> None:
    bench.job(1, "dead", group_key="g")
    told = bench.ask("replay", ids=pack({"id": uid(1)}), anew=True, run_at=None, delay=delay, now=NOW)
    assert [row[1] for row in told.rows] == groups


def test_dead_jobs_are_discarded_and_restored(bench: Workbench) -> None:
    for n, (state, reason) in enumerate(
        [("dead", "poison"), ("done", None), ("dead", "failed"), ("cancelled", "asked"), ("cancelled", "discarded: x"), ("dead", None)], 1
    ):  # fmt: skip
        bench.job(n, state, reason=reason)

    def reasons() -> dict[int, tuple[str, str | None]]:
        table = "jobs" if bench.name == "sqlite" else "finished"
        return {
            n: (state, why) for n, state, why in bench.sql(f"SELECT seq, state, reason FROM tenure.{table}")
        }

    before = reasons()
    given = pack(*({"id": uid(n)} for n in (1, 2, 4, 6)))
    assert sorted(bench.first("discard", ids=given, now=NOW)) == [uid(1), uid(6)]
    assert reasons() == {**before, 1: ("cancelled", "discarded: poison"), 6: ("cancelled", "discarded")}
    assert bench.first("discard", ids=pack({"id": uid(3)}), now=NOW) == [uid(3)]  # and is not restored below
    ended = "jobs" if bench.name == "sqlite" else "finished"
    bench.sql(f'UPDATE tenure.{ended} SET was = \'{{"state": "dead", "finished_at": 1}}\' WHERE seq = 2')
    assert bench.ask("restore", ids=given).changed == 2
    assert reasons() == {**before, 3: ("cancelled", "discarded: failed")}
    assert bench.ask("restore", ids=given).changed == 0


def test_a_replay_whose_slot_is_taken_stays_where_it_is(bench: Workbench) -> None:
    bench.job(1, unique_hash=uid(90))
    bench.job(2, "dead", unique_hash=uid(90))
    bench.job(3, "dead")
    found = bench.first(
        "replay", ids=pack({"id": uid(2)}, {"id": uid(3)}), anew=True, run_at=None, delay=None, now=NOW
    )
    assert found == [uid(3)]
    assert bench.states() == {1: "ready", 2: "dead", 3: "ready"}


def test_only_what_was_replayed_and_not_claimed_since_goes_back(bench: Workbench) -> None:
    replayed = (1, 2, 3, 5)
    for n in replayed:
        bench.job(n, "dead", epoch=4)
    bench.job(4, epoch=4)
    given = pack(*({"id": uid(n)} for n in replayed))
    bench.ask("replay", ids=given, anew=True, run_at=None, delay=None, now=NOW)
    for n, epoch in ((2, 5), (3, 3)):
        bench.sql("UPDATE tenure.jobs SET epoch = ? WHERE seq = ?", epoch, n)
    some = pack(*({"id": uid(n)} for n in (1, 2, 3, 4)))
    assert bench.first("unreplay", ids=some) == [uid(1)]
    assert bench.states() == {1: "dead", 2: "ready", 3: "ready", 4: "ready", 5: "ready"}


def test_crashes_are_pardoned_where_the_job_is(bench: Workbench) -> None:
    bench.job(1, crashes=2)
    bench.job(2, crashes=2)
    bench.job(3, "dead", crashes=3, reason="poison")
    bench.job(4, "dead", crashes=3, reason="failed")
    bench.job(5, "done", crashes=3, reason="poison")
    bench.job(6, "dead", crashes=4, reason="poison")
    bench.job(7, "dead", crashes=3, reason="poison")
    rows = pack(*({"id": uid(n), "less": 1} for n in (1, 3, 4, 5, 6)))
    assert bench.first("pardon", packed=rows) == [uid(1)]
    finished = bench.ask("pardon_finished", packed=rows, max_crashes=3).rows
    assert sorted((i, bool(u)) for i, u in finished) == [
        (uid(3), True),
        (uid(4), False),
        (uid(5), False),
        (uid(6), False),
    ]
    tables = ["jobs"] if bench.name == "sqlite" else ["jobs", "finished"]
    left = dict(row for t in tables for row in bench.sql(f"SELECT seq, crashes FROM tenure.{t}"))
    assert left == {1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 3, 7: 3}


def test_a_period_is_taken_unless_it_still_runs(bench: Workbench) -> None:
    bench.put("ledger", unique_hash=uid(1), job_id=uid(10), until=NOW + 1)
    bench.put("ledger", unique_hash=uid(2), job_id=uid(20), until=NOW)
    rows = [{"id": uid(n * 11), "unique_hash": uid(n), "unique_for": 5} for n in (1, 2, 3)]
    assert bench.ask("ledger", rows=rows, now=NOW).changed == 2
    found = bench.sql("SELECT unique_hash, job_id FROM tenure.ledger ORDER BY 1")
    assert found == [(uid(1), uid(10)), (uid(2), uid(22)), (uid(3), uid(33))]


def schedule(b: Workbench, name: str, **more: Any) -> None:
    told = {
        "cron": "c",
        "tz": "z",
        "missed": "one",
        "kind": "k",
        "payload": "{}",
        "options": "{}",
        "source": "s",
    }
    b.put("schedules", name=name, created_at=0, updated_at=5, since=NOW, **told, **more)


def test_one_fire_is_taken_once(bench: Workbench) -> None:
    schedule(bench, "a")
    schedule(bench, "b")
    schedule(bench, "paused", paused_at=1)

    def fire(name: str, at: int, updated: int = 5) -> int:
        return bench.ask("fire", name=name, fire=at, updated_at=updated, id=f"j{at - NOW}").changed

    assert [fire("a", NOW), fire("a", NOW + 1, updated=4), fire("paused", NOW + 1)] == [0, 0, 0]
    assert [fire("a", NOW + 2), fire("a", NOW + 2), fire("a", NOW + 1), fire("a", NOW + 3)] == [1, 0, 0, 1]
    assert bench.sql("SELECT name FROM tenure.schedules WHERE fired_at IS NOT NULL") == [("a",)]
    assert bench.sql("SELECT name, made FROM tenure.schedules ORDER BY name") == [
        ("a", "j3 j2 "), ("b", ""), ("paused", ""),
    ]  # fmt: skip


def test_a_job_is_kept_with_its_schedule_in_front_and_taken_out_again(bench: Workbench) -> None:
    for name in "ab":
        schedule(bench, name, made="j1 j2 ")
    for made in ("j3 ", "j2 ", "j2 "):
        assert bench.ask("made", name="a", id=made, made=made).changed == 1
    assert bench.ask("made", name="a", id="j3 ", made="").changed == 1
    assert bench.ask("made", name="c", id="j3 ", made="j3 ").changed == 0
    assert bench.sql("SELECT name, made FROM tenure.schedules ORDER BY name") == [
        ("a", "j2 j1 "),
        ("b", "j1 j2 "),
    ]


def test_schedules_are_paused_resumed_and_forgotten_by_name(bench: Workbench) -> None:
    for name in "cab":
        schedule(bench, name)
    assert [bench.ask("pause_schedule", name="a", now=NOW + n).changed for n in (1, 2)] == [1, 0]
    assert bench.sql("SELECT name, paused_at FROM tenure.schedules WHERE paused_at IS NOT NULL") == [
        ("a", NOW + 1)
    ]
    assert bench.ask("resume_schedule", name="b", now=NOW + 9).changed == 0
    assert bench.ask("pause_schedule", name="b", now=NOW).changed == 1
    assert bench.ask("resume_schedule", name="a", now=NOW + 9).changed == 1
    assert bench.sql("SELECT name, since FROM tenure.schedules ORDER BY 1") == [
        ("a", NOW + 9),
        ("b", NOW),
        ("c", NOW),
    ]
    assert bench.sql("SELECT name FROM tenure.schedules WHERE paused_at IS NOT NULL") == [("b",)]
    assert bench.first("schedules", now=NOW) == ["a", "b", "c"]
    assert bench.ask("unschedule", name="b").changed == 1
    assert bench.first("schedules", now=NOW) == ["a", "c"]


def test_what_is_said_again_alike_changes_nothing(bench: Workbench) -> None:
    spec = {
        "cron": "c",
        "tz": "z",
        "missed": "one",
        "kind": "k",
        "payload": "{}",
        "options": "{}",
        "source": "s",
    }
    assert [bench.ask("schedule", name="a", now=NOW + n, **spec).changed for n in range(2)] == [1, 0]
    assert bench.ask("schedule", name="a", now=NOW + 2, **{**spec, "kind": "other"}).changed == 1
    assert bench.sql("SELECT kind, since FROM tenure.schedules") == [("other", NOW)]
    for at, changed in ((3, {"cron": "d"}), (4, {"cron": "d", "tz": "y"})):
        assert bench.ask("schedule", name="a", now=NOW + at, **{**spec, **changed}).changed == 1
        assert bench.sql("SELECT since FROM tenure.schedules") == [(NOW + at,)]
    hook = {"kind": "k", "hook": "h", "queue": "q", "priority": 1, "max_attempts": 2}
    assert [bench.ask("hook", **hook).changed for _ in range(2)] == [1, 0]
    assert bench.ask("hook", **{**hook, "priority": 3}).changed == 1
    bench.ask("hook", **{**hook, "kind": "*"})
    bench.ask("hook", **{**hook, "hook": "i"})
    assert bench.sql("SELECT kind, hook, priority FROM tenure.hooks ORDER BY 1, 2") == [
        ("*", "h", 1),
        ("k", "h", 3),
        ("k", "i", 1),
    ]
    assert bench.ask("unhook", kind="k", hook="h").changed == 1
    assert bench.sql("SELECT kind, hook FROM tenure.hooks ORDER BY 1, 2") == [("*", "h"), ("k", "i")]


def test_queues_and_workers_by_name(bench: Workbench) -> None:
    for n, name in enumerate(("a", "b", "a")):
        bench.ask("pause", queue=name, now=NOW + n)
        bench.ask("beat", worker=name, queues=None, kinds=None, about=str(n), now=NOW + n)
    assert bench.sql("SELECT name, paused_at FROM tenure.queues ORDER BY 1") == [("a", NOW), ("b", NOW + 1)]
    assert [bench.ask("resume", queue="a").changed for _ in range(2)] == [1, 0]
    assert bench.sql("SELECT name FROM tenure.queues WHERE paused_at IS NOT NULL") == [("b",)]
    bench.ask("pause", queue="a", now=NOW + 9)
    assert bench.sql("SELECT paused_at FROM tenure.queues WHERE name = 'a'") == [(NOW + 9,)]
    assert bench.sql("SELECT id, started_at, seen_at FROM tenure.workers ORDER BY 1") == [
        ("a", NOW, NOW + 2),
        ("b", NOW + 1, NOW + 1),
    ]
    bench.ask("leave", worker="a")
    assert bench.sql("SELECT id FROM tenure.workers") == [("b",)]
