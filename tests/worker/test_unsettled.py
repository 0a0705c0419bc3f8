"""A worker whose settles do not go through stops claiming: what it holds has a limit, and nothing of it is lost."""

from __future__ import annotations

import threading
from typing import Any

from tests.worker.house import PATIENCE, House, until

_SLOTS, _JOBS = 10, 3_000
_MOST = _SLOTS + 2_000


class _HeldUp:
    """A queue whose settles wait until they may go on."""

    def __init__(self, real: Any) -> None:
        self._real, self.go_on = real, threading.Event()

    def settle_many(self, *args: Any, **options: Any) -> Any:
        assert self.go_on.wait(PATIENCE)
        return self._real.settle_many(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def test_while_nothing_can_be_settled_no_more_is_claimed_than_the_limit(house: House) -> None:
    ran, ticks = list[int](), list[int]()

    @house.app.job
    async def mine(n: int) -> None:
        ran.append(n)

    working = house.start(concurrency=_SLOTS, prefetch=0)
    until(lambda: hasattr(working.worker, "_parts"))
    settler: Any = working.worker._settler
    claimer: Any = working.worker._claimer
    held_up = settler._queue = _HeldUp(settler._queue)
    tick = claimer.tick

    def counted() -> Any:
        ticks.append(1)
        return tick()

    claimer.tick = counted
    house.app.enqueue_many([mine.call(n) for n in range(_JOBS)])
    until(lambda: len(ran) >= _MOST)
    seen = len(ticks)
    until(lambda: len(ticks) >= seen + 20)
    counts = house.queue.counts()["default"]
    # The last claim before the limit may fill every slot.
    assert _MOST <= counts["running"] < _MOST + _SLOTS
    assert len(ran) == counts["running"]
    held_up.go_on.set()
    until(lambda: house.queue.counts()["default"]["done"] == _JOBS)
    assert sorted(ran) == list(range(_JOBS))
