"""How handlers run: on the event loop, in threads, in child processes, each job by itself."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from contextvars import ContextVar

import tenure
from tests.worker.house import House

_seen: ContextVar[str] = ContextVar("seen", default="nothing")


def test_an_async_handler_runs_on_the_event_loop_and_a_sync_one_in_a_thread(house: House) -> None:
    @house.app.job
    async def on_loop(a: int, *, b: str = "x") -> str:
        await asyncio.sleep(0)
        return f"{a}{b} {threading.current_thread().name}"

    @house.app.job
    def in_thread(a: int) -> str:
        return f"{a} {threading.current_thread().name}"

    jobs = [on_loop.enqueue(1), on_loop.enqueue(2, b="y"), in_thread.enqueue(3)]
    house.start()
    assert [j.result("30s") for j in jobs] == ["1x test-worker", "2y test-worker", "3 tenure-handler-0"]
    assert [house.ended(j).attempt for j in jobs] == [1, 1, 1]
    assert house.story(jobs[0]) == []


def test_sync_handlers_run_side_by_side(house: House) -> None:
    together = threading.Barrier(3)

    @house.app.job
    def meets() -> bool:
        together.wait(30)
        return True

    jobs = [meets.enqueue() for _ in range(3)]
    house.start(concurrency=3)
    assert all(j.result("30s") for j in jobs)


def test_context_variables_do_not_leak_from_one_job_of_a_slot_to_the_next(house: House) -> None:
    @house.app.job
    async def at_once() -> str:
        before = _seen.get()
        _seen.set("left by another")
        return before

    @house.app.job
    async def after_a_while() -> str:
        before = _seen.get()
        _seen.set("left by another")
        await asyncio.sleep(0)
        return before + _seen.get()

    @house.app.job
    def in_thread() -> str:
        before = _seen.get()
        _seen.set("left by another")
        return before

    jobs = [k.enqueue() for _ in range(3) for k in (at_once, after_a_while, in_thread)]
    house.start(concurrency=1)
    assert {j.result("30s") for j in jobs} == {"nothing", "nothingleft by another"}


def test_tasks_that_a_handler_starts_have_its_context(house: House) -> None:
    @house.app.job
    async def parent() -> list[str]:
        _seen.set("mine")

        async def child() -> str:
            return _seen.get()

        async with asyncio.timeout(30):
            return list(await asyncio.gather(child(), asyncio.to_thread(_seen.get)))

    job = parent.enqueue()
    house.start()
    assert job.result("30s") == ["mine", "mine"]


def test_the_context_tells_the_handler_what_it_runs(house: House) -> None:
    @house.app.job(queue="mail", priority=3)
    async def asks(ctx: tenure.Context, n: int) -> list[object]:
        return [
            ctx.id,
            ctx.attempt,
            ctx.job.queue,
            ctx.job.priority,
            ctx.job.payload,
            ctx.cancelled,
            ctx.lost,
        ]

    job = asks.enqueue(n=1)
    house.start()
    assert job.result("30s") == [job.id, 1, "mail", 3, {"n": 1}, False, False]


def test_an_isolated_job_runs_in_a_child_process_which_is_used_again(parent_house: House) -> None:
    from tests.worker import apps

    jobs = [apps.where.enqueue(), apps.where_async.enqueue(), apps.where.enqueue()]
    parent_house.start(children=1)
    pids = {j.result("30s") for j in jobs}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_what_an_isolated_job_returns_or_raises_comes_back_as_if_it_ran_here(parent_house: House) -> None:
    from tests.worker import apps

    big, text, deep, thing = (apps.give.enqueue(w) for w in ("big", "text", "deep", "object"))
    odd, plain = apps.fail.enqueue("odd"), apps.fail.enqueue("plain words")
    parent_house.start(children=1)
    assert big.result("30s") == 2**80
    assert text.result("30s") == "ä\ud800"
    assert deep.result("30s") == [{"a": [1, 2]}]
    assert thing.result("30s") is None
    for job, words in ((odd, "?\ufffd"), (plain, "plain words")):
        assert parent_house.ended(job).state == "dead"
        [(attempt, kind, message)] = parent_house.story(job)
        assert (attempt, kind, message) == (1, "ValueError", words)
        [told] = parent_house.queue.history(job.id)
        assert "in fail" in str(told.traceback)


def test_an_isolated_job_ends_in_every_way_that_others_do(parent_house: House) -> None:
    from tests.worker import apps

    ways = {how: apps.end.enqueue(how) for how in ("retry", "snooze", "bury", "cancel", "give_up")}
    parent_house.start(children=1)
    assert parent_house.seen(ways["retry"], lambda j: j.state == "scheduled").error == "later"
    assert parent_house.seen(ways["snooze"], lambda j: j.state == "scheduled").attempt == 0
    assert parent_house.ended(ways["bury"]).reason == "no use"
    assert parent_house.ended(ways["cancel"]).reason == "not wanted"
    given_up = parent_house.ended(ways["give_up"])
    assert (given_up.state, given_up.reason, given_up.error, given_up.attempt) == (
        "dead",
        "gave up",
        "gone",
        1,
    )


def test_an_app_that_no_child_can_import_fails_an_isolated_job_and_says_why(house: House) -> None:
    @house.app.job(isolate=True, max_attempts=1)
    def alone() -> None: ...

    job = alone.enqueue()
    house.start()
    assert "define it in a module or a script" in str(house.ended(job).error)


def test_a_worker_has_a_name_of_its_own_every_time_it_starts(house: House) -> None:
    """Orchestrators give host names and process numbers again; a claim of the one before must not be taken for its successor's."""

    @house.app.job
    async def mine() -> None: ...

    told = []
    for _ in range(3):
        job = mine.enqueue()
        working = house.start()
        told.append(str(house.ended(job).worker))
        assert told[-1] == working.worker.name
        working.stop()
    host, number = socket.gethostname(), os.getpid()
    assert len(set(told)) == 3
    assert all(name.startswith(f"{host}:{number}:") for name in told)
