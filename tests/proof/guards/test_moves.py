"""Statements that move jobs: each picks what it is told to, in its order and up to its limit, and leaves the rest alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenure.newjob import lane_of
from tenure.store.plan import Plan, Statement
from tests.proof.guards.workbench import NOW, Workbench, pack, uid

LANE = lane_of("q", "k", 0)


def claim(b: Workbench, lanes: dict[str, int], limit: int = 10, gaps: str = "[]", **more: int) -> list[int]:
    """The numbers of what a claim takes from these lanes, in its order."""
    terms = {"now": NOW, "lease": 10, "worker": "w", "started": True}
    if b.name == "sqlite":
        taken = [
            row
            for lane, quota in lanes.items()
            for row in b.ask("claim", lane=lane, queue=lane.partition("\x1f")[0], limit=quota, **terms).rows
        ]
        return [row[1] for row in taken]
    rows = [
        {"lane": x, "queue": x.partition("\x1f")[0], "run_at": -1, "seq": 0, "quota": n, **more}
        for x, n in lanes.items()
    ]
    return sorted(row[1] for row in b.ask("claim", lanes=pack(*rows), gaps=gaps, limit=limit, **terms).rows)


def test_a_claim_takes_the_first_ready_jobs_of_its_lanes(bench: Workbench) -> None:
    bench.job(1, run_at=NOW + 3)
    bench.job(2, run_at=NOW + 1)
    bench.job(3, run_at=NOW + 1)
    bench.job(4, "scheduled", run_at=NOW)
    bench.job(5, "running", run_at=NOW)
    bench.job(6, run_at=NOW, expires_at=NOW)
    bench.job(7, run_at=NOW, kind="other")
    assert claim(bench, {LANE: 1}) == [2]
    bench.sql("UPDATE tenure.jobs SET state = 'ready' WHERE seq = 2")
    assert sorted(claim(bench, {LANE: 2})) == [2, 3]
    bench.sql("UPDATE tenure.jobs SET state = 'ready' WHERE seq IN (2, 3)")
    assert sorted(claim(bench, {LANE: 10})) == [1, 2, 3]
    bench.job(8, expires_at=NOW + 1)
    assert 8 in claim(bench, {LANE: 10})


def test_a_claim_passes_over_paused_queues_alone(bench: Workbench) -> None:
    bench.put("queues", name="q", paused_at=None)
    bench.put("queues", name="held", paused_at=NOW)
    bench.job(1)
    bench.job(2, queue="held")
    held = lane_of("held", "k", 0)
    assert claim(bench, {held: 5, LANE: 5}) == [1]
    bench.sql("UPDATE tenure.jobs SET state = 'ready'")
    look = {
        "lanes": pack(
            *({"lane": x, "queue": x.partition("\x1f")[0], "run_at": -1, "seq": 0} for x in (held, LANE))
        )
    }
    assert bench.ask("look", limit=5, now=NOW, **look).rows == [(LANE, 1)]


def test_a_look_tells_what_a_claim_would_take_from_each_lane(bench: Workbench) -> None:
    high, low = lane_of("q", "k", -5), lane_of("q", "k", 5)
    bench.job(1, rank=5, run_at=NOW - 9)
    bench.job(2, rank=-5, run_at=NOW)
    bench.job(3, run_at=NOW + 2)
    bench.job(4, run_at=NOW + 1)
    bench.job(5, "scheduled", rank=-5)
    bench.job(6, rank=-5, expires_at=NOW)
    bench.job(7, rank=-5, kind="other")
    lanes = pack(*({"lane": x, "queue": "q", "run_at": -1, "seq": 0} for x in (low, LANE, high)))

    def look(limit: int) -> dict[str, int]:
        return dict(bench.ask("look", lanes=lanes, limit=limit, now=NOW).rows)

    assert [look(n) for n in (1, 2, 3, 9)] == [
        {high: 1}, {high: 1, LANE: 1}, {high: 1, LANE: 2}, {high: 1, LANE: 2, low: 1},
    ]  # fmt: skip


def test_a_look_goes_by_time_then_arrival_between_lanes_of_one_rank(bench: Workbench) -> None:
    a, b = lane_of("q", "a", 0), lane_of("q", "b", 0)
    bench.job(1, kind="a", run_at=NOW + 2)
    bench.job(2, kind="b", run_at=NOW + 1)
    bench.job(3, kind="b", run_at=NOW + 3)
    bench.job(4, kind="a", run_at=NOW + 3)
    bench.job(5, kind="a", run_at=NOW + 3)
    lanes = pack(*({"lane": x, "queue": "q", "run_at": -1, "seq": 0} for x in (a, b)))

    def look(limit: int) -> dict[str, int]:
        return dict(bench.ask("look", lanes=lanes, limit=limit, now=NOW).rows)

    assert [look(n) for n in (1, 2, 3, 4)] == [{b: 1}, {a: 1, b: 1}, {a: 1, b: 2}, {a: 2, b: 2}]


def test_a_look_cuts_a_lane_by_arrival_and_starts_at_its_mark(bench: Workbench) -> None:
    a, b = lane_of("q", "a", 0), lane_of("q", "b", 0)
    bench.job(1, kind="a")
    bench.job(9, kind="a")
    bench.job(5, kind="b")

    def look(limit: int, **mark: int) -> dict[str, int]:
        lanes = pack(*({"lane": x, "queue": "q", "run_at": -1, "seq": 0, **mark} for x in (a, b)))
        return dict(bench.ask("look", lanes=lanes, limit=limit, now=NOW).rows)

    assert look(1) == {a: 1}
    if bench.store.dialect.can.marks:
        assert look(9, run_at=NOW, seq=5) == {a: 1, b: 1}


def test_lanes_are_found_in_the_gaps_alone(bench: Workbench) -> None:
    names = [lane_of("q", kind, 0) for kind in "abcde"]
    for n, kind in enumerate("abcde", 1):
        bench.job(n, kind=kind)
    bench.job(6, "scheduled", kind="bb")
    bench.job(7, "scheduled", kind="aa")
    gaps = pack({"low": names[0], "high": names[2]}, {"low": names[2], "high": names[4]})
    assert bench.first("lanes", gaps=gaps) in ([names[1], names[3]], [names[3], names[1]])
    assert bench.first("gaps", gaps=gaps) == [1]
    assert bench.first("gaps", gaps=pack({"low": names[0], "high": names[1]})) == []
    assert bench.first("gaps", gaps=pack({"low": names[4], "high": names[4] + "~"})) == []
    assert bench.first("gaps", gaps=pack({"low": names[1], "high": names[2]})) == []
    wide = pack({"low": "", "high": "~"})
    assert sorted(bench.first("lanes", gaps=wide)) == names
    assert bench.first("lanes", gaps=pack({"low": names[0], "high": names[1]})) == []


def test_no_more_than_a_thousand_lanes_are_told_at_once(bench: Workbench) -> None:
    bench.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1005) "
        "INSERT INTO tenure.jobs (id, seq, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, state) "
        f"SELECT {_id_of_n(bench)}, i, 'lane' || i, 'q', 'k', 0, '{{}}', 1, 0, 0, 'ready' FROM n"
    )
    assert len(bench.first("lanes", gaps=pack({"low": "", "high": "~"}))) == 1_000
    assert (
        len(
            {
                row[1]
                for row in bench.ask("pulse", cap=5, most=10**9, margin=0, now=NOW).rows
                if row[0] == "ready"
            }
        )
        <= 1_000
    )


def _id_of_n(b: Workbench) -> str:
    return "printf('%08d', i)" if b.name == "sqlite" else "gen_random_uuid()"


@pytest.mark.parametrize("key", ["rank", "run_at", "seq"])
@pytest.mark.parametrize(("limits", "ready"), [((1, 3, 3), [1]), ((2, 1, 1), [1, 2])])
def test_a_group_lets_its_first_in(
    bench: Workbench, key: str, limits: tuple[int, ...], ready: list[int]
) -> None:
    """The head's limit counts, and the head is told by rank, then time, then arrival."""
    order = {"rank": [-1, 0, 1], "run_at": [NOW, NOW + 1, NOW + 2], "seq": [11, 12, 13]}[key]
    # The number says who is first; how they arrived says the contrary, unless it is what counts.
    for n, value in enumerate(order, 1):
        given = {"seq": 20 - n, key: value}
        bench.job(n, "waiting", group_key="g", group_limit=limits[n - 1], **given)
    bench.job(7, "waiting", group_key="other", group_limit=1, rank=-9, seq=1)
    bench.job(8, "scheduled", group_key="g", group_limit=1, rank=-9, seq=2)
    bench.job(9, "waiting", group_key="apart", group_limit=9, rank=-8, seq=3)
    bench.job(10, "running", group_key="other", group_limit=1, held=True, seq=4)
    bench.ask("admit", groups=pack({"group_key": "g"}))
    found = bench.sql("SELECT id FROM tenure.jobs WHERE state = 'ready' ORDER BY id")
    assert [i for (i,) in found] == [uid(n) for n in ready]
    assert bench.sql("SELECT count(*) FROM tenure.jobs WHERE held IS NOT NULL") == [(1 + len(ready),)]


def test_a_group_whose_slots_are_held_lets_nobody_in(bench: Workbench) -> None:
    bench.job(1, "running", group_key="g", group_limit=2, held=True)
    bench.job(2, "waiting", group_key="g", group_limit=2)
    bench.job(3, "waiting", group_key="g", group_limit=2)
    bench.job(4, "waiting", group_key="h", group_limit=1)
    bench.job(5, "running", group_key="h", group_limit=1, held=True)
    bench.ask("admit", groups=pack({"group_key": "g"}, {"group_key": "h"}))
    assert bench.states() == {1: "running", 2: "ready", 3: "waiting", 4: "waiting", 5: "running"}


def new(n: int, **given: object) -> dict[str, object]:
    """A row for enqueue."""
    names = "run_at delay expires_at expires_in unique_hash group_key group_limit parent flow tenant extra".split()  # noqa: SIM905
    row = {
        "id": uid(n),
        "lane": LANE,
        "queue": "q",
        "kind": "k",
        "rank": 0,
        "payload": "{}",
        "max_attempts": 1,
        "lead": False,
    }
    return {**row, **dict.fromkeys(names), **given}


def test_a_lead_is_ready_at_once_where_its_group_is_empty(bench: Workbench) -> None:
    for n, (state, group, held) in enumerate(
        [("running", "held", True), ("running", "held", True), ("waiting", "waits", None), ("waiting", "waits", None), ("scheduled", "later", None)], 1
    ):  # fmt: skip
        bench.job(n, state, group_key=group, held=held)
    for n, (group, lead) in enumerate(
        [("held", True), ("waits", True), ("new", False), ("new", True), ("later", True)], 6
    ):
        bench.ask("enqueue", rows=[new(n, group_key=group, group_limit=1, lead=lead)], now=NOW)
        if (group, lead) == ("new", False):
            assert bench.sql("SELECT state, held FROM tenure.jobs WHERE id = ?", uid(n)) == [
                ("waiting", None)
            ]
            bench.sql("DELETE FROM tenure.jobs WHERE id = ?", uid(n))
    kept = bench.sql("SELECT id, state, held IS NOT NULL FROM tenure.jobs WHERE id > ? ORDER BY id", uid(5))
    waiting, ready = ("waiting", False), ("ready", True)
    assert [(s, bool(h)) for _, s, h in kept] == [waiting, waiting, ready, ready]


def test_a_taken_id_or_slot_is_left_out(bench: Workbench) -> None:
    bench.job(1, unique_hash=uid(90))
    stored = bench.ask("enqueue", rows=[new(1), new(2, unique_hash=uid(90)), new(3)], now=NOW)
    assert stored.changed == 1
    assert set(bench.states()) >= {1}
    assert len(bench.states()) == 2


def test_due_jobs_are_promoted_the_earliest_first(bench: Workbench) -> None:
    bench.job(1, "scheduled", run_at=NOW)
    bench.job(2, "scheduled", run_at=NOW - 10)
    bench.job(3, "scheduled", run_at=NOW + 1)
    bench.job(4, "scheduled", run_at=NOW - 50)
    bench.job(5, "scheduled", run_at=NOW - 3, expires_at=NOW)
    bench.job(6, "running", run_at=NOW - 3)
    assert len(bench.ask("promote", limit=1, after=NOW - 10, now=NOW).rows) == 1
    assert bench.states()[2] == "ready"
    assert len(bench.ask("promote", limit=9, after=NOW - 10, now=NOW).rows) == 1
    assert bench.states() == {
        1: "ready",
        2: "ready",
        3: "scheduled",
        4: "scheduled",
        5: "scheduled",
        6: "running",
    }


def test_a_group_decides_about_due_jobs_that_hold_no_slot(bench: Workbench) -> None:
    bench.job(1, "scheduled", group_key="waits")
    bench.job(2, "scheduled", group_key="holds", held=True)
    bench.job(3, "scheduled")
    told = bench.first("promote", limit=9, after=0, now=NOW)
    assert sorted(told, key=str) == [None, None, "waits"]
    assert bench.states() == {1: "waiting", 2: "ready", 3: "ready"}


def test_whether_a_claim_has_started_stays_in_doubt_until_it_is_told(bench: Workbench) -> None:
    doubts = {1: None, 2: 1, 3: 2}

    def claimed(*, started: bool, sure: list[int]) -> dict[int, int | None]:
        """All are claimed; what the claim told, and what is stored, is the same."""
        bench.sql("DELETE FROM tenure.jobs")
        for n, doubt in doubts.items():
            bench.job(n, doubt=doubt)
        told = {row[1]: row[-1] for row in bench.store.run(lambda _: taken(bench, started=started))}
        assert told == dict(bench.sql("SELECT seq, doubt FROM tenure.jobs"))
        claims = pack(*(fence(n, 1) for n in doubts))
        known = json.dumps([uid(n) for n in sure])
        assert len(bench.ask("renew", claims=claims, lease=5, started=known, now=NOW).rows) == 3
        return dict(sorted(bench.sql("SELECT seq, doubt FROM tenure.jobs")))

    assert claimed(started=True, sure=[]) == {1: None, 2: None, 3: None}
    assert claimed(started=False, sure=[]) == {1: 1, 2: 1, 3: 2}
    assert claimed(started=False, sure=[2, 3]) == {1: 1, 2: None, 3: None}


def taken(b: Workbench, *, started: bool) -> Plan[list[Any]]:
    """What a claim of three jobs answers, each way of taking them used where there are two."""
    terms = {"now": NOW, "lease": 10, "worker": "w", "started": started}
    if b.name == "postgres":
        lanes = pack({"lane": LANE, "queue": "q", "run_at": -1, "seq": 0, "quota": 9})
        return list((yield Statement("claim", {**terms, "lanes": lanes, "gaps": "[]", "limit": 9})).rows)
    found = (yield Statement("claim", {**terms, "lane": LANE, "queue": "q", "limit": 9})).rows
    yield Statement("claim_take", {**terms, "seqs": "[1, 3]"})
    yield Statement("claim_take_run", {**terms, "low": 2, "high": 2})
    return list(found)


def test_overdue_leases_come_the_oldest_first(bench: Workbench) -> None:
    bench.put("workers", id="lives", started_at=0, seen_at=NOW - 1)
    bench.put("workers", id="gone", started_at=0, seen_at=NOW - 50)
    bench.job(1, "running", lease_until=NOW - 1, worker="lives")
    bench.job(2, "running", lease_until=NOW - 2, worker="gone")
    bench.job(3, "running", lease_until=NOW + 1, worker="lives")
    bench.job(4, "running", lease_until=NOW - 50, worker="nobody")

    def overdue(limit: int, **more: int) -> list[tuple[int, bool]]:
        params = {"after": NOW - 10, "grace": 0, "alive": 50, "now": NOW, **more}
        return [(row[1], bool(row[-1])) for row in bench.ask("overdue", limit=limit, **params).rows]

    assert overdue(1) == [(2, False)]
    assert overdue(9) == [(2, False), (1, True)]
    assert overdue(9, grace=2) == [(2, False)]
    assert overdue(9, after=NOW - 2) == [(2, False), (1, True)]
    assert overdue(9, after=0)[0][0] == 4


def test_a_worker_s_jobs_come_the_oldest_lease_first(bench: Workbench) -> None:
    bench.job(1, "running", lease_until=NOW + 2, worker="w")
    bench.job(2, "running", lease_until=NOW + 1, worker="w")
    bench.job(3, "running", lease_until=NOW, worker="other")
    bench.job(4, worker="w")
    assert [row[1] for row in bench.ask("of_worker", worker="w", limit=1, now=NOW).rows] == [2]
    assert [row[1] for row in bench.ask("of_worker", worker="w", limit=9, now=NOW).rows] == [2, 1]


def test_expired_jobs_come_the_earliest_first(bench: Workbench) -> None:
    bench.job(1, expires_at=NOW)
    bench.job(2, "scheduled", expires_at=NOW - 1)
    bench.job(3, expires_at=NOW + 1)
    bench.job(4, "running", expires_at=NOW - 5)
    bench.job(5, "done", expires_at=NOW - 5)
    bench.job(6)
    assert [row[1] for row in bench.ask("expired", limit=1, now=NOW).rows] == [2]
    assert [row[1] for row in bench.ask("expired", limit=9, now=NOW).rows] == [2, 1]


@pytest.mark.parametrize("what", ["due", "overdue", "expired"])
def test_a_claimer_is_told_what_is_to_be_done_and_only_that(bench: Workbench, what: str) -> None:
    def tend(after: int = 0) -> dict[str, bool]:
        [(_, *told)] = bench.ask("tend", now=NOW, after=after).rows
        return dict(zip(["due", "overdue", "expired", "woken"], map(bool, told), strict=True))

    bench.job(1, "scheduled", run_at=NOW + 1)
    bench.job(2, "running", run_at=NOW - 1, lease_until=NOW + 1, expires_at=NOW - 1)
    bench.job(3, expires_at=NOW + 1)
    bench.job(4, "done", run_at=NOW - 1, expires_at=NOW - 1)
    nothing = dict.fromkeys(["due", "overdue", "expired", "woken"], False)
    assert tend() == nothing
    match what:
        case "due":
            bench.job(5, "scheduled", run_at=NOW)
        case "overdue":
            bench.job(5, "running", run_at=NOW, lease_until=NOW)
        case _:
            bench.job(5, expires_at=NOW, run_at=NOW)
    assert tend() == {**nothing, what: True}
    assert tend(after=NOW) == {**nothing, what: True}
    assert tend(after=NOW + 1) == {**nothing, "expired": what == "expired"}


def fence(n: int, epoch: int, seq: int | None = None) -> dict[str, object]:
    return {"id": uid(n), "seq": seq or n, "epoch": epoch}


@pytest.mark.parametrize("statement", ["hold", "held_claims", "renew"])
def test_a_claim_stands_by_its_id_and_epoch_while_it_runs(bench: Workbench, statement: str) -> None:
    """Another job under the same seq (one that was purged, its seq given again), another epoch, another state: all are lost."""
    asked: dict[str, dict[str, Any]] = {
        "hold": {"now": NOW},
        "held_claims": {},
        "renew": {"lease": 5, "started": "[]", "now": NOW},
    }
    more = asked[statement]
    bench.job(1, "running", epoch=3, lease_until=NOW)
    bench.job(2, "running", epoch=3, lease_until=NOW)
    bench.job(3, epoch=3)
    bench.job(4, "running", epoch=4, lease_until=NOW)
    bench.job(5, "running", epoch=2, lease_until=NOW)
    wrong = [fence(9, 3, seq=1), fence(3, 3), fence(4, 3), fence(5, 3)]
    assert bench.first(statement, claims=pack(*wrong), **more) == []
    assert bench.first(statement, claims=pack(fence(2, 3), *wrong), **more) == [uid(2)]
    both = bench.first(statement, claims=pack(fence(2, 3), fence(1, 3), *wrong), **more)
    assert sorted(both) == [uid(1), uid(2)]
    if statement == "hold":
        assert both == [uid(1), uid(2)]
    if statement == "renew":
        leases = dict(bench.sql("SELECT seq, lease_until FROM tenure.jobs WHERE lease_until IS NOT NULL"))
        assert leases == {1: NOW + 5, 2: NOW + 5, 4: NOW, 5: NOW}


def test_progress_is_of_the_claim_alone(bench: Workbench) -> None:
    for n in (1, 2):
        bench.job(n, "running", epoch=3)
    bench.job(3, epoch=3)
    for n, epoch in ((1, 2), (1, 4), (3, 3), (9, 3)):
        assert bench.ask("progress", id=uid(n), epoch=epoch, progress=0.5, note=None).changed == 0
    assert bench.ask("progress", id=uid(1), epoch=3, progress=0.5, note="half").changed == 1
    assert bench.sql("SELECT seq FROM tenure.jobs WHERE progress IS NOT NULL") == [(1,)]


@pytest.mark.parametrize("result", [None, '"r"'])
def test_done_is_fenced_by_id_and_epoch(bench: Workbench, result: str | None) -> None:
    for n in (1, 2):
        bench.job(n, "running", epoch=3)
    bench.job(3, epoch=3)

    def settle(n: int, epoch: int, seq: int) -> int:
        columns = {"id": [uid(n)], "seq": [seq], "epoch": [epoch], "result": [result]}
        return bench.ask("settle_done", columns=columns, now=NOW).changed

    assert [settle(1, 2, 1), settle(1, 4, 1), settle(9, 3, 1), settle(3, 3, 3)] == [0, 0, 0, 0]
    assert bench.states() == {1: "running", 2: "running", 3: "ready"}
    assert settle(1, 3, 1) == 1
    assert bench.states() == {1: "done", 2: "running", 3: "ready"}


@pytest.mark.parametrize(("epochs", "done"), [((3, 3), [1]), ((4, 3), []), ((3, 4), [1, 2])])
def test_done_is_fenced_for_each_of_a_batch(
    bench: Workbench, epochs: tuple[int, int], done: list[int]
) -> None:
    bench.job(1, "running", epoch=3)
    bench.job(2, "running", epoch=4)
    columns = {"id": [uid(1), uid(2)], "seq": [1, 2], "epoch": list(epochs), "result": [None, None]}
    assert bench.ask("settle_done", columns=columns, now=NOW).changed == len(done)
    assert [n for n, state in sorted(bench.states().items()) if state == "done"] == done


def test_a_cancel_is_asked_of_one_running_job_once(bench: Workbench) -> None:
    bench.job(1, "running")
    bench.job(2, "running")
    bench.job(3)
    assert bench.ask("cancel_ask", id=uid(1), reason="a", now=NOW).changed == 1
    assert bench.ask("cancel_ask", id=uid(1), reason="b", now=NOW).changed == 0
    assert bench.ask("cancel_ask", id=uid(3), reason="c", now=NOW).changed == 0
    assert bench.sql("SELECT seq, reason FROM tenure.jobs WHERE cancel_at IS NOT NULL") == [(1, "a")]


def test_finish_and_requeue_touch_what_they_are_given(bench: Workbench) -> None:
    for n in (1, 2, 3):
        bench.job(n, "running", epoch=1)
    ends = {
        "id": uid(1),
        "seq": 1,
        "state": "dead",
        "finished_at": NOW,
        "outcome": "bury",
        "reason": "r",
        "error": "e",
    }
    given = pack({"epoch": None, "settled_epoch": 1, "attempt": 1, "crashes": 0, "result": None, **ends})
    bench.ask("finish", packed=given)
    assert bench.states() == {1: "dead", 2: "running", 3: "running"}
    back = {"id": uid(2), "seq": 2, "state": "ready", "epoch": 2, "attempt": 0, "crashes": 0, "run_at": NOW}
    empty = dict.fromkeys(["settled_epoch", "trace", "outcome", "error", "held", "started_at", "doubt"])
    bench.ask("requeue", packed=pack({**empty, **back}))
    assert bench.states() == {1: "dead", 2: "ready", 3: "running"}
    for said, trace in (("1:fail,", ",1:fail,"), (None, ",1:fail,"), ("2:release,", ",1:fail,2:release,")):
        bench.ask("requeue", packed=pack({**empty, **back, "trace": said}))
        assert bench.sql("SELECT trace FROM tenure.jobs WHERE seq = 2") == [(trace,)]
