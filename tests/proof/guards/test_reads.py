"""Statements that only look: each sees what it is asked for, in its order and up to its limit, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tenure
from tenure import query
from tenure.newjob import lane_of
from tests.conformance.test_filters import WORDS, scene
from tests.proof.guards.workbench import NOW, Workbench, pack, uid
from tests.support.clock import MovedClock

HOUR = 3_600_000_000


def test_every_word_of_a_filter_narrows(bench: Workbench) -> None:
    clock = MovedClock()
    q = tenure.Queue(bench.store, clock=clock)
    made = scene(q, clock)
    for text, meant in [*WORDS, ("-queue:img*", "abef"), ("-kind:resize*", "abef")]:
        which = query.parse(text)
        wanted = {made[name] for name in meant}
        assert (text, {job.id for job in q.list(which, limit=50)}) == (text, wanted)
        assert (text, q.count(which).total) == (text, len(wanted))
    for name, job_id in made.items():
        assert [job.id for job in q.list(tenure.Filter(ids=[job_id]))] == [job_id], name
        assert q.count(tenure.Filter(ids=[job_id])).total == 1


def asked(**more: object) -> dict[str, object]:
    """A filter that leaves everything in."""
    return {**tenure.Filter().parameters(), "now": NOW, **more}


def test_a_list_goes_down_and_a_find_goes_up(bench: Workbench) -> None:
    for n in range(1, 6):
        bench.job(n, "ready" if n % 2 else "done")
    ids = [uid(n) for n in range(1, 6)]
    everything = {"before": None, "low": None, "limit": 9}
    assert bench.first("list", **asked(**everything)) == ids[::-1]
    assert bench.first("list", **asked(before=uid(4), low=uid(2), limit=9)) == [uid(3), uid(2)]
    assert bench.first("list", **asked(before=uid(5), low=None, limit=2)) == [uid(4), uid(3)]
    assert bench.first("find", **asked(after=None, high=None, limit=9)) == ids
    some = json.dumps([uid(1), uid(3), uid(4)])
    assert bench.first("list", **asked(**everything, ids=some)) == [uid(4), uid(3), uid(1)]
    assert bench.first("find", **asked(after=None, high=None, limit=9, ids=some)) == [uid(1), uid(3), uid(4)]
    assert bench.first("find", **asked(after=uid(2), high=uid(4), limit=9)) == [uid(3), uid(4)]
    assert bench.first("find", **asked(after=uid(1), high=None, limit=2)) == [uid(2), uid(3)]


def test_payloads_without_what_is_looked_for_are_not_read(bench: Workbench) -> None:
    for n, payload in enumerate(['{"a": 1}', '{"b": 1}', '{"a": "b"}'], 1):
        bench.job(n, payload=payload)
    for way, bounds in (("list", {"before": None, "low": None}), ("find", {"after": None, "high": None})):
        assert bench.first(way, **asked(limit=9, **bounds, needles='["a", "b"]')) == [uid(3)]


def test_a_job_s_relations_narrow_one_by_one(bench: Workbench) -> None:
    for n in (1, 2):
        bench.job(n, group_key=f"g{n}", tenant=f"t{n}", flow=f"f{n}", parent=uid(50 + n))
    for way, bounds in (("list", {"before": None, "low": None}), ("find", {"after": None, "high": None})):
        for name, value in (("group_key", "g2"), ("tenant", "t2"), ("flow", "f2"), ("parent", uid(52))):
            assert (name, bench.first(way, **asked(limit=9, **bounds, **{name: value}))) == (name, [uid(2)])


@pytest.mark.parametrize("state", ["ready", "done"])
def test_a_stretch_ends_so_many_jobs_on(bench: Workbench, state: str) -> None:
    for n in range(1, 8):
        bench.job(n, state)
    assert bench.first("ceiling", after=uid(2), high=uid(6), reach=0) == [uid(3)]
    assert bench.first("ceiling", after=uid(2), high=uid(6), reach=3) == [uid(6)]
    assert bench.first("ceiling", after=uid(2), high=uid(6), reach=4) == [None]
    assert bench.first("floor", before=uid(6), low=uid(2), reach=0) == [uid(5)]
    assert bench.first("floor", before=uid(6), low=uid(2), reach=3) == [uid(2)]
    assert bench.first("floor", before=uid(6), low=uid(2), reach=4) == [None]


def test_an_error_is_that_of_the_last_attempt_of_the_job(bench: Workbench) -> None:
    for n in (1, 2):
        bench.job(n, "scheduled", error="down")
        for epoch, kind in ((1, "Early"), (2, "Late")):
            other = "Foreign" if n == 2 else kind
            bench.put(
                "attempts",
                job_id=uid(n),
                epoch=epoch,
                attempt=1,
                finished_at=NOW,
                error_kind=other,
                message="down",
            )
    for way, bounds in (("list", {"before": None, "low": None}), ("find", {"after": None, "high": None})):
        for pattern, found in (("Late: down", [1]), ("Early: *", []), ("Foreign: *", [2]), ("down", [1, 2])):
            which = tenure.Filter(
                error=pattern if "*" in pattern else f"{pattern}*" if ":" in pattern else pattern
            )
            params = {**which.parameters(), "now": NOW, "limit": 9, **bounds}
            assert sorted(bench.first(way, **params)) == [uid(n) for n in found], (way, pattern)
            others = tenure.Filter(except_error=which.error)
            params = {**others.parameters(), "now": NOW, "limit": 9, **bounds}
            assert sorted(bench.first(way, **params)) == [uid(n) for n in (1, 2) if n not in found], (
                way,
                pattern,
            )


def test_who_stands_ahead(bench: Workbench) -> None:
    bench.job(1, rank=-1)
    bench.job(2, run_at=NOW - 1)
    bench.job(3)
    bench.job(4)
    bench.job(5)
    bench.job(6, "scheduled", rank=-1)
    bench.job(7, rank=-1, queue="other")
    bench.job(8, rank=1)
    assert bench.first("ahead", id=uid(4), limit=9) == [3]
    assert bench.first("ahead", id=uid(4), limit=2) == [2]


def test_how_much_waits_in_a_lane(bench: Workbench) -> None:
    lane = lane_of("q", "k", 0)
    bench.job(1, run_at=NOW + 5)
    bench.job(2, run_at=NOW + 3)
    bench.job(3, run_at=NOW + 9)
    bench.job(4, "scheduled", run_at=NOW + 1)
    bench.job(5, kind="other", run_at=NOW)
    assert bench.ask("backlog", lanes=pack({"lane": lane}), cap=9).rows == [(lane, 3, NOW + 3)]
    assert bench.ask("backlog", lanes=pack({"lane": lane}), cap=2).rows == [(lane, 2, NOW + 3)]


def test_what_is_late(bench: Workbench) -> None:
    nothing = bench.ask("late", patience=5, cap=9, now=NOW).rows
    assert nothing == [(NOW, 0, None, 0, None)]
    bench.job(1, "running", lease_until=NOW - 1, run_at=NOW - 99)
    bench.job(2, "running", lease_until=NOW, run_at=NOW - 99)
    bench.job(3, "running", lease_until=NOW + 1, run_at=NOW - 99)
    bench.job(4, "scheduled", run_at=NOW - 6)
    bench.job(5, "scheduled", run_at=NOW - 5)
    bench.job(6, "scheduled", run_at=NOW - 4)
    bench.job(7, run_at=NOW - 99)
    assert bench.ask("late", patience=5, cap=9, now=NOW).rows == [(NOW, 2, NOW - 1, 2, NOW - 6)]
    assert bench.ask("late", patience=5, cap=1, now=NOW).rows == [(NOW, 1, NOW - 1, 1, NOW - 6)]


def test_what_is_due_next(bench: Workbench) -> None:
    bench.job(1, run_at=NOW - 5)
    assert bench.first("next_due", now=NOW) == [None]
    bench.job(2, "scheduled", run_at=NOW + 9)
    bench.job(3, "scheduled", run_at=NOW + 7)
    assert bench.first("next_due", now=NOW) == [7]
    bench.job(4, "running", lease_until=NOW + 5)
    bench.job(5, "running", lease_until=NOW + 3)
    assert bench.first("next_due", now=NOW) == [3]


def test_counts_of_the_newest(bench: Workbench) -> None:
    for n, queue in enumerate("abc", 1):
        bench.job(n, queue=queue)
        bench.job(n + 10, "done", queue=queue, finished_at=NOW + n)
    found = [(q, s, c) for q, s, c in bench.ask("counts_capped", cap=1).rows if c]
    assert ("c", "done", 1) in found
    assert sorted(s for _, s, _ in found) == ["done", "ready"]
    if bench.name == "sqlite":
        assert ("c", "ready", 1) in found


def test_crashes_of_late(bench: Workbench) -> None:
    for n, (kind, ago) in enumerate(
        [("Crash", 1), ("Crash", 2), ("Crash", 50), ("Error", 1), ("Crash", 10)], 1
    ):
        bench.put(
            "attempts", job_id=uid(n), epoch=1, attempt=1, finished_at=NOW - ago, error_kind=kind, message="m"
        )
    bench.put(
        "attempts", job_id=uid(1), epoch=2, attempt=1, finished_at=NOW - 1, error_kind="Crash", message="m"
    )
    assert bench.ask("crashes", age=10, look=99, now=NOW).rows == [(3, 2, NOW - 1)]
    # The newest jobs are looked at: of these two neither crashed of late.
    assert bench.ask("crashes", age=10, look=2, now=NOW).rows == [(0, 0, None)]
    assert bench.ask("crashes", age=10, look=4, now=NOW).rows == [(1, 1, NOW - 2)]


def test_who_holds_a_group(bench: Workbench) -> None:
    for n in range(1, 26):
        bench.job(n, "running", group_key="g", held=True, run_at=NOW + 30 - n // 2)
    bench.job(30, "waiting", group_key="g", run_at=NOW)
    bench.job(31, "running", group_key="other", held=True, run_at=NOW)
    line = sorted(range(1, 26), key=lambda n: (30 - n // 2, n))[:20]
    assert bench.first("group_line", group_key="g") == [uid(n) for n in line]


def test_the_story_of_one_job(bench: Workbench) -> None:
    for n, epoch in ((1, 2), (1, 1), (2, 1)):
        bench.put(
            "attempts", job_id=uid(n), epoch=epoch, attempt=1, finished_at=NOW, error_kind="E", message="m"
        )
    assert [row[1] for row in bench.ask("history", id=uid(1)).rows] == [1, 2]


def test_a_job_is_like_those_that_failed_last_as_it_did(bench: Workbench) -> None:
    for n, epoch, name in ((1, 1, "a"), (1, 2, "b"), (2, 1, "b"), (2, 2, "a"), (3, 3, "c")):
        if epoch in (1, 3):
            bench.job(n, "dead")
        bench.put(
            "attempts", job_id=uid(n), epoch=epoch, attempt=1, finished_at=NOW, error_kind="E", message="m", fingerprint=name
        )  # fmt: skip
    for way, bounds in (("list", {"before": None, "low": None}), ("find", {"after": None, "high": None})):
        for name, n in (("a", 2), ("b", 1), ("c", 3)):
            assert bench.first(way, **asked(limit=9, **bounds, fingerprint=name)) == [uid(n)]


def test_overdue_are_leases_and_what_was_to_be_ready(bench: Workbench) -> None:
    bench.job(1, "running", lease_until=NOW - 10, run_at=NOW)
    bench.job(2, "running", lease_until=NOW - 9, run_at=NOW - 50)
    bench.job(3, "scheduled", run_at=NOW - 10)
    bench.job(4, "scheduled", run_at=NOW - 9)
    bench.job(5, "ready", run_at=NOW - 50)
    for way, bounds in (("list", {"before": None, "low": None}), ("find", {"after": None, "high": None})):
        assert sorted(bench.first(way, **asked(limit=9, **bounds, overdue=10))) == [uid(1), uid(3)]


def test_a_job_s_age_is_since_it_was_made_or_ended(bench: Workbench) -> None:
    bench.job(1, created_at=NOW - 10)
    bench.job(2, created_at=NOW - 9)
    bench.job(3, "done", created_at=NOW - 50, finished_at=NOW - 10)
    bench.job(4, "done", created_at=NOW - 50, finished_at=NOW - 9)
    for way, bounds in (("list", {"before": None, "low": None}), ("find", {"after": None, "high": None})):
        assert sorted(bench.first(way, **asked(limit=9, **bounds, older=10))) == [uid(1), uid(3)]
        assert sorted(bench.first(way, **asked(limit=9, **bounds, newer=10))) == [uid(2), uid(4)]


def test_payloads_are_told_where_they_decide(bench: Workbench) -> None:
    bench.job(1)
    bounds = {"after": None, "high": None, "limit": 9}
    needles = tenure.Filter(payload={"a": "1"}).parameters()["needles"]
    assert [row[2] for row in bench.ask("find", **asked(**bounds)).rows] == [None]
    bench.sql("UPDATE tenure.jobs SET payload = ?", '{"a":1}')
    assert [row[2] for row in bench.ask("find", **asked(**bounds, needles=needles)).rows] == ['{"a":1}']


def test_hooks_of_the_dead(bench: Workbench) -> None:
    for kind, hook in (("*", "z"), ("k", "z"), ("k", "a"), ("other", "a"), ("b", "y"), ("b", "x")):
        bench.put("hooks", kind=kind, hook=hook, queue=f"of {kind}", priority=0, max_attempts=1)
    bench.job(1, "dead")
    bench.job(2, "done")
    bench.job(3, "dead", kind="z")
    bench.job(4, "dead")
    bench.job(5, "dead")
    found = bench.ask("hooked", ids=pack(*({"id": uid(n)} for n in (5, 1, 2, 3))), longest=9).rows
    one = [("a", "of k"), ("z", "of k"), ("z", "of *")]
    assert [(row[4], row[0], row[1]) for row in found] == [(uid(n), *hook) for n in (1, 5) for hook in one]
    one_dead = pack({"id": uid(1)})
    told = [{row[8] for row in bench.ask("hooked", ids=one_dead, longest=n).rows} for n in (2, 1)]
    assert told == [{"{}"}, {None}]
    assert [row[:2] for row in bench.ask("hooks").rows] == [
        ("*", "z"), ("b", "x"), ("b", "y"), ("k", "a"), ("k", "z"), ("other", "a"),
    ]  # fmt: skip


def test_who_holds_a_unique_key(bench: Workbench) -> None:
    bench.job(1, unique_hash=uid(90))
    bench.job(2, unique_hash=uid(91))
    bench.job(3, "done", unique_hash=uid(92))
    bench.put("ledger", unique_hash=uid(90), job_id=uid(7), until=NOW + 1)
    bench.put("ledger", unique_hash=uid(91), job_id=uid(8), until=NOW)

    def holder(n: int, *, period: bool) -> list[object]:
        return bench.first("holder", unique_hash=uid(n), period=period, now=NOW)

    assert [holder(n, period=False) for n in (90, 91, 92, 93)] == [[uid(1)], [uid(2)], [], []]
    assert [holder(n, period=True) for n in (90, 91, 92)] == [[uid(7)], [], []]
    asked_for = pack({"unique_hash": uid(91)})
    assert [str(i) for i in bench.ask("ledger_holders", packed=asked_for).rows[0]] == [uid(91), uid(8)]
    assert len(bench.ask("ledger_holders", packed=asked_for).rows) == 1


def test_which_job_stands_for_a_row(bench: Workbench) -> None:
    bench.job(1, unique_hash=uid(90))
    bench.job(2, "done", unique_hash=uid(91))
    bench.job(3)
    rows = [(1, 90), (2, 91), (4, 90), (5, 91), (6, None)]
    given = pack(*({"id": uid(n), "unique_hash": None if h is None else uid(h)} for n, h in rows))
    found = sorted(bench.ask("resolve", packed=given).rows)
    assert found == [(uid(1), uid(1)), (uid(2), uid(2)), (uid(4), uid(1))]


def test_what_was_settled_before(bench: Workbench) -> None:
    bench.job(1, "scheduled", settled_epoch=2, outcome="fail", trace=",1:release,")
    bench.job(2, "done", settled_epoch=3, outcome="done", trace=",2:snooze,")
    bench.job(3, settled_epoch=2, outcome="fail")
    bench.put(
        "attempts",
        job_id=uid(3),
        epoch=1,
        attempt=1,
        finished_at=NOW,
        error_kind="E",
        message="m",
        outcome="fail",
    )

    def settled(n: int, epoch: int, outcome: str) -> bool:
        given = pack({"id": uid(n), "epoch": epoch, "outcome": outcome})
        return bool(bench.ask("settled", claims=given).rows)

    for n, epoch, outcome in (
        (1, 2, "fail"),
        (1, 1, "release"),
        (2, 3, "done"),
        (2, 2, "snooze"),
        (3, 1, "fail"),
    ):
        assert settled(n, epoch, outcome), (n, epoch, outcome)
    for n, epoch, outcome in (
        (1, 2, "done"), (1, 1, "fail"), (1, 3, "fail"), (2, 3, "fail"), (2, 1, "done"), (2, 4, "done"), (3, 1, "done"), (3, 0, "fail"), (3, 3, "fail"), (9, 2, "fail"), (9, 3, "done"),
    ):  # fmt: skip
        assert not settled(n, epoch, outcome), (n, epoch, outcome)


def test_groups_that_wait_are_walked_through(bench: Workbench) -> None:
    for n, group in enumerate("abcd", 1):
        bench.job(n, "waiting", group_key=group)
        bench.job(n + 10, "waiting", group_key=group)
    bench.job(20, "scheduled", group_key="bb")
    bench.job(21, "scheduled", group_key="0")
    assert bench.first("stalled", after="", limit=5) == ["a", "b", "c", "d"]
    assert bench.first("stalled", after="a", limit=2) == ["b", "c"]


def test_jobs_that_nobody_has_claimed(bench: Workbench) -> None:
    for n, state in enumerate(["ready", "scheduled", "running", "done", "ready"], 1):
        bench.job(n, state)
    given = pack(*({"id": uid(n)} for n in (4, 3, 2, 1)))
    assert sorted(bench.first("unclaimed", ids=given, now=NOW)) == [uid(1), uid(2)]


def test_one_job_is_found_where_it_is(bench: Workbench) -> None:
    bench.job(1)
    bench.job(2, "done")
    bench.job(3, "dead")
    assert bench.first("get", id=uid(1)) == [uid(1)]
    assert bench.first("get", id=uid(2)) == [uid(2)]
    assert bench.first("find_pending", id=uid(1), now=NOW) == [uid(1)]
    assert bench.first("find_pending", id=uid(2), now=NOW) == []
    assert bench.first("find_finished", id=uid(2)) == ["done"]
    assert bench.first("find_finished", id=uid(1)) == []


def figures(b: Workbench, span: int, minute: int, source: str = "", queue: str = "q", done: int = 1) -> None:
    empty = {"kind": "k", "failed": 0, "dead": 0, "cancelled": 0, "waited": "", "ran": ""}
    b.put("rollups", span=span, minute=minute, source=source, queue=queue, done=done, **empty)


def test_figures_of_an_hour(bench: Workbench) -> None:
    for minute in (119, 120, 179, 180):
        figures(bench, 1, minute, "w", done=minute)
        figures(bench, 1, minute, done=minute)
    figures(bench, 60, 120, done=1)
    figures(bench, 60, 121, "w", done=1)
    assert sorted(row[3] for row in bench.ask("minutes", hour=120).rows) == [120, 179]
    assert sorted(row[3] for row in bench.ask("drop_sources", hour=120).rows) == [120, 179]
    left = bench.sql("SELECT span, minute, source FROM tenure.rollups ORDER BY 1, 2, 3")
    assert left == [
        (1, 119, ""),
        (1, 119, "w"),
        (1, 120, ""),
        (1, 179, ""),
        (1, 180, ""),
        (1, 180, "w"),
        (60, 120, ""),
        (60, 121, "w"),
    ]


def test_samples_between_two_minutes(bench: Workbench) -> None:
    empty = {"running": 0, "oldest": None, "busy": 0, "slots": 0}
    for minute in (9, 10, 14, 15, 19, 20):
        bench.put("samples", minute=minute, queue="q", ready=minute, **empty)
    found = sorted(row[:3] for row in bench.ask("samples", since=10, until=20, step=5).rows)
    assert found == [(10, "q", 14), (15, "q", 19)]
    late = sorted(row[:3] for row in bench.ask("samples", since=14, until=20, step=5).rows)
    assert late == found
    assert [bench.first("sampled", now=at * 60_000_000 + 59_999_999) for at in (9, 11)] == [[True], [False]]


def test_the_next_hour_to_fold(bench: Workbench) -> None:
    now = 600 * 60_000_000
    figures(bench, 60, 60)
    for minute in (65, 130, 200, 599):
        figures(bench, 1, minute, "w")
    assert bench.first("next_fold", late=5, now=now) == [120]
    bench.sql("DELETE FROM tenure.rollups WHERE minute < 599")
    figures(bench, 1, 540, "w")
    assert bench.first("next_fold", late=5, now=now) == [None]
    figures(bench, 60, 540)
    assert bench.first("next_fold", late=5, now=now + 200 * 60_000_000) == [None]
    figures(bench, 1, 600, "w")
    assert bench.first("next_fold", late=5, now=now + 200 * 60_000_000) == [600]


def test_hours_that_got_figures_after_they_were_merged(bench: Workbench) -> None:
    now = 600 * 60_000_000 + 1
    for minute in (299, 300, 359, 470, 480):
        figures(bench, 1, minute, "late")
    figures(bench, 1, 400)
    figures(bench, 60, 360, "none")
    assert sorted(bench.first("strays", hour=480, back=300, now=now)) == [300, 420]
    assert sorted(bench.first("strays", hour=480, back=301, now=now)) == [240, 300, 420]


def test_figures_by_minute_and_by_hour(bench: Workbench) -> None:
    for minute in (0, 60, 120):
        figures(bench, 60, minute, done=1_000 + minute)
        figures(bench, 60, minute, queue="other", done=9_000 + minute)
    for minute in (121, 125, 180, 190, 250):
        figures(bench, 1, minute, done=minute)
        figures(bench, 1, minute, queue="other", done=minute + 5_000)

    def done(since: int, until: int, *, hourly: bool, queues: str | None = '["q"]') -> list[int]:
        return sorted(
            row[3]
            for row in bench.ask("rollups", since=since, until=until, hourly=hourly, queues=queues).rows
        )

    assert done(0, 999, hourly=True) == [180, 190, 250, 1_000, 1_060, 1_120]
    assert done(60, 250, hourly=True) == [180, 190, 1_060, 1_120]
    assert done(60, 120, hourly=True) == [1_060]
    assert done(0, 999, hourly=False) == [121, 125, 180, 190, 250, 1_000, 1_060]
    assert done(125, 250, hourly=False) == [125, 180, 190]
    assert len(done(0, 999, hourly=False, queues=None)) == 14
    bench.sql("DELETE FROM tenure.rollups WHERE span = 1")
    assert done(0, 999, hourly=False) == [1_000, 1_060, 1_120]


def test_the_most_frequent_failures(bench: Workbench) -> None:
    def group(hour: int, name: str, count: int) -> None:
        told = {
            "kind": "k",
            "error_kind": "E",
            "message": "m",
            "sample_id": uid(1),
            "first_seen": hour * 10,
            "last_seen": hour * 10 + 5,
            "dead": count - 1,
            "frame": "",
        }
        bench.put("error_groups", hour=hour, fingerprint=name, count=count, **told)

    for hour, name, count in (
        (2, "old", 900),
        (1, "old", 900),
        (5, "often", 5),
        (4, "often", 5),
        (5, "b", 4),
        (5, "a", 4),
        (4, "old", 1),
    ):
        group(hour, name, count)

    def asked(limit: int, only: str | None = None, *, since: int = 4, hours: int = 4) -> list[Any]:
        rows = bench.ask("error_groups", since=since, limit=limit, fingerprint=only, hours=hours).rows
        return [tuple(row) for row in rows]

    def found(limit: int, only: str | None = None, **when: int) -> list[tuple[str, int]]:
        return [(row[0], row[1]) for row in asked(limit, only, **when)]

    assert found(1) == [("often", 4), ("often", 5)]
    assert sorted(found(2)) == [("a", 5), ("often", 4), ("often", 5)]
    assert [hour for _, hour in found(9)] == [4, 4, 5, 5, 5]
    assert found(9, "b") == [("b", 5)]
    # The sums are of all hours since then, whichever of them are told one by one; the beginning is that of all hours.
    assert [row[9:] for row in asked(1, hours=5)] == [(10, 8, 40)]
    assert [row[9:] for row in asked(9, "old")] == [(1, 0, 10)]
    assert found(9, "old", hours=2) == [("old", 2), ("old", 4)]
    assert found(9, "often", hours=5) == [("often", 5)]
    # Of what has not failed since, the last hour alone.
    assert found(9, "old", since=1, hours=5) == [("old", 4)]
    assert found(9, "old", since=1, hours=4) == [("old", 4)]
    assert [row[9:] for row in asked(9, "old", since=1, hours=5)] == [(1_801, 1_798, 10)]


def test_what_has_run_longest(bench: Workbench) -> None:
    bench.job(9, "ready")
    for n, worker, started, lease in (
        (1, "a", 30, 100),
        (2, "a", 10, 400),
        (3, "b", 10, 200),
        (4, "a", 20, 300),
        (5, "a", 5, 900),
        (6, "c", 50, 500),
        (7, "c", 50, 450),
    ):
        bench.job(n, "running", worker=worker, started_at=started, lease_until=lease)

    def found(limit: int = 9, each: int = 9, look: int = 9) -> list[int]:
        rows = bench.ask("running", limit=limit, each=each, look=look).rows
        return [[uid(n) for n in range(10)].index(row[0]) for row in rows]

    assert found() == [5, 2, 3, 4, 1, 6, 7]
    assert found(limit=2) == [5, 2]
    assert found(each=1) == [5, 3, 6]
    assert found(each=2) == [5, 2, 3, 6, 7]
    assert found(look=4) == [2, 3, 4, 1]
    assert found(look=4, each=1) == [2, 3]


def test_the_next_dead_job_either_way(bench: Workbench) -> None:
    for n in range(1, 8):
        bench.job(n, "dead" if n % 2 else "cancelled")
    assert bench.first("dead_after", after=uid(1), high=uid(7)) == [uid(3)]
    assert bench.first("dead_after", after=None, high=None) == [uid(1)]
    assert bench.first("dead_after", after=uid(3), high=uid(4)) == [None]
    assert bench.first("dead_after", after=uid(3), high=uid(5)) == [uid(5)]
    assert bench.first("dead_before", before=uid(7), low=uid(1)) == [uid(5)]
    assert bench.first("dead_before", before=None, low=None) == [uid(7)]
    assert bench.first("dead_before", before=uid(5), low=uid(4)) == [None]
    assert bench.first("dead_before", before=uid(5), low=uid(3)) == [uid(3)]


def test_the_next_job_of_a_flow_or_of_a_parent_either_way(bench: Workbench) -> None:
    for n in range(1, 13):
        flow, parent = "f" if n in (3, 4, 7, 8) else "other", uid(50 if n in (5, 6, 9, 10) else 51)
        bench.job(n, "ready" if n % 2 else "done", flow=flow, parent=parent)
    for kin, first in (({"flow": "f", "parent": None}, 3), ({"flow": None, "parent": uid(50)}, 5)):
        second, third, fourth = (uid(first + more) for more in (1, 4, 5))
        between = uid(first + 2)
        for after, high, found in (
            (None, None, uid(first)), (uid(first), None, second), (second, None, third), (second, uid(first + 3), None),
            (None, uid(first), uid(first)), (uid(first), second, second),
        ):  # fmt: skip
            assert bench.first("kin_after", after=after, high=high, **kin) == [found]
        for before, low, found in (
            (None, None, fourth), (fourth, None, third), (third, None, second), (third, between, None),
            (fourth, third, third), (None, fourth, fourth),
        ):  # fmt: skip
            assert bench.first("kin_before", before=before, low=low, **kin) == [found]


def test_names_of_jobs(bench: Workbench) -> None:
    bench.job(1, queue="a")
    bench.job(2, "done", queue="b")
    bench.job(3, queue="c")
    bench.job(4, "done", queue="d")
    found = bench.ask("named", ids=pack({"id": uid(1)}, {"id": uid(2)})).rows
    assert sorted(found) == [(uid(1), "a", "k"), (uid(2), "b", "k")]


def test_what_has_not_ended_by_state(bench: Workbench) -> None:
    for n, later in ((1, 3), (2, 1), (3, 2)):
        bench.job(n, "running", lease_until=NOW + later)
        bench.job(n + 10, "ready", queue=f"q{later}", group_key="g0")
        bench.job(n + 20, "scheduled", run_at=NOW + later)
        bench.job(n + 30, "waiting", group_key=f"g{later}")
    bench.job(50, "done")
    asked = {"ready": 10, "scheduled": 20, "waiting": 30, "running": 0}
    for state, base in asked.items():
        only = {name: name == state for name in asked}
        assert sorted(bench.first("unfinished_ids", limit=9, **only)) == [uid(base + n) for n in (1, 2, 3)]
        assert sorted(bench.first("unfinished_ids", limit=2, **only)) == [uid(base + n) for n in (2, 3)]
    assert len(bench.first("unfinished_ids", limit=2, **dict.fromkeys(asked, True))) == 8
    assert bench.first("unfinished_ids", limit=9, **dict.fromkeys(asked, False)) == []


def test_the_pulse_counts_up_to_its_cap(bench: Workbench) -> None:
    number = iter(range(1, 99))
    for name, state, more in (
        ("r", "ready", {}), ("r", "ready", {"run_at": NOW - 7}), ("r", "ready", {"run_at": NOW - 3}),
        ("s", "scheduled", {"run_at": NOW + 1}), ("s", "scheduled", {"run_at": NOW - 4}), ("r", "scheduled", {"run_at": NOW - 9}),
        ("u", "running", {"lease_until": NOW + 1, "group_key": "0"}), ("u", "running", {"lease_until": NOW - 4}),
        ("v", "running", {"lease_until": NOW - 9}), ("a", "running", {"lease_until": NOW + 2}),
        ("w", "waiting", {"group_key": "g"}), ("w", "waiting", {"group_key": "h"}), ("x", "waiting", {"group_key": "a"}),
        ("e", "done", {"run_at": NOW - 9}), ("f", "dead", {}), ("g", "dead", {}), ("g", "dead", {}),
    ):  # fmt: skip
        bench.job(next(number), state, queue=name, **more)
    for kind in ("k2", "k3"):
        bench.job(next(number), "ready", queue="r", kind=kind, run_at=NOW - 1)
    bench.put("queues", name="r", paused_at=NOW)
    bench.put("queues", name="s", paused_at=None)
    one, two, three = (lane_of("r", kind, 0) for kind in ("k", "k2", "k3"))

    def pulse(cap: int) -> dict[tuple[str, str], int]:
        rows = bench.ask("pulse", cap=cap, most=10**9, margin=4, now=NOW).rows
        found = {(what, name): int(n) for what, name, n in rows if what not in ("now", "quota")}
        assert len(found) + 2 == len(rows), "something is told twice"
        return found

    always = {
        ("ready", two): 1, ("ready", three): 1, ("oldest", one): NOW - 7, ("oldest", two): NOW - 1, ("oldest", three): NOW - 1,
        ("paused", "r"): 1, ("paused", "s"): 0,
    }  # fmt: skip
    assert pulse(9) == always | {
        ("ready", one): 3, ("running", "u"): 2, ("running", "v"): 1, ("running", "a"): 1, ("scheduled", lane_of("s", "k", 0)): 2, ("scheduled", lane_of("r", "k", 0)): 1,
        ("waiting", lane_of("w", "k", 0)): 2, ("waiting", lane_of("x", "k", 0)): 1, ("overdue_leases", ""): 2, ("overdue_scheduled", ""): 2,
        ("dead", "f"): 1, ("dead", "g"): 2,
    }  # fmt: skip
    assert pulse(1) == always | {
        ("ready", one): 1, ("running", "v"): 1, ("scheduled", lane_of("r", "k", 0)): 1, ("waiting", lane_of("x", "k", 0)): 1, ("overdue_leases", ""): 1,
        ("overdue_scheduled", ""): 1, ("dead", "f"): 1,
    }  # fmt: skip


def test_lists_of_people_and_workers(bench: Workbench) -> None:
    for n in (1, 2, 3):
        bench.put("audit", id=uid(n), at=NOW, who="w", action="a", what="x", count=1, said="")
    assert [str(i) for i in bench.first("audits", before=None, limit=2)] == [uid(3), uid(2)]
    assert [str(i) for i in bench.first("audits", before=uid(3), limit=9)] == [uid(2), uid(1)]
    first, last = (f"00000000-0000-7000-8001-0000{mark * 8}" for mark in "be")
    for entry, count, said in ((first, 0, ""), (last, 5, "over")):
        bench.put("audit", id=entry, at=NOW + count, who="w", action="a", what="x", count=count, said=said)
    for entry in (first, uid(3)):
        bench.put("notes", name=f"audit.{entry}", value=f"how far {entry} is", until=None)
    [act, *others] = bench.ask("audits", before=None, limit=9).rows
    assert (str(act[0]), *act[5:]) == (first, 5, "over", NOW + 5, f"how far {first} is")
    assert [row[5:] for row in others] == [(1, "", None, f"how far {uid(3)} is"), *[(1, "", None, None)] * 2]
    for name, begun, seen in (("b", 1, NOW), ("a", 1, NOW), ("c", 0, NOW), ("old", 0, NOW - 10)):
        bench.put("workers", id=name, started_at=begun, seen_at=seen)
    assert bench.first("workers", alive=10, now=NOW) == ["c", "a", "b"]
    bench.put("queues", name="b", paused_at=NOW)
    bench.put("queues", name="a", paused_at=NOW)
    bench.put("queues", name="c", paused_at=None)
    assert bench.first("paused") == ["a", "b"]
    bench.put("notes", name="n", value="v", until=NOW + 1)
    bench.put("notes", name="over", value="v", until=NOW)
    bench.put("notes", name="ever", value="w", until=None)
    assert [bench.first("note", name=n, now=NOW) for n in ("n", "over", "ever")] == [["v"], [], ["w"]]
    bench.put("requests", job_id=uid(1), body=b"1", headers="{}")
    bench.put("requests", job_id=uid(2), body=b"2", headers="{}")
    assert [bytes(body) for body in bench.first("request", id=uid(2))] == [b"2"]
