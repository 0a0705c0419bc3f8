"""The janitor of a worker: jobs fall due and are taken back, old ones go, and a chore that fails harms nobody."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

import tenure
from tenure.events import ChoreDone, ChoreFailed, WorkerStarted
from tenure.janitor.janitor import Chore, Janitor
from tenure.store.within import time_left
from tests.support.clock import MovedClock
from tests.worker.house import Heard, House, until


def test_it_promotes_reclaims_and_retains_once_before_new_work(house: House) -> None:
    clock = house.stand_still(
        retain={
            "done": "1h",
            "cancelled": "1h",
            "dead": "1h",
            "mail": {"done": "3h", "cancelled": "3h", "dead": 0},
        }
    )
    queue, found = house.queue, list[dict[str, Any]]()

    @house.app.job
    async def mine() -> None: ...

    ids = {
        "old done": _ended(house, "default", tenure.Done()),
        "old dead": _ended(house, "default", tenure.Bury()),
        "old cancelled": _ended(house, "default", tenure.Cancelled()),
        "old mail": _ended(house, "mail", tenure.Done()),
        "cancelled mail": _ended(house, "mail", tenure.Cancelled()),
        "dead mail": _ended(house, "mail", tenure.Bury()),
        "due": queue.enqueue("theirs", delay="1h").id,
        "left": queue.enqueue("others").id,
    }
    [claim] = queue.claim(kinds=["others"], lease="30s")
    clock.advance("2h")
    ids["fresh done"] = _ended(house, "default", tenure.Done())

    def look(_: WorkerStarted) -> None:
        found.append({name: (j := queue.get(i)) and j.state.value for name, i in ids.items()})

    house.app.listen(look, WorkerStarted)
    house.start()
    until(lambda: found)
    assert found == [
        {
            "old done": None,
            "old dead": None,
            "old cancelled": None,
            "old mail": "done",
            "cancelled mail": "cancelled",
            "dead mail": "dead",
            "due": "ready",
            "left": "ready",
            "fresh done": "done",
        }
    ]
    assert claim.id == ids["left"]
    assert queue.get(ids["left"]).crashes == 1  # type: ignore[union-attr]


def test_once_is_every_chore_to_its_end_however_many_ticks_that_takes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.janitor.janitor._BEGINNING", 0.0)  # a tick is over after its first piece
    monkeypatch.setattr("tenure.janitor.janitor._BATCH", 10)
    clock = house.stand_still(retain={"done": "1h"})
    old = [_ended(house, "default", tenure.Done()) for _ in range(25)]
    due = [house.queue.enqueue("due", delay="1h").id for _ in range(25)]
    clock.advance("2h")
    janitor = _janitor(house)
    for chore in janitor.chores:
        chore.full = min(chore.full, 10)
    janitor.once()
    assert [house.queue.get(job) for job in old] == [None] * 25
    assert {job.state.value for job in map(house.queue.get, due) if job} == {"ready"}


def test_what_the_code_names_is_stored_when_a_worker_starts_and_not_again(house: House) -> None:
    """Else what somebody removed would come back within the hour, and two versions of the code would undo each other."""

    @house.app.cron("0 3 * * *")
    @house.app.job
    async def nightly() -> None: ...

    janitor = Janitor(
        house.queue, house.app.janitor, listeners=house.app.listeners, worker="w", kinds=house.app.kinds,
        crons=house.app.crons,
    )  # fmt: skip
    janitor.once()
    [schedule] = house.app.schedules.list()
    assert house.app.schedules.remove(schedule.name)
    [storing] = [chore for chore in janitor.chores if chore.name == "schedule"]
    assert storing.due == math.inf
    janitor.tick()
    assert house.app.schedules.list() == []


def _ended(house: House, queue: str, outcome: tenure.Outcome) -> str:
    made = house.queue.enqueue("ended", queue=queue)
    [claim] = house.queue.claim(kinds=["ended"], queues=[queue])
    assert house.queue.settle(claim, outcome)
    return made.id


def test_it_puts_down_how_the_queues_stand_once_a_minute(house: House) -> None:
    clock, janitor = house.stand_still(), _janitor(house)
    house.queue.enqueue_many([tenure.NewJob(kind="theirs", queue="mail") for _ in range(2)])
    for _ in range(3):
        janitor.once()
        clock.advance("30s")
    found = house.queue.samples(clock() - timedelta(hours=1), clock() + timedelta(hours=1))
    assert [(s.queue, s.ready) for s in found] == [("", 2), ("mail", 2)] * 2


def test_a_chore_that_fails_harms_neither_the_others_nor_its_next_turn(house: House) -> None:
    heard, failures = (
        Heard(house.app, ChoreDone, ChoreFailed),
        iter([ZeroDivisionError("no"), OSError("no disk")]),
    )
    queue = house.queue

    @house.app.job
    async def mine() -> None: ...

    janitor = Janitor(
        queue, house.app.janitor, listeners=house.app.listeners, worker="w", kinds=house.app.kinds
    )
    promote = next(c for c in janitor.chores if c.name == "promote")
    work = promote.work

    def sometimes() -> int:
        for failure in failures:
            raise failure
        return work()

    promote.work, promote.every = sometimes, 0.01
    queue.enqueue("others")
    queue.claim(kinds=["others"], lease="1ms")
    queue.enqueue("theirs", delay="1ms")
    until(lambda: (queue.next_due() or 0.0) <= 0.0)
    janitor.start()
    try:
        until(lambda: {e.chore for e in heard.of(ChoreDone)} >= {"promote", "reclaim"})
    finally:
        janitor.stop()
        assert janitor.join(30)
    assert [(e.chore, e.error) for e in heard.of(ChoreFailed)] == [("promote", "no"), ("promote", "no disk")]


def test_a_chore_that_has_much_to_do_goes_on_until_nothing_is_left(house: House) -> None:
    clock = house.stand_still(retain={"done": "1h"})

    @house.app.job
    async def mine() -> None: ...

    house.queue.enqueue_many([tenure.NewJob(kind="ended") for _ in range(2_300)])
    while claims := house.queue.claim(1_000, kinds=["ended"]):
        house.queue.settle_many([(c, tenure.Done()) for c in claims])
    clock.advance("2h")
    heard = Heard(house.app, ChoreDone)
    working = house.start()
    until(lambda: heard.events)
    working.stop()
    assert [(e.chore, e.moved) for e in heard.events] == [("retain", 2_300)]
    assert house.queue.counts() == {}


def test_a_tick_ends_with_the_batch_in_which_its_time_is_up_and_the_next_goes_on(house: House) -> None:
    clock = house.stand_still(retain={"done": "1h"})

    @house.app.job
    async def mine() -> None: ...

    house.queue.enqueue_many([tenure.NewJob(kind="ended") for _ in range(2_300)])
    while claims := house.queue.claim(1_000, kinds=["ended"]):
        assert all(house.queue.settle_many([(c, tenure.Done()) for c in claims]))
    assert house.queue.counts()["default"]["done"] == 2_300
    clock.advance("2h")
    heard, janitor = Heard(house.app, ChoreDone, ChoreFailed), _janitor(house, limit=timedelta(0))
    janitor.chores = [chore for chore in janitor.chores if chore.name == "retain"]
    left, rests = list[int](), list[float]()
    for _ in range(3):
        rests.append(janitor.tick())
        left.append(len(house.queue.list(limit=10_000)))
    moved = [ChoreDone("w", "retain", count, 0.0) for count in (1_000, 1_000, 300)]
    assert [structs.replace(e, seconds=0.0) if isinstance(e, ChoreDone) else e for e in heard.events] == moved
    assert left == [1_300, 300, 0]
    assert rests[:2] == pytest.approx([0.01, 0.01])


def test_a_tick_has_thirty_seconds_unless_it_is_told_otherwise(house: House) -> None:
    janitor, left = _janitor(house), list[float | None]()

    def look() -> int:
        left.append(time_left())
        return 0

    janitor.chores = [Chore("look", 3_600.0, look)]
    janitor.tick()
    assert left == pytest.approx([30.0], abs=3.0)


def test_a_chore_that_never_ends_keeps_no_other_waiting(house: House) -> None:
    clock = house.stand_still(retain={"done": "1h"})

    @house.app.job
    async def mine() -> None: ...

    house.app.schedules.add("hourly", "@hourly", mine.call())
    _ended(house, "default", tenure.Done())
    due = house.queue.enqueue("theirs", delay="1h").id
    clock.advance("2h")
    janitor = _janitor(house, limit=timedelta(hours=1))
    janitor.chores.insert(0, Chore("never", 0.0, lambda: 1_000))
    janitor.start()
    try:
        until(lambda: {job.kind for job in house.queue.list()} == {"mine", "theirs"})
        until(lambda: house.queue.get(due).state == "ready")  # type: ignore[union-attr]
    finally:
        janitor.stop()
        assert janitor.join(30)


@pytest.mark.parametrize("year", [1999, 2099])
def test_it_rests_until_the_next_fire_by_the_store_s_clock_whatever_the_machine_s_says(
    house: House, year: int
) -> None:
    house.app = tenure.App(house.url, clock=MovedClock(datetime(year, 1, 1, 12, tzinfo=UTC)))

    @house.app.job
    async def mine() -> None: ...

    janitor = _janitor(house)
    house.app.schedules.add("later", "0 3 * * *", mine.call())
    assert _rest(janitor) == 5.0
    house.app.schedules.add("soon", "*/2 * * * * *", mine.call())
    assert _rest(janitor) == 2.0


@pytest.mark.parametrize("house", ["postgres"], indirect=True)
def test_what_is_due_and_in_somebody_s_hands_is_looked_at_ever_less_often(house: House) -> None:
    clock = house.stand_still()

    @house.app.job
    async def mine() -> None: ...

    janitor = _janitor(house)
    house.app.schedules.add("hourly", "@hourly", mine.call())
    with house.connection() as hands:
        hands.execute(f'SELECT 1 FROM "{house.url.rpartition("=")[2]}".schedules FOR UPDATE')
        clock.advance("1h")
        assert [_rest(janitor) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    until(lambda: _rest(janitor) == 5.0)
    [job] = house.queue.list()
    assert job.kind == "mine"


def _janitor(house: House, **settings: Any) -> Janitor:
    app = house.app
    told = replace(app.janitor, **settings)
    return Janitor(house.queue, told, listeners=app.listeners, worker="w", kinds=app.kinds)


def _rest(janitor: Janitor) -> float:
    """How long it rests before it looks at the schedules again, once it has; the other chores would take time."""
    fire = next(chore for chore in janitor.chores if chore.name == "fire")
    fire.work()
    return fire.every
