"""What workers count while they work: each job once, whoever ran it, and told when they end."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import tenure
from tenure.events import ChoreDone
from tenure.figures import ErrorGroup, Rollup, Tally
from tests.worker.house import Heard, House, Working, until

FAR = timedelta(hours=1)


def figures(house: House) -> dict[str, Rollup]:
    now = datetime.now(UTC)
    return {r.kind: r for r in house.queue.rollups(now - FAR, now + FAR, step="1d")}


def errors(house: House) -> list[ErrorGroup]:
    return house.queue.error_groups(datetime.now(UTC) - FAR)


def settled(house: House, *workers: Working) -> None:
    """Wait until nothing is left to do, and the workers have gone."""
    until(
        lambda: all(
            n == 0
            for s, n in house.queue.counts()["default"].items()
            if s not in ("done", "dead", "cancelled")
        )
    )
    for working in workers:
        working.stop()


def test_done_failed_and_dead_are_counted_once_by_whoever_ran_them(house: House) -> None:
    @house.app.job(max_attempts=3, retry=tenure.Fixed("1ms"))
    async def flaky(number: int, job: tenure.Context) -> None:
        if job.attempt <= number:
            raise ValueError(f"not yet, number {number}")

    @house.app.job
    def plain(number: int) -> None:
        """It only returns, in a thread."""

    @house.app.job
    async def buried() -> None:
        raise tenure.Bury("no use")

    house.queue.enqueue_many([tenure.NewJob(kind="flaky", payload={"number": n}, max_attempts=3) for n in (0, 1, 2, 3) * 5])  # fmt: skip
    house.queue.enqueue_many([tenure.NewJob(kind="plain", payload={"number": n}) for n in range(100)])
    house.queue.enqueue("buried", {})
    settled(house, house.start(), house.start())
    found = figures(house)
    assert {k: (r.done, r.failed, r.dead) for k, r in found.items()} == {
        "flaky": (15, 5 * (0 + 1 + 2 + 3), 5),
        "plain": (100, 0, 0),
        "buried": (0, 1, 1),
    }
    assert {k: (r.waited.count, r.ran.count) for k, r in found.items()} == {
        "flaky": (45, 45),
        "plain": (100, 100),
        "buried": (1, 1),
    }
    flaky_group, buried_group = errors(house)
    assert (flaky_group.kind, flaky_group.error_kind, flaky_group.count, flaky_group.dead) == (
        "flaky", "ValueError", 30, 5,
    )  # fmt: skip
    assert re.fullmatch(r"worker/test_figures\.py:\d+ in \S*flaky", flaky_group.frame)
    assert (buried_group.kind, buried_group.message, buried_group.dead) == ("buried", "no use", 1)
    job = house.queue.get(flaky_group.sample_id)
    assert job is not None
    assert job.kind == "flaky"


def test_how_long_jobs_waited_and_ran_is_told(house: House) -> None:
    @house.app.job
    async def slow(job: tenure.Context) -> None:
        began.append(job)
        until_deadline = datetime.now(UTC) + timedelta(milliseconds=30)
        while datetime.now(UTC) < until_deadline:
            pass

    began: list[tenure.Context] = []
    early = datetime.now(UTC) - timedelta(seconds=100)
    house.queue.enqueue("slow", {}, run_at=early)
    jobs = [house.queue.enqueue("slow", {}) for _ in range(3)]
    settled(house, house.start(concurrency=1))
    assert len(began) == len(jobs) + 1
    [found] = figures(house).values()
    shortest, longest = found.ran.quantile(0), found.waited.quantile(1)
    assert shortest is not None
    assert longest is not None
    assert shortest >= 0.03 / 1.1
    assert longest < 60  # a job cannot wait longer than it is there


def test_a_job_given_back_is_not_counted(house: House) -> None:
    @house.app.job
    async def patient(job: tenure.Context) -> None:
        if job.attempt == 1 and len(seen) == 0:
            seen.append(job.id)
            raise tenure.Snooze("1ms")

    seen: list[str] = []
    house.queue.enqueue("patient", {})
    settled(house, house.start())
    [found] = figures(house).values()
    assert (found.done, found.failed, found.ran.count) == (1, 0, 1)


def test_figures_are_told_while_a_worker_works(house: House) -> None:
    @house.app.job
    async def plain() -> None:
        """It only returns."""

    working = house.start(lease="3s")
    house.queue.enqueue("plain", {})
    until(lambda: house.queue.counts()["default"]["done"] == 1)
    working.worker._figures._due = 0.0
    until(lambda: figures(house))
    assert figures(house)["plain"].done == 1


def test_janitors_merge_figures(house: House) -> None:
    clock = house.stand_still()
    heard = Heard(house.app, ChoreDone)

    @house.app.job
    async def plain() -> None:
        """It only returns."""

    house.queue.add_figures("gone", [Tally("default", "plain", 3)])
    house.queue.add_figures("lost", [Tally("default", "plain", 4)])
    clock.advance("2h")
    house.start()
    until(lambda: any(event.chore == "figures" and event.moved == 2 for event in heard.events))
    [found] = house.queue.rollups(clock.at("-3h"), clock.now, step="1h")
    assert found.done == 7
    assert house.queue.tidy_figures() == 0
