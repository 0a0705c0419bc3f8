"""Schedules in a worker's hands: stored when it starts, fired once whoever comes first, and kept when it stops."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import tenure
from tenure.events import Fired
from tests.support.clock import MovedClock
from tests.worker.house import Heard, House, until


def _names(house: House) -> list[str]:
    return [s.name for s in house.app.schedules.list()]


def _made(house: House, kind: str) -> int:
    return len(house.queue.list(tenure.Filter(kinds=[kind])))


def test_a_schedule_of_the_code_is_stored_and_fires_once_with_two_workers(house: House) -> None:
    clock = house.stand_still()
    heard = Heard(house.app, Fired)

    @house.app.cron("0 * * * *", args={"n": 5})
    @house.app.job(queue="reports")
    async def report(n: int) -> int:
        return n

    workers = [house.start(poll="50ms"), house.start(poll="50ms")]
    until(lambda: all(hasattr(w.worker, "_janitor") for w in workers))
    until(lambda: _names(house) == ["report"])
    clock.advance("1h")
    for working in workers:
        until(lambda w=working: w.worker._janitor._thread.is_alive())  # type: ignore[misc]
        working.chores()
    until(lambda: heard.events)
    [fired] = heard.events
    assert fired.schedule == "report"
    assert fired.fire_at == clock.now
    job = house.seen(_Id(fired.job_id), lambda j: j.state == "done")
    assert (job.queue, job.result) == ("reports", 5)
    for working in workers:
        working.stop()
    assert _made(house, "report") == 1


class _Id:
    def __init__(self, id: str) -> None:
        self.id = id


def test_a_paused_schedule_does_not_fire_a_resumed_one_does_and_any_can_be_run_now(house: House) -> None:
    clock = house.stand_still()

    @house.app.cron("0 * * * *")
    @house.app.job
    async def report() -> str:
        return "made"

    working = house.start(poll="50ms")
    until(lambda: _names(house) == ["report"])
    until(lambda: working.worker._janitor._thread.is_alive())  # type: ignore[union-attr]
    schedules = house.app.schedules
    assert schedules.pause("report")
    clock.advance("1h")
    _all_chores(house, working, clock)
    assert _made(house, "report") == 0
    assert schedules.run("report").result("30s") == "made"
    assert schedules.resume("report")
    clock.advance("1h")
    working.chores()
    until(lambda: _made(house, "report") == 2)


def test_a_schedule_that_is_removed_as_it_is_run_made_its_job_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    @house.app.job
    async def report() -> str:
        return "made"

    schedules, run = house.app.schedules, house.queue.run_schedule
    schedules.add("weekly", "@weekly", report.call())

    def run_and_remove(name: str) -> tenure.Enqueued:
        made = run(name)
        assert schedules.remove(name)
        return made

    monkeypatch.setattr(house.queue, "run_schedule", run_and_remove)
    job = schedules.run("weekly")
    assert job.kind == "report"
    house.start()
    assert job.result("30s") == "made"


def _all_chores(house: House, working: object, clock: MovedClock) -> None:
    """Every chore has had a turn: a job that fell due for it was promoted."""
    sign = house.queue.enqueue("sign", delay="1s")
    clock.advance("1s")
    janitor = working.worker._janitor  # type: ignore[attr-defined]
    fire = next(c for c in janitor.chores if c.name == "fire")
    working.chores()  # type: ignore[attr-defined]
    until(lambda: fire.due > 0)
    house.seen(sign, lambda j: j.state == "ready")


def test_a_schedule_added_while_it_runs_survives_a_restart(house: House) -> None:
    clock = house.stand_still()

    def register(app: tenure.App) -> tenure.NewJob:
        @app.job
        async def digest(days: int) -> int:
            return days

        return digest.call(days=7)

    assert house.app.schedules.add("weekly", "0 * * * *", register(house.app))
    house.start().stop()
    house.app.close()
    house.app = tenure.App(house.url, clock=clock)
    register(house.app)
    clock.advance("1h")
    assert _names(house) == ["weekly"]
    house.start(poll="50ms")
    until(lambda: _made(house, "digest") == 1)
    [job] = house.queue.list(tenure.Filter(kinds=["digest"]))
    assert house.ended(job).result == 7
    assert house.app.schedules.remove("weekly")
    assert _names(house) == []


def test_a_worker_without_the_chores_stores_what_the_code_names_before_it_works(house: House) -> None:
    @house.app.cron("0 0 1 1 *")
    @house.app.job
    async def yearly() -> None:
        """Come round."""

    @house.app.on_dead
    async def tell(dead: tenure.DeadJob) -> None:
        """Be told."""

    @house.app.job
    async def dies() -> None:
        raise tenure.Bury("no use")

    job = dies.enqueue()
    working = house.start(janitor=False)
    house.ended(job)
    until(lambda: _made(house, "tell") == 1)
    assert _names(house) == ["yearly"]
    assert {chore.name for chore in working.worker._janitor.chores} == {"hook", "schedule"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("run_at", datetime(2030, 1, 1, tzinfo=UTC)), ("delay", "5s"), ("unique_for", "1h"), ("group", "g"),
        ("group_limit", 2), ("order", "start"), ("expires_at", datetime(2030, 1, 1, tzinfo=UTC)), ("parent", "p"),
        ("flow", "f"), ("request", tenure.Request(b"{}", {})), ("id", "i"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)  # fmt: skip
def test_an_option_that_a_schedule_cannot_keep_is_refused(house: House, option: str, value: Any) -> None:
    job = tenure.NewJob(kind="digest", **{option: value})
    with pytest.raises(tenure.FieldError, match="cannot be kept by a schedule") as refused:
        house.app.schedules.add("weekly", "0 8 * * MON", job)
    assert refused.value.field == option
    assert _names(house) == []
