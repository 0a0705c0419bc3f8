"""The janitor of a worker: jobs fall due and are taken back, old ones go, and a chore that fails harms nobody."""

from __future__ import annotations

from typing import Any

import tenure
from tenure.events import ChoreDone, ChoreFailed, WorkerStarted
from tenure.janitor.janitor import Janitor
from tests.worker.house import Heard, House, until


def test_it_promotes_reclaims_and_retains_once_before_new_work(house: House) -> None:
    clock = house.stand_still(retain={"done": "1h", "dead": "1h", "mail": {"done": "3h", "dead": 0}})
    queue, found = house.queue, list[dict[str, Any]]()

    @house.app.job
    async def mine() -> None: ...

    ids = {
        "old done": _ended(house, "default", tenure.Done()),
        "old dead": _ended(house, "default", tenure.Bury()),
        "old mail": _ended(house, "mail", tenure.Done()),
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
            "old mail": "done",
            "dead mail": "dead",
            "due": "ready",
            "left": "ready",
            "fresh done": "done",
        }
    ]
    assert claim.id == ids["left"]
    assert queue.get(ids["left"]).crashes == 1  # type: ignore[union-attr]


def _ended(house: House, queue: str, outcome: tenure.Outcome) -> str:
    made = house.queue.enqueue("ended", queue=queue)
    [claim] = house.queue.claim(kinds=["ended"], queues=[queue])
    assert house.queue.settle(claim, outcome)
    return made.id


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
    house.start().stop()
    assert [(e.chore, e.moved) for e in heard.events] == [("retain", 2_300)]
    assert house.queue.counts() == {}
