"""Child processes: which job is to blame when one dies, and which is not."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

import pytest

import tenure
from tenure.events import ChildCrashed, Listeners
from tenure.job import Claim
from tenure.outcome import Crashed, Outcome, Snooze
from tenure.worker.isolate import Children
from tenure.worker.process import Child
from tenure.worker.run import Run
from tests.support.workers import alive
from tests.worker import apps
from tests.worker.house import House, stands, until


def _claims(house: House, count: int) -> Sequence[Claim]:
    for _ in range(count):
        apps.where.enqueue()
    return house.queue.claim(count, worker="w")


async def _run(children: Children, claim: Claim) -> tuple[Outcome | None, Run]:
    run = Run(claim, apps.app.kinds[claim.kind], None, tenure.Context(claim, None))
    run.begun = False

    def begun(run: Run) -> None:
        run.begun = True

    return await children.run(run, begun, suspect=False), run


def _kill(pid: int) -> None:
    """Kill it, and return once it is gone; nothing else happens in this process meanwhile."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid))


def test_a_job_sent_to_a_child_whose_death_nobody_has_heard_of_yet_runs_in_another_one(
    parent_house: House, caplog: pytest.LogCaptureFixture
) -> None:
    crashes: list[ChildCrashed] = []

    async def processes() -> list[object]:
        listeners = Listeners()
        listeners.add(crashes.append, ChildCrashed)
        children = Children(apps.app.address, most=1, marking=stands, listeners=listeners, worker="w")
        found: list[object] = []
        for claim in _claims(parent_house, 2):
            outcome, _ = await _run(children, claim)
            assert isinstance(outcome, tenure.Done)
            found.append(outcome.result)
            _kill(int(str(outcome.result)))  # the event loop stands still: it has not heard of it
        await children.close()
        return found

    first, second = asyncio.run(processes())
    assert first != second
    assert crashes == []
    assert "an idle child: " in caplog.text


@pytest.mark.parametrize("apart", [False, True], ids=["in its group", "in a session of its own"])
def test_a_child_that_has_died_is_noticed_though_a_fork_of_it_lives(parent_house: House, apart: bool) -> None:
    """The fork has the wire, too. What the child said before is heard; only who left its group outlives it."""

    async def outcome() -> tuple[Outcome | None, Run]:
        children = Children(apps.app.address, most=1, marking=stands, listeners=Listeners(), worker="w")
        apps.dies_before_its_fork.enqueue(apart)
        [claim] = parent_house.queue.claim(worker="w")
        ended = await _run(children, claim)
        await children.close()
        return ended

    told, run = asyncio.run(outcome())
    assert isinstance(told, Crashed)
    done, pid = run.context.told
    assert (done, pid is None) == (0.5, False)
    if apart:
        _kill(int(pid or 0))
    until(lambda: not alive(int(pid or 0)))


def test_what_an_isolated_handler_starts_hears_signals_and_its_own_process_leaves_them_to_the_worker(
    parent_house: House,
) -> None:
    job = apps.signals.enqueue()
    parent_house.start(children=1)
    assert job.result("60s") == [-signal.SIGTERM, -signal.SIGTERM, -signal.SIGINT, 2]


def test_a_child_that_has_run_as_many_jobs_as_it_may_leaves_and_a_fresh_one_takes_its_place(
    parent_house: House,
) -> None:
    jobs = parent_house.app.enqueue_many([apps.where.call() for _ in range(6)])
    parent_house.start(children=1, child_jobs=2)
    ran = [job.result("30s") for job in jobs]
    assert [ran.count(pid) for pid in dict.fromkeys(ran)] == [2, 2, 2]
    until(lambda: not any(alive(pid) for pid in ran))
    assert {len(parent_house.story(job)) for job in jobs} == {0}


def test_a_crash_is_logged_with_the_job_s_id_kind_and_attempt(
    parent_house: House, caplog: pytest.LogCaptureFixture
) -> None:
    job = apps.dies.enqueue()
    parent_house.start(children=1)
    parent_house.ended(job)
    told = [record.__dict__ for record in caplog.records if "was killed by SIGKILL" in record.getMessage()]
    assert [(r["job_id"], r["job_kind"], r["attempt"]) for r in told] == [(job.id, "dies", 1)] * 3


def test_a_job_whose_children_all_die_before_they_begin_it_waits_and_burns_nothing(
    parent_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead: list[int] = []
    send = Child.send

    def kill_first(self: Child, message: object) -> None:
        _kill(self.process.pid)
        dead.append(self.process.pid)
        send(self, message)  # type: ignore[arg-type]

    monkeypatch.setattr(Child, "send", kill_first)

    async def outcome() -> tuple[Outcome | None, Run]:
        children = Children(apps.app.address, most=1, marking=stands, listeners=Listeners(), worker="w")
        ended = await _run(children, _claims(parent_house, 1)[0])
        await children.close()
        return ended

    told, run = asyncio.run(outcome())
    assert isinstance(told, Snooze)
    assert len(set(dead)) == 3
    assert (run.begun, run.apart) == (False, None)
