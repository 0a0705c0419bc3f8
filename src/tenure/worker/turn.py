"""A worker behind something that takes requests, in one process: who is told to stop when.

Requests under way may need the worker, so what takes them stops first, and the worker once they are answered, both within one
grace period. Told again, both stop at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from tenure.worker.worker import Worker

__all__ = ["Front", "InTurn"]

_SHARE = 2
"""What takes requests has one part in so many of the grace period."""


class Front(Protocol):
    """What takes requests. `stop` and `hurry` are called from a signal handler."""

    def start(self) -> object:
        """Begin; signals are heard by now."""
        ...

    def stop(self) -> None:
        """Take nothing more, finish what is under way."""
        ...

    def hurry(self) -> None:
        """Told again: wait for nobody."""
        ...

    def join(self, timeout: float) -> bool:
        """Wait until it has stopped; whether it has."""
        ...


class InTurn:
    """Stops a front and then its worker; `near` is told first, each time, how often it was."""

    def __init__(self, worker: Worker, front: Front, near: Callable[[int], None]) -> None:
        self._worker, self._front, self._near = worker, front, near
        self._told: SimpleQueue[float] = SimpleQueue()
        self._stops = 0
        threading.Thread(target=self._follow, name="tenure-in-turn", daemon=True).start()

    def stop(self) -> None:
        """Told to stop. May be called from a signal handler."""
        self._stops += 1
        self._near(self._stops)
        if self._stops == 1:
            self._front.stop()
            self._told.put(time.monotonic())
        else:
            self._front.hurry()
            self._worker.stop()
            self._worker.stop()

    def _follow(self) -> None:
        began, grace = self._told.get(), self._worker.grace
        self._front.join(grace / _SHARE)
        self._worker.grace = max(grace - (time.monotonic() - began), grace / 10)
        self._worker.stop()
