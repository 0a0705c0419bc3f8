"""The one lifecycle of everything in the background: it ticks, rests, is rung, survives errors, and stops."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from tenure.service import Service

PATIENCE = 30.0


class Counted(Service):
    """Ticks when it is told to, and tells of it."""

    def __init__(self, tick: Callable[[int], float]) -> None:
        super().__init__("counted")
        self._tick = tick
        self.count = 0
        self.ticked = threading.Semaphore(0)
        self.finished = threading.Event()

    def tick(self) -> float:
        self.count += 1
        try:
            return self._tick(self.count)
        finally:
            self.ticked.release()

    def finish(self) -> None:
        self.finished.set()

    def wait(self, ticks: int) -> None:
        for _ in range(ticks):
            assert self.ticked.acquire(timeout=PATIENCE)


def stopped(service: Counted) -> None:
    service.stop()
    assert service.join(PATIENCE)


def test_it_ticks_again_at_once_when_it_asks_for_no_rest() -> None:
    service = Counted(lambda n: 0)
    service.start()
    service.wait(5)
    stopped(service)


def test_a_ring_ends_its_rest() -> None:
    service = Counted(lambda n: 3_600)
    service.start()
    for _ in range(3):
        service.wait(1)
        service.ring()
    service.wait(1)
    stopped(service)


def test_a_ring_that_comes_before_the_rest_is_not_lost() -> None:
    service = Counted(lambda n: 3_600)
    service.ring()
    service.start()
    service.wait(2)
    stopped(service)


def test_an_error_is_logged_and_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def trouble(n: int) -> float:
        if n <= 2:
            raise RuntimeError(f"trouble {n}")
        return 3_600

    service = Counted(trouble)
    with caplog.at_level(logging.ERROR, "tenure"):
        service.start()
        service.wait(3)
        stopped(service)
    assert [r.getMessage() for r in caplog.records] == ["counted: trouble 1", "counted: trouble 2"]


def test_trouble_makes_it_rest_longer_and_longer_but_never_for_long() -> None:
    rests: list[float] = []

    class Troubled(Counted):
        def rest(self, seconds: float) -> None:
            rests.append(seconds)

        def failed(self, error: Exception) -> None: ...

    def tick(n: int) -> float:
        if n == 9:
            return 7
        raise RuntimeError

    service = Troubled(tick)
    for _ in range(10):
        service._once()
    assert rests == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 7, 0.2])


def test_it_finishes_when_it_stops_even_if_finishing_fails(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Counted):
        def finish(self) -> None:
            super().finish()
            raise RuntimeError("the last word")

    service = Broken(lambda n: 3_600)
    with caplog.at_level(logging.ERROR, "tenure"):
        service.start()
        service.wait(1)
        stopped(service)
    assert service.finished.is_set()
    assert "the last word" in caplog.text


def test_one_that_was_told_to_stop_before_it_began_only_finishes() -> None:
    service = Counted(lambda n: 0)
    service.stop()
    service.start()
    assert service.join(PATIENCE)
    assert (service.count, service.finished.is_set()) == (0, True)


def test_one_that_never_began_has_stopped() -> None:
    assert Counted(lambda n: 0).join(0)


def test_joining_one_that_is_busy_says_that_it_has_not_stopped() -> None:
    busy, free = threading.Event(), threading.Event()

    def tick(n: int) -> float:
        busy.set()
        free.wait(PATIENCE)
        return 0

    service = Counted(tick)
    service.start()
    assert busy.wait(PATIENCE)
    service.stop()
    assert not service.join(0)
    free.set()
    assert service.join(PATIENCE)
    assert service.count == 1
