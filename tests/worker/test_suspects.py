"""Jobs that were in flight when a worker crashed run apart, in child processes, until they are cleared or convicted."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import tenure
from tenure.events import ChildCrashed, Listeners
from tenure.outcome import Outcome
from tenure.worker.isolate import Children
from tenure.worker.process import Child
from tenure.worker.run import Run
from tenure.worker.wire import Start
from tests.support.claims import seen
from tests.support.clock import MovedClock
from tests.worker.house import Heard, House, crash_once


def test_a_suspect_runs_in_a_child_process_and_others_do_not(parent_house: House) -> None:
    from tests.worker import apps

    suspect = apps.plain_where.enqueue()
    crash_once(parent_house, suspect)
    innocent = apps.plain_where.enqueue()
    parent_house.start()
    assert innocent.result("30s") == os.getpid()
    assert suspect.result("30s") != os.getpid()
    end = parent_house.ended(suspect)
    assert (end.attempt, end.crashes) == (1, 1)


def test_a_suspect_that_kills_its_process_again_is_poison_in_the_end_and_the_worker_lives(
    parent_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.worker import apps

    monkeypatch.setenv("TENURE_TEST_PARENT", str(os.getpid()))
    heard = Heard(parent_house.app, ChildCrashed)
    poison = apps.plain_dies.enqueue()
    crash_once(parent_house, poison)
    fine = [apps.plain_where.enqueue() for _ in range(5)]
    parent_house.start()
    end = parent_house.ended(poison)
    assert (end.state, end.reason, end.crashes, end.attempt) == ("dead", "poison", 3, 0)
    story = parent_house.story(poison)
    assert [kind for _, kind, _ in story] == ["Crash"] * 3
    assert story[0][2] == "worker lost died"
    assert all("was killed by SIGKILL while it ran this job" in words for _, _, words in story[1:])
    assert "was killed by SIGKILL" in str(end.error)
    assert [j.result("30s") for j in fine] == [os.getpid()] * 5
    assert [e.claim.id for e in heard.events] == [poison.id] * 2


def test_suspects_run_side_by_side_each_in_a_child_of_its_own(parent_house: House) -> None:
    from tests.worker import apps

    names = ["one", "two"]
    suspects = [apps.plain_meets.enqueue(name, names) for name in names]
    crash_once(parent_house, *suspects)
    parent_house.start(children=2)
    processes = {suspect.result("30s") for suspect in suspects}
    assert len(processes | {os.getpid()}) == 3


def test_an_isolated_job_that_kills_its_process_is_poison_after_three_crashes(parent_house: House) -> None:
    from tests.worker import apps

    poison, fine = apps.dies.enqueue(), apps.where.enqueue()
    parent_house.start(children=1)
    end = parent_house.ended(poison)
    assert (end.state, end.reason, end.crashes) == ("dead", "poison", 3)
    assert len(parent_house.story(poison)) == 3
    assert isinstance(fine.result("30s"), int)
    assert parent_house.ended(fine).crashes == 0


def test_where_no_child_can_import_the_app_a_suspect_runs_here(house: House) -> None:
    @house.app.job
    async def where() -> int:
        return os.getpid()

    job = where.enqueue()
    crash_once(house, job)
    house.start()
    assert job.result("30s") == os.getpid()


class _Trial:
    """A job that crashed once, claimed again to run apart; its worker's whole machine can be lost, and nobody tells of it."""

    def __init__(self, house: House) -> None:
        self._clock: MovedClock = house.stand_still()
        self._queue = house.queue
        self._id = self._queue.enqueue("where", {}).id
        self._queue.claim(worker="first")
        assert self.lose_machine() == 1
        [self.claim] = self._queue.claim(started=False, worker="second")
        assert self.claim.apart

    async def run(self) -> Outcome | None:
        """Run it as the worker does, which tells the store that it starts."""
        from tests.worker import apps

        address, listeners = apps.app.address, Listeners()
        children = Children(address, most=1, marking=self._mark, listeners=listeners, worker="second")
        run = Run(self.claim, apps.where, None, tenure.Context(self.claim, None))
        run.begun = False
        try:
            return await children.run(run, lambda _: None, suspect=True)
        finally:
            await children.close()

    def lose_machine(self) -> int:
        """Nobody renews or beats any more; how many crashes have been counted for the job."""
        self._clock.advance("1m")
        assert self._queue.reclaim() == 1
        return seen(self._queue, self._id).crashes

    async def _mark(self, claim: tenure.Claim) -> bool:
        return claim.id in self._queue.renew([claim], started=[claim]).kept


def test_a_suspect_that_waits_for_its_child_has_not_crashed_when_the_machine_is_lost(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_address: str) -> Child:
        asked.set()
        return await asyncio.Future()

    asked = asyncio.Event()
    monkeypatch.setattr(Child, "start", never)

    async def scene() -> int:
        trial = _Trial(house)
        running = asyncio.ensure_future(trial.run())
        await asked.wait()
        crashes = trial.lose_machine()
        running.cancel()
        await running
        return crashes

    assert asyncio.run(scene()) == 1


def test_a_suspect_has_crashed_with_its_machine_from_the_moment_its_child_is_told_to_start(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, counted, send = _Trial(house), list[int](), Child.send

    def lose_machine_first(self: Child, message: Any) -> None:
        if isinstance(message, Start):
            counted.append(trial.lose_machine())
        send(self, message)

    monkeypatch.setattr(Child, "send", lose_machine_first)
    assert isinstance(asyncio.run(trial.run()), tenure.Done)
    assert counted == [2]
