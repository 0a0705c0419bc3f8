"""How a handler ends, and what the store keeps of it."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

import tenure
from tests.worker.house import House, until

_HOUR = timedelta(hours=1)


def test_a_handler_that_raises_has_failed_and_waits_for_its_next_attempt(house: House) -> None:
    clock = house.stand_still()

    @house.app.job(max_attempts=3, retry=tenure.Ladder("1h", "2h"))
    async def breaks(ctx: tenure.Context) -> None:
        if ctx.attempt < 3:
            raise ValueError(f"attempt {ctx.attempt} went wrong")

    job = breaks.enqueue()
    house.start(poll="50ms")
    first = house.seen(job, lambda j: j.state == "scheduled")
    assert (first.attempt, first.error, first.outcome) == (1, "attempt 1 went wrong", "fail")
    [told] = house.queue.history(job.id)
    assert (told.attempt, told.error_kind, told.message) == (1, "ValueError", "attempt 1 went wrong")
    assert "in breaks" in str(told.traceback)
    assert "ValueError: attempt 1 went wrong" in str(told.traceback)
    assert first.run_at - told.finished_at == _HOUR
    clock.advance("1h")
    second = house.seen(job, lambda j: j.attempt == 2 and j.state == "scheduled")
    assert second.run_at - house.queue.history(job.id)[1].finished_at == 2 * _HOUR
    clock.advance("2h")
    assert house.ended(job).state == "done"
    assert [t[0] for t in house.story(job)] == [1, 2]


def test_the_last_attempt_that_fails_is_the_end(house: House) -> None:
    @house.app.job(max_attempts=2, retry=tenure.Fixed(0))
    def breaks(ctx: tenure.Context) -> None:
        raise RuntimeError(f"no luck at {ctx.attempt}")

    job = breaks.enqueue()
    house.start()
    end = house.ended(job)
    assert (end.state, end.reason, end.error, end.attempt) == ("dead", "failed", "no luck at 2", 2)
    assert house.story(job) == [(1, "RuntimeError", "no luck at 1"), (2, "RuntimeError", "no luck at 2")]
    with pytest.raises(tenure.JobFailed, match="no luck at 2"):
        job.result("30s")


def test_retry_in_waits_as_long_as_it_says(house: House) -> None:
    @house.app.job(retry=tenure.Fixed("1s"))
    async def later(words: str) -> None:
        raise tenure.RetryIn("2h", words)

    job, silent = later.enqueue("the other side is busy"), later.enqueue("")
    house.start()
    waits = house.seen(job, lambda j: j.state == "scheduled")
    [told] = house.queue.history(job.id)
    assert waits.run_at - told.finished_at == 2 * _HOUR
    assert (waits.attempt, told.error_kind, told.message) == (1, "RetryIn", "the other side is busy")
    assert house.seen(silent, lambda j: j.state == "scheduled").error == "asked for another try"


def test_snooze_gives_the_attempt_back_and_leaves_no_history(house: House) -> None:
    clock = house.stand_still()

    @house.app.job(max_attempts=1)
    async def not_now(ctx: tenure.Context) -> int:
        if clock.now.hour == 12:
            raise tenure.Snooze("1h")
        return ctx.attempt

    job = not_now.enqueue()
    house.start(poll="50ms")
    waits = house.seen(job, lambda j: j.state == "scheduled")
    assert (waits.attempt, waits.run_at) == (0, clock.at("1h"))
    assert house.story(job) == []
    clock.advance("1h")
    assert house.ended(job).result == 1


def test_release_gives_the_job_back_at_once_with_its_attempt(house: House) -> None:
    seen: list[int] = []

    @house.app.job(max_attempts=1)
    def not_me(ctx: tenure.Context) -> int:
        seen.append(ctx.attempt)
        if len(seen) < 3:
            raise tenure.Release
        return len(seen)

    job = not_me.enqueue()
    house.start(poll="5s")
    assert job.result("30s") == 3
    assert seen == [1, 1, 1]
    assert house.story(job) == []


def test_cancel_ends_the_job_as_cancelled(house: House) -> None:
    @house.app.job
    async def unwanted(reason: str | None) -> None:
        raise tenure.Cancel(reason)

    job, plain = unwanted.enqueue("the order was withdrawn"), unwanted.enqueue(None)
    house.start()
    end = house.ended(job)
    assert (end.state, end.reason, end.attempt) == ("cancelled", "the order was withdrawn", 1)
    assert house.ended(plain).state == "cancelled"
    assert house.story(job) == []


def test_bury_ends_the_job_as_dead_whatever_attempts_are_left(house: House) -> None:
    @house.app.job(max_attempts=9)
    async def hopeless() -> None:
        raise tenure.Bury("no such customer", "customer 7 was deleted")

    job = hopeless.enqueue()
    house.start()
    end = house.ended(job)
    assert (end.state, end.reason, end.error, end.attempt) == (
        "dead", "no such customer", "customer 7 was deleted", 1,
    )  # fmt: skip
    assert house.story(job) == [(1, "Bury", "customer 7 was deleted")]


def test_an_error_that_the_policy_gives_up_on_is_the_end(house: House) -> None:
    @house.app.job(retry=tenure.Fixed("1h", give_up=(LookupError,)))
    def gives_up(kind: str) -> None:
        raise KeyError("k") if kind == "key" else ValueError("v")

    end, other = gives_up.enqueue("key"), gives_up.enqueue("value")
    house.start()
    dead = house.ended(end)
    assert (dead.state, dead.reason, dead.attempt) == ("dead", "gave up", 1)
    [told] = house.queue.history(end.id)
    assert (told.error_kind, told.message) == ("KeyError", "'k'")
    assert "in gives_up" in str(told.traceback)
    assert house.seen(other, lambda j: j.state == "scheduled").attempt == 1


def test_a_wait_that_makes_no_sense_is_a_failure_like_any_other(house: House) -> None:
    @house.app.job(retry=tenure.Fixed("1h"))
    async def nonsense(what: str) -> None:
        raise {"retry": tenure.RetryIn("soon"), "snooze": tenure.Snooze("-3s")}[what]

    jobs = [nonsense.enqueue("retry"), nonsense.enqueue("snooze")]
    house.start()
    for job in jobs:
        waits = house.seen(job, lambda j: j.state == "scheduled")
        assert "delay" in str(waits.error)
        assert waits.run_at - house.queue.history(job.id)[0].finished_at == _HOUR


def test_a_broken_retry_policy_is_replaced_by_the_default_one(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def delay(self, attempt: int) -> timedelta:
            raise ZeroDivisionError

    class Odd:
        def delay(self, attempt: int) -> timedelta:
            return "a while"  # type: ignore[return-value]

    class Backwards:
        def delay(self, attempt: int) -> timedelta:
            return timedelta(seconds=-5)

    for name, policy in (("broken", Broken()), ("odd", Odd()), ("backwards", Backwards())):

        @house.app.job(kind=name, retry=policy)
        async def breaks() -> None:
            raise ValueError("v")

    jobs = [house.app.enqueue(name) for name in ("broken", "odd", "backwards")]
    house.start()
    for job in jobs:
        waits = house.seen(job, lambda j: j.state == "scheduled")
        assert waits.run_at - house.queue.history(job.id)[0].finished_at == timedelta(minutes=1)
    told = [record.__dict__ for record in caplog.records if "retry policy" in record.getMessage()]
    assert {record["job_id"] for record in told} == {job.id for job in jobs}


def test_whatever_a_handler_raises_is_a_failure_and_the_worker_goes_on(house: House) -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    wild = {
        "exit": SystemExit(3),
        "interrupt": KeyboardInterrupt(),
        "base": BaseException("base"),
        "generator": GeneratorExit("g"),
        "unreadable": Unreadable(),
        "cancelled": asyncio.CancelledError(),
        "stop": StopIteration("s"),
    }

    @house.app.job(max_attempts=1)
    async def on_loop(what: str) -> None:
        raise wild[what]

    @house.app.job(max_attempts=1)
    async def after_a_while(what: str) -> None:
        await asyncio.sleep(0)
        raise wild[what]

    @house.app.job(max_attempts=1)
    def in_thread(what: str) -> None:
        raise wild[what]

    @house.app.job
    async def fine() -> str:
        return "fine"

    jobs = [k.enqueue(w) for k in (on_loop, after_a_while, in_thread) for w in wild]
    house.start(concurrency=1)
    assert [(j.kind, house.ended(j).state) for j in jobs] == [(j.kind, "dead") for j in jobs]
    assert fine.enqueue().result("30s") == "fine"


def test_a_cancellation_that_nobody_asked_for_is_a_failure(house: House) -> None:
    @house.app.job(max_attempts=1)
    async def trips() -> None:
        child = asyncio.ensure_future(asyncio.sleep(3_600))
        await asyncio.sleep(0)
        child.cancel()
        await child

    job = trips.enqueue()
    house.start()
    assert house.ended(job).state == "dead"
    assert house.story(job)[0][1] == "CancelledError"


def test_error_texts_are_cleaned_and_cut(house: House, caplog: pytest.LogCaptureFixture) -> None:
    @house.app.job(max_attempts=1)
    async def rambles() -> None:
        raise ValueError("\x00\ud800 postgresql://me:secret@host/db " + "x" * 100_000)

    job = rambles.enqueue()
    house.start()
    end = house.ended(job)
    assert end.state == "dead"
    assert len(str(end.error)) <= 4_096
    assert "secret" not in str(end.error) + str(house.queue.history(job.id)[0].traceback)
    until(lambda: "is dead" in caplog.text)
    assert "secret" not in caplog.text
    caplog.text.encode()  # no lone surrogates


def test_a_failure_leaves_a_line_in_the_log_and_a_death_a_louder_one(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    @house.app.job(retry=tenure.Fixed("1h"))
    async def fails() -> None:
        raise ValueError("no\nluck")

    @house.app.job(max_attempts=1)
    async def fails_last() -> None:
        raise ValueError("no luck")

    @house.app.job
    async def buries() -> None:
        raise tenure.Bury("no use", "it is broken")

    jobs = [kind.enqueue() for kind in (fails, fails_last, buries)]
    with caplog.at_level("WARNING", "tenure"):
        house.start()
        until(lambda: len([r for r in caplog.records if hasattr(r, "job_kind")]) == 3)
    told = {r.__dict__["job_kind"]: r for r in caplog.records if hasattr(r, "job_kind")}
    assert [told[job.kind].__dict__["job_id"] for job in jobs] == [job.id for job in jobs]
    assert {r.__dict__["attempt"] for r in told.values()} == {1}
    assert [(told[job.kind].levelno, told[job.kind].getMessage()) for job in jobs] == [
        (logging.WARNING, f"job {jobs[0].id} (fails) failed at attempt 1: no luck"),
        (logging.ERROR, f"job {jobs[1].id} (fails_last) is dead, it failed at attempt 1, its last: no luck"),
        (logging.ERROR, f"job {jobs[2].id} (buries) is dead at attempt 1: no use: it is broken"),
    ]
