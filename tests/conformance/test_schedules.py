"""schedules: stored once, fired once each time they are due, by whoever asks, by the store's clock."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from msgspec import structs

import tenure
from tests.support.claiming import at_once, claim_all, ids, job_of, payloads, settle_all
from tests.support.clock import MovedClock
from tests.support.places import Place

WORKERS = 8
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def only(queue: tenure.Queue) -> tenure.ScheduleSeen:
    """The one schedule there is."""
    [seen] = queue.schedules()
    return seen


def fire_all(queue: tenure.Queue) -> list[tenure.Fired]:
    """Fire until nothing is due that nobody else is firing."""
    done: list[tenure.Fired] = []
    while fired := queue.fire():
        done += fired
    return done


def moments(fired: list[tenure.Fired]) -> list[datetime]:
    return [fire.fire_at for fire in fired]


def made_by(queue: tenure.Queue, name: str) -> list[str]:
    """The last jobs that a schedule made, as it tells them."""
    return next(list(seen.made) for seen in queue.schedules() if seen.name == name)


def jobs(queue: tenure.Queue) -> int:
    """How many jobs there are, in whatever state."""
    return sum(sum(states.values()) for states in queue.counts().values())


# Storing


def test_a_schedule_tells_all_that_was_said_of_it(cq: tenure.Queue, clock: MovedClock) -> None:
    assert cq.schedule(
        "report", "30 2 * * *", "make_report", {"of": "day"}, tz="Europe/Berlin", missed=3, source="code",
        queue="slow", priority=5, max_attempts=2, unique="report", timeout="90s", tags=["a", "b"], meta={"by": "me"},
        expires_in="1.5s", tenant="acme",
    )  # fmt: skip
    assert only(cq) == tenure.ScheduleSeen(
        name="report", cron="30 2 * * *", tz="Europe/Berlin", missed=3, kind="make_report", payload_text='{"of":"day"}',
        options={
            "queue": "slow", "priority": 5, "max_attempts": 2, "unique": "report", "timeout": 90, "tags": ["a", "b"],
            "meta": {"by": "me"}, "expires_in": 1.5, "tenant": "acme",
        },
        source="code", created_at=clock.now, updated_at=clock.now, since=clock.now, fired_at=None, paused_at=None,
        next_at=datetime(2030, 1, 2, 1, 30, tzinfo=UTC), problem=None,
    )  # fmt: skip
    assert only(cq).payload == {"of": "day"}


def test_schedules_are_listed_by_name(cq: tenure.Queue) -> None:
    for name in ("b", "ä", "B", "a"):
        cq.schedule(name, "@daily", "k")
    assert [seen.name for seen in cq.schedules()] == ["B", "a", "b", "ä"]


def test_storing_a_schedule_again_changes_nothing(cq: tenure.Queue, clock: MovedClock) -> None:
    assert cq.schedule("s", "0 * * * *", "k", {"n": 1}, timeout="1m", tags=("t",)) is True
    before = only(cq)
    clock.advance("10m")
    assert cq.schedule("s", "0  * * * *", "k", {"n": 1}, timeout=60, tags=["t"]) is False
    assert only(cq) == before


@pytest.mark.parametrize(
    "change",
    [
        {"payload": 2}, {"kind": "other"}, {"missed": "skip"}, {"source": "code"}, {"priority": 1}, {"tags": ["t"]},
        {"expires_in": 0},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_another_spec_is_stored_and_keeps_what_was_fired(
    cq: tenure.Queue, clock: MovedClock, change: dict[str, Any]
) -> None:
    cq.schedule("s", "@hourly", "k")
    fire = clock.advance("1h")
    assert moments(cq.fire()) == [fire]
    clock.advance("10m")
    assert cq.schedule("s", "@hourly", **{"kind": "k", **change}) is True
    seen = only(cq)
    assert (seen.fired_at, seen.created_at, seen.updated_at) == (fire, clock.at("-70m"), clock.now)
    assert seen.next_at == clock.at("50m")


def test_a_changed_spec_is_what_the_next_fire_makes(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k", 1)
    clock.advance("61m")
    cq.schedule("s", "@hourly", "k", 2)
    assert len(cq.fire()) == 1
    assert payloads(claim_all(cq)) == [2]


@pytest.mark.parametrize(("cron", "tz"), [("*/10 * * * *", "UTC"), ("@hourly", "Asia/Kolkata")])
def test_a_changed_time_fires_nothing_of_the_past(
    cq: tenure.Queue, clock: MovedClock, cron: str, tz: str
) -> None:
    cq.schedule("s", "@hourly", "k", missed=100)
    clock.advance("5h5m")
    cq.schedule("s", cron, "k", tz=tz, missed=100)
    assert cq.fire() == []
    clock.advance("30m")
    fired = moments(cq.fire())
    assert fired
    assert min(fired) > clock.at("-30m")


def test_a_changed_time_keeps_the_pause(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k")
    cq.pause_schedule("s")
    cq.schedule("s", "@daily", "k")
    assert only(cq).paused_at == clock.now


def test_an_unscheduled_name_fires_no_more_and_its_jobs_stay(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k")
    clock.advance("1h")
    [fired] = cq.fire()
    assert [cq.unschedule("s"), cq.unschedule("s")] == [True, False]
    clock.advance("1h")
    assert cq.fire() == []
    assert cq.schedules() == []
    assert job_of(cq, fired.id).state == "ready"


# Firing


def test_a_fire_makes_the_job_that_was_described(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule(
        "s", "0 13 * * *", "k", {"x": [1, "ä"]}, queue="slow", priority=5, max_attempts=2, timeout="90s",
        tags=["a"], meta={"by": "me"}, expires_in="2h", tenant="acme",
    )  # fmt: skip
    clock.advance("1h30s")
    [fired] = cq.fire()
    assert (fired.name, fired.fire_at) == ("s", clock.at("-30s"))
    job = job_of(cq, fired.id)
    assert (job.kind, job.payload, job.queue, job.priority) == ("k", {"x": [1, "ä"]}, "slow", 5)
    assert (job.max_attempts, job.timeout, job.tags) == (2, timedelta(seconds=90), ("a",))
    assert (job.tenant, job.expires_at, job.run_at) == ("acme", clock.at("2h"), clock.now)
    assert job.meta == {"by": "me", "schedule": "s", "fire_at": "2030-01-01T13:00:00+00:00"}


def test_nothing_is_fired_before_its_time_or_twice(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k")
    clock.advance("59m")
    assert cq.fire() == []
    clock.advance("1m")
    assert moments(cq.fire()) == [clock.now]
    assert cq.fire() == []
    clock.advance("59m59s")
    assert cq.fire() == []
    assert jobs(cq) == 1


def test_a_new_schedule_fires_nothing_from_before_it_was_stored(cq: tenure.Queue) -> None:
    cq.schedule("s", "* * * * *", "k", missed=100)
    assert cq.fire() == []


@pytest.mark.parametrize(
    ("missed", "fired"), [("one", [5]), ("skip", []), (1, [5]), (3, [3, 4, 5]), (100, [1, 2, 3, 4, 5])]
)
def test_of_missed_fires_those_are_made_up_for_that_the_policy_names(
    cq: tenure.Queue, clock: MovedClock, missed: Any, fired: list[int]
) -> None:
    cq.schedule("s", "@hourly", "k", missed=missed)
    start = clock.now
    clock.advance("5h30m")
    assert moments(cq.fire()) == [start + timedelta(hours=n) for n in fired]
    assert cq.fire() == []
    clock.advance("30m")
    assert moments(cq.fire()) == [clock.now]


def test_a_limit_leaves_the_rest_for_the_next_call(cq: tenure.Queue, clock: MovedClock) -> None:
    for name in ("a", "b"):
        cq.schedule(name, "@hourly", "k", missed=5)
    start = clock.now
    clock.advance("5h")
    parts = [cq.fire(limit=4), cq.fire(limit=4), cq.fire(limit=4), cq.fire(limit=4)]
    assert [len(part) for part in parts] == [4, 4, 2, 0]
    expected = [(name, start + timedelta(hours=n)) for name in ("a", "b") for n in range(1, 6)]
    assert [(f.name, f.fire_at) for part in parts for f in part] == expected


def test_only_the_kinds_asked_for_are_fired(cq: tenure.Queue, clock: MovedClock) -> None:
    for kind in ("a", "b", "c"):
        cq.schedule(f"s-{kind}", "@hourly", kind)
    clock.advance("1h")
    assert [f.name for f in cq.fire(["b", "x"])] == ["s-b"]
    assert cq.fire([]) == []
    assert [f.name for f in cq.fire()] == ["s-a", "s-c"]


def test_a_fire_whose_unique_slot_is_taken_names_who_holds_it(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k", unique="one at a time")
    clock.advance("1h")
    [first] = cq.fire()
    clock.advance("1h")
    [second] = cq.fire()
    assert (second.id, second.fire_at) == (first.id, clock.now)
    assert jobs(cq) == 1
    settle_all(cq, cq.claim())
    clock.advance("1h")
    assert cq.fire()[0].id != first.id


def test_a_call_stores_one_unique_key_and_leaves_the_others_to_the_next(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    for name, unique in [("a", None), ("b", "1"), ("c", "2"), ("d", "1"), ("e", None)]:
        cq.schedule(name, "@hourly", "k", unique=unique)
    clock.advance("1h")
    assert [[f.name for f in cq.fire()] for _ in range(3)] == [["a", "b", "d", "e"], ["c"], []]
    assert jobs(cq) == 4


def test_a_job_that_was_deleted_is_not_fired_again(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k")
    clock.advance("1h")
    assert len(cq.fire()) == 1
    settle_all(cq, cq.claim())
    assert cq.purge(tenure.Filter(states=["done"])) == 1
    assert cq.fire() == []
    assert jobs(cq) == 0


@pytest.mark.parametrize("missed", ["one", "skip", 10])
def test_a_clock_that_is_set_back_fires_nothing_again(
    cq: tenure.Queue, clock: MovedClock, missed: Any
) -> None:
    cq.schedule("s", "@hourly", "k", missed=missed)
    clock.advance("3h")
    assert max(moments(cq.fire())) == clock.now
    clock.advance(timedelta(hours=-2))
    for _ in range(12):
        assert cq.fire() == []
        clock.advance("15m")
    assert moments(cq.fire()) == [clock.now]


def test_a_worker_whose_clock_runs_ahead_leaves_nothing_to_fire_twice(
    place: Place, clock: MovedClock
) -> None:
    behind, ahead = place.open(clock=clock), place.open(clock=MovedClock(clock.at("1h")))
    behind.schedule("s", "@hourly", "k")
    assert moments(ahead.fire()) == [clock.at("1h")]
    clock.advance("1h")
    assert behind.fire() == []


def test_a_zone_s_gap_is_fired_once(place: Place) -> None:
    clock = MovedClock(datetime(2026, 3, 28, 12, tzinfo=UTC))
    cq = place.open(clock=clock)
    cq.schedule("s", "30 2 * * *", "k", tz="Europe/Berlin", missed=100)
    done = []
    for _ in range(48):
        clock.advance("30m")
        done += moments(cq.fire())
    assert done == [datetime(2026, 3, 29, 1, tzinfo=UTC)]


def test_the_store_s_own_clock_decides_what_is_due(q: tenure.Queue, place: Place) -> None:
    q.schedule("s", "@yearly", "k", missed=3)
    assert q.fire() == []
    place.sql(f"UPDATE tenure.schedules SET since = {int(LONG_AGO.timestamp()) * 1_000_000}")
    fired = q.fire()
    assert [f.fire_at.month for f in fired] == [1, 1, 1]
    assert only(q).fired_at == fired[-1].fire_at


def test_a_fire_that_fails_half_way_is_not_lost(cq: tenure.Queue, clock: MovedClock, place: Place) -> None:
    cq.schedule("s", "@hourly", "k")
    fire = clock.advance("1h")
    place.sql("ALTER TABLE tenure.jobs RENAME COLUMN payload TO away")
    with pytest.raises(tenure.StoreError):
        cq.fire()
    place.sql("ALTER TABLE tenure.jobs RENAME COLUMN away TO payload")
    assert only(cq).fired_at is None
    assert moments(cq.fire()) == [fire]


# What was made


def test_a_schedule_tells_the_last_five_jobs_that_it_made_by_fires_and_by_hand(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.schedule("s", "@hourly", "k", missed=3)
    cq.schedule("other", "@yearly", "k")
    clock.advance("3h")
    made = [fired.id for fired in cq.fire()]
    assert made_by(cq, "s") == made[::-1]
    by_hand = [cq.run_schedule("s").id for _ in range(3)]
    assert made_by(cq, "s") == [*by_hand[::-1], *made[:0:-1]]
    clock.advance("1h")
    made = [fired.id for fired in cq.fire()]
    assert made_by(cq, "s")[:2] == [*made, by_hand[-1]]
    cq.schedule("s", "@daily", "another")
    assert len(made_by(cq, "s")) == 5
    assert made_by(cq, "other") == []


def test_a_job_that_was_there_already_pushes_none_out_of_the_last_that_a_schedule_made(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    made = []
    cq.schedule("s", "@hourly", "k", unique="s")
    for _ in range(5):
        clock.advance("1h")
        made += [fired.id for fired in cq.fire()]
        settle_all(cq, claim_all(cq))
    assert cq.enqueue("k", unique="s").inserted
    for _ in range(2):
        clock.advance("1h")
        assert len(cq.fire()) == 1
        assert not cq.run_schedule("s").inserted
    assert made_by(cq, "s") == made[::-1]


# Many at once


def test_workers_that_fire_at_once_make_each_job_once(place: Place, clock: MovedClock) -> None:
    queues = [place.open(clock=clock) for _ in range(WORKERS)]
    for n in range(20):
        queues[0].schedule(f"s{n}", "@hourly", "k", f"s{n}", missed=3)
    clock.advance("5h")
    fired = [fire for part in at_once([partial(fire_all, q) for q in queues]) for fire in part]
    fired += fire_all(queues[0])
    expected = {(f"s{n}", clock.at(f"-{h}h")) for n in range(20) for h in range(3)}
    assert Counter((f.name, f.fire_at) for f in fired) == dict.fromkeys(expected, 1)
    made = claim_all(queues[0], 100)
    assert sorted(ids(made)) == sorted(f.id for f in fired)
    assert Counter(payloads(made)) == {f"s{n}": 3 for n in range(20)}


def test_workers_fire_side_by_side_while_unique_jobs_are_enqueued(place: Place, clock: MovedClock) -> None:
    queues = [place.open(clock=clock) for _ in range(WORKERS)]
    names = [f"s{n}" for n in range(10)]
    for name in names:
        queues[0].schedule(name, "@hourly", "k", unique=name)
    clock.advance("1h")
    backwards = [tenure.NewJob(kind="k", unique=name) for name in reversed(names)]
    fires: list[Any] = [partial(fire_all, q) for q in queues[:4]]
    fired = at_once([*fires, *(partial(q.enqueue_many, backwards) for q in queues[4:])])[:4]
    fired.append(fire_all(queues[0]))
    assert sorted(f.name for part in fired for f in part) == names
    assert jobs(queues[0]) == len(names)


def test_schedules_with_a_key_are_fired_and_run_by_hand_at_once(place: Place, clock: MovedClock) -> None:
    queues = [place.open(clock=clock) for _ in range(WORKERS)]
    names = [f"s{n}" for n in range(10)]
    for name in names:
        queues[0].schedule(name, "@hourly", "k", unique=name)
    clock.advance("1h")

    def by_hand(queue: tenure.Queue) -> list[tenure.Enqueued]:
        return [queue.run_schedule(name) for name in reversed(names)]

    fires: list[Any] = [partial(fire_all, q) for q in queues[:4]]
    at_once([*fires, *(partial(by_hand, q) for q in queues[4:])])
    fire_all(queues[0])
    stored = {job.meta["schedule"]: job.id for job in queues[0].list()}
    assert {seen.name: list(seen.made) for seen in queues[0].schedules()} == {
        name: [stored[name]] for name in names
    }


# Pausing


def test_a_paused_schedule_fires_nothing_and_makes_nothing_up(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k", missed=100)
    clock.advance("30m")
    assert [cq.pause_schedule("s"), cq.pause_schedule("s")] == [True, False]
    clock.advance("5h")
    assert cq.fire() == []
    assert (only(cq).paused_at, only(cq).next_at) == (clock.at("-5h"), None)
    assert [cq.resume_schedule("s"), cq.resume_schedule("s")] == [True, False]
    assert cq.fire() == []
    assert only(cq).next_at == clock.at("30m")
    clock.advance("30m")
    assert moments(cq.fire()) == [clock.now]


def test_what_was_due_before_the_pause_is_not_made_up_for_either(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k")
    clock.advance("61m")
    cq.pause_schedule("s")
    cq.resume_schedule("s")
    assert cq.fire() == []


def test_pausing_what_is_not_there_says_so(cq: tenure.Queue) -> None:
    assert cq.pause_schedule("nobody") is False
    assert cq.resume_schedule("nobody") is False


# Running now


def test_a_schedule_run_now_makes_a_job_like_a_fire_s_and_fires_when_it_would_have(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.schedule("s", "@hourly", "k", {"n": 1}, queue="slow", meta={"by": "me"})
    cq.pause_schedule("s")
    clock.advance("10m")
    before = only(cq)
    answer = cq.run_schedule("s")
    job = job_of(cq, answer.id)
    assert answer.inserted
    assert (job.kind, job.payload, job.queue) == ("k", {"n": 1}, "slow")
    assert job.meta == {"by": "me", "schedule": "s", "fire_at": clock.now.isoformat()}
    assert only(cq) == structs.replace(before, made=(answer.id,))


def test_a_schedule_run_now_respects_its_unique_key(cq: tenure.Queue) -> None:
    cq.schedule("s", "@hourly", "k", unique="one")
    first, second = cq.run_schedule("s"), cq.run_schedule("s")
    assert (second.id, second.inserted) == (first.id, False)


def test_running_an_unknown_name_tells_the_nearest(cq: tenure.Queue) -> None:
    with pytest.raises(tenure.FieldError, match="no schedule is stored"):
        cq.run_schedule("report")
    for name in ("reports", "clean", "report-2"):
        cq.schedule(name, "@daily", "k")
    with pytest.raises(tenure.FieldError, match='the nearest are "reports", "report-2"') as caught:
        cq.run_schedule("report")
    assert (caught.value.field, caught.value.value) == ("name", "report")
    assert jobs(cq) == 0


# When is the next?


def test_the_next_fire_is_the_earliest_of_all_that_are_not_paused(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    assert cq.next_fire() is None
    cq.schedule("day", "@daily", "a")
    cq.schedule("hour", "@hourly", "b")
    cq.schedule("minute", "* * * * *", "c")
    assert cq.next_fire() == 60.0
    assert cq.next_fire(["a", "b"]) == 3_600.0
    assert cq.next_fire(["x"]) is None
    cq.pause_schedule("minute")
    assert cq.next_fire() == 3_600.0
    clock.advance("45m")
    assert cq.next_fire() == 900.0


def test_what_is_due_already_is_the_next_fire_until_it_is_fired(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k")
    clock.advance("90m")
    assert (cq.next_fire(), only(cq).next_at) == (0.0, clock.at("-30m"))
    cq.fire()
    assert (cq.next_fire(), only(cq).next_at) == (1_800.0, clock.at("30m"))


def test_a_fire_that_is_skipped_is_not_waited_for(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.schedule("s", "@hourly", "k", missed="skip")
    clock.advance("90m")
    assert cq.fire() == []
    assert cq.next_fire() == 1_800.0


# What cannot be


@pytest.mark.parametrize(
    "column",
    [
        "cron = 'soon'",
        "tz = 'Mars/Olympus'",
        "missed = 'maybe'",
        "payload = '{'",
        "options = '{'",
        "options = '[]'",
        "options = '{\"colour\": 1}'",
        'options = \'{"priority": "high"}\'',
    ],
    ids=lambda column: column.partition(" ")[0] + str(len(column)),
)
def test_a_schedule_that_is_not_understood_is_reported_and_stops_no_other(
    cq: tenure.Queue, clock: MovedClock, place: Place, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    # A name of its own for each test: a problem is reported once.
    broken = f"broken-{uuid4().hex}"
    for name in ("a", broken, "z"):
        cq.schedule(name, "@hourly", "k")
    place.sql(f"UPDATE tenure.schedules SET {column} WHERE name = '{broken}'")
    clock.advance("1h")
    with caplog.at_level(logging.ERROR, "tenure"):
        assert [f.name for f in cq.fire()] == ["a", "z"]
        assert cq.fire() == []
    assert [broken in record.getMessage() for record in caplog.records if record.name == "tenure"] == [True]
    assert [(seen.name, seen.problem is None) for seen in cq.schedules()] == [
        ("a", True),
        (broken, False),
        ("z", True),
    ]
    assert cq.next_fire() == 3_600.0
    cq.schedule(broken, "@hourly", "k")
    assert [seen.problem for seen in cq.schedules()] == [None] * 3


def test_running_what_is_not_understood_is_a_field_error(cq: tenure.Queue, place: Place) -> None:
    cq.schedule("s", "@hourly", "k")
    place.sql("UPDATE tenure.schedules SET payload = '{'")
    with pytest.raises(tenure.FieldError, match="whose job can be made"):
        cq.run_schedule("s")


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("name", ""), ("name", 3), ("cron", "soon"), ("cron", 5), ("tz", "Europe/Berln"), ("tz", None),
        ("missed", "all"), ("missed", 0), ("missed", True), ("source", "git"), ("source", []), ("kind", ""), ("kind", None),
        ("payload", {1: 2}), ("queue", None), ("queue", ""), ("priority", "high"), ("priority", False), ("max_attempts", 0),
        ("max_attempts", 5.0), ("unique", ""), ("timeout", 0), ("timeout", "long"), ("tags", "one"), ("meta", {"a": 1}),
        ("meta", ["a"]), ("meta", {"schedule": "x"}), ("meta", {"fire_at": "x"}), ("expires_in", -1), ("tenant", ""),
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_schedule_is_refused_and_nothing_is_stored(q: tenure.Queue, field: str, bad: Any) -> None:
    good: dict[str, Any] = {"name": "s", "cron": "@daily", "kind": "k"}
    with pytest.raises(tenure.FieldError) as caught:
        q.schedule(**{**good, field: bad})
    assert caught.value.field.startswith(field)
    assert q.schedules() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda q: q.fire("k"), lambda q: q.fire(limit=0), lambda q: q.fire([3]), lambda q: q.next_fire("k"),
        lambda q: q.unschedule(""), lambda q: q.pause_schedule(None), lambda q: q.resume_schedule(" "),
        lambda q: q.run_schedule(7),
    ],
    ids=["kinds", "limit", "kind", "next-kinds", "unschedule", "pause", "resume", "run"],
)  # fmt: skip
def test_bad_arguments_are_field_errors(q: tenure.Queue, call: Any) -> None:
    with pytest.raises(tenure.FieldError):
        call(q)
