"""A store that refuses to settle: no outcome is dropped while its claim is held, and none holds up its neighbours."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import apsw
import pytest

import tenure
from tenure.config import PostgresPlace, locate
from tests.worker.house import House, Working, until

_LEASE = "2s"


def _sql(house: House, text: str) -> None:
    """SQL of the test's own, committed at once."""
    if house.store == "sqlite":
        file = apsw.Connection(house.url.removeprefix("sqlite:///"))
        file.set_busy_timeout(10_000)
        file.execute(text)
        file.close()
    else:
        with house.connection() as db:
            db.execute(text)
            db.commit()


@contextmanager
def refusing(house: House, table: str, condition: str) -> Iterator[None]:
    """While this lasts the store refuses such new rows of `table`."""
    house.queue.counts()  # it is there
    place = locate(house.url)
    if isinstance(place, PostgresPlace):
        name = f'"{place.schema}"'
        _sql(house, f"CREATE FUNCTION {name}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF {condition} THEN RAISE 'refused'; END IF; RETURN NEW; END $$")  # fmt: skip
        on = "finished" if table == "jobs" else table
        _sql(house, f"CREATE TRIGGER refuse BEFORE INSERT ON {name}.{on} FOR EACH ROW EXECUTE FUNCTION {name}.refuse()")  # fmt: skip
        end = [f"DROP FUNCTION {name}.refuse() CASCADE"]
    else:
        for when in ("INSERT", "UPDATE"):
            _sql(house, f"CREATE TRIGGER refuse_{when} BEFORE {when} ON tenure_{table} WHEN {condition} BEGIN SELECT RAISE(ABORT, 'refused'); END")  # fmt: skip
        end = ["DROP TRIGGER refuse_INSERT", "DROP TRIGGER refuse_UPDATE"]
    yield
    for text in end:
        _sql(house, text)


def _put_off(working: Working) -> list[str]:
    """The ids of jobs whose outcomes were refused."""
    later = working.worker._settler._later if hasattr(working.worker, "_settler") else []
    return [claim.id for one in list(later) for claim, _ in one.pairs]


def _lasts(house: House, job: Any, span: timedelta) -> None:
    """Wait until its claim has been kept for this long, and is still kept."""
    first = house.seen(job, lambda j: j.lease_until).lease_until
    assert first is not None
    house.seen(job, lambda j: j.state == "running" and j.lease_until and j.lease_until - first > span)


def test_an_outcome_that_is_refused_for_longer_than_a_lease_is_settled_in_the_end(house: House) -> None:
    runs: list[int] = []

    @house.app.job(max_attempts=1)
    async def works() -> None:
        runs.append(1)

    working = house.start(lease=_LEASE)
    with refusing(house, "jobs", "NEW.state = 'done'"):
        job = works.enqueue()
        until(lambda: _put_off(working) == [job.id])
        _lasts(house, job, timedelta(seconds=2.5))
    end = house.ended(job)
    assert (end.state, end.epoch, end.attempt, end.crashes, runs) == ("done", 1, 1, 0, [1])


def test_one_outcome_that_is_refused_holds_up_no_neighbour_of_its_batch(house: House) -> None:
    gate = threading.Event()

    @house.app.job
    async def works(n: int) -> int:
        while not gate.is_set():  # noqa: ASYNC110 - the test opens it from another thread
            await asyncio.sleep(0.01)
        return n

    working = house.start(lease=_LEASE, concurrency=40, settle_delay="300ms")
    bad = works.options(queue="bad").enqueue(-1)
    good = [works.enqueue(n) for n in range(30)]
    for job in [bad, *good]:
        house.seen(job, lambda j: j.state == "running")
    with refusing(house, "jobs", "NEW.queue = 'bad' AND NEW.state = 'done'"):
        gate.set()
        assert [house.ended(job).result for job in good] == list(range(30))
        until(lambda: _put_off(working) == [bad.id])
        later = works.enqueue(30)
        assert later.result("30s") == 30
    assert house.ended(bad).result == -1


def _told(caplog: pytest.LogCaptureFixture, job: tenure.Job[Any], words: str) -> bool:
    """Whether the log has these words for this job: a moment after the store has its outcome."""
    records = [r for r in list(caplog.records) if getattr(r, "job_id", None) == job.id]
    return any(words in r.getMessage() for r in records)


def test_a_result_that_is_refused_on_and_on_is_left_out_and_the_job_is_done(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    @house.app.job
    async def works(what: str) -> str:
        return what

    with caplog.at_level("ERROR", "tenure"), refusing(house, "jobs", "NEW.result LIKE '%unwanted%'"):
        house.start(lease=_LEASE)
        job, other = works.enqueue("unwanted"), works.enqueue("wanted")
        end = house.ended(job)
        assert other.result("30s") == "wanted"
        until(lambda: _told(caplog, job, "without what it said"))
    assert (end.state, end.result, end.epoch, end.attempt) == ("done", None, 1, 1)
    [told] = [r for r in caplog.records if getattr(r, "job_id", None) == job.id]
    assert (told.levelno, told.__dict__["job_kind"], told.__dict__["attempt"]) == (logging.ERROR, "works", 1)
    assert "without what it said" in told.getMessage()
    assert "refused" in told.getMessage()


def test_an_error_that_is_refused_on_and_on_is_left_out_and_the_job_has_failed(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    @house.app.job(retry=tenure.Fixed("1h"))
    async def fails() -> None:
        raise ValueError("unwanted words")

    @house.app.job
    async def buries() -> None:
        raise tenure.Bury("unwanted reason", "unwanted words")

    with (
        caplog.at_level("WARNING", "tenure"),
        refusing(house, "attempts", "NEW.message LIKE '%unwanted%'"),
    ):
        house.start(lease=_LEASE)
        failed, buried = fails.enqueue(), buries.enqueue()
        waits = house.seen(failed, lambda j: j.state == "scheduled")
        assert (waits.attempt, waits.epoch) == (1, 1)
        assert waits.run_at - house.queue.history(failed.id)[0].finished_at == timedelta(hours=1)
        assert house.ended(buried).state == "dead"
    for job in (failed, buried):
        [(_, _, message)] = house.story(job)
        assert "could not be stored" in message
        until(lambda job=job: _told(caplog, job, "unwanted words"))  # type: ignore[misc]


def test_an_outcome_that_is_refused_is_dropped_once_its_claim_is_lost(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    @house.app.job
    async def works() -> str:
        return "mine"

    working = house.start(lease=_LEASE)
    with refusing(house, "jobs", "NEW.state = 'done'"):
        job = works.enqueue()
        until(lambda: _put_off(working) == [job.id])
        [claim] = [c for one in working.worker._settler._later for c, _ in one.pairs]
        assert house.queue.settle(claim, tenure.Bury("taken away"))
        until(lambda: not _put_off(working))
        until(lambda: not working.worker._held)
    assert house.ended(job).reason == "taken away"
    assert f"job {job.id}: its claim was lost" in caplog.text


def test_what_is_refused_until_the_grace_period_ends_is_told_and_left_to_its_lease(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    @house.app.job
    async def works() -> None:
        """Done at once."""

    working = house.start(lease=_LEASE, grace="1s")
    with refusing(house, "jobs", "NEW.state = 'done'"):
        job = works.enqueue()
        until(lambda: _put_off(working) == [job.id])
        working.stop()
        settler = working.worker._settler
        until(lambda: not settler._thread.is_alive())
        assert house.seen(job, lambda _: True).state == "running"
    assert f"job {job.id} (works) could not be settled as done before the worker had to stop" in caplog.text
    house.start(lease=_LEASE)
    assert house.ended(job).state == "done"


def test_what_is_refused_is_not_given_back_when_the_worker_leaves_in_a_hurry(house: House) -> None:
    """A worker whose event loop is blocked gives back what it holds: what has ended is not run again."""

    @house.app.job
    async def works() -> None:
        """Done at once."""

    working = house.start(lease=_LEASE)
    with refusing(house, "jobs", "NEW.state = 'done'"):
        job = works.enqueue()
        until(lambda: _put_off(working) == [job.id])
        assert not working.worker.give_back(time.monotonic())
    end = house.ended(job)
    assert (end.state, end.epoch) == ("done", 1)
