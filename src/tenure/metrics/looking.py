"""Looks into the store, for numbers that are asked for often: one look serves all who ask within a few seconds.

A look has a connection of its own, and costs the same however many jobs there are: counts are capped and made by indexes.
A store that does not answer is a number too, and is not asked again before the few seconds are over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tenure.client.queue import Queue
from tenure.errors import StoreError
from tenure.schedule import ScheduleSeen
from tenure.store.pulse import Pulse

__all__ = ["Look", "Looking"]

log = logging.getLogger("tenure.metrics")
_LATE: Final = timedelta(seconds=60)
"""How long ago a schedule should have fired to be called overdue: who fires may be at a long batch."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found."""

    seconds: float
    pulse: Pulse
    workers: int
    schedules: list[ScheduleSeen]

    @property
    def schedules_overdue(self) -> int:
        """How many schedules should have fired a while ago."""
        latest = self.pulse.at - _LATE
        return sum((due := s.due_at) is not None and due < latest for s in self.schedules)

    @property
    def schedules_broken(self) -> int:
        """How many schedules cannot fire."""
        return sum(s.problem is not None for s in self.schedules)


class Looking:
    """Looks, and remembers for `keep` seconds what was seen."""

    def __init__(self, open_queue: Callable[[], Queue], *, cap: int, keep: float) -> None:
        self._open, self._cap, self._keep = open_queue, cap, keep
        self._lock = threading.Lock()
        self._queue: Queue | None = None
        self._until, self._last = 0.0, None

    _last: Look | None

    def look(self) -> Look | None:
        """How things stand, or stood a few seconds ago; None if the store does not answer."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._last = self._fresh()
                self._until = time.monotonic() + self._keep
            return self._last

    def _fresh(self) -> Look | None:
        began = time.monotonic()
        try:
            if self._queue is None:
                self._queue = self._open()
            queue = self._queue
            pulse = queue.pulse(cap=self._cap)
            workers, schedules = len(queue.workers()), queue.schedules()
        except StoreError as error:
            log.warning("no numbers of the store: %s", error)
            return None
        return Look(time.monotonic() - began, pulse, workers, schedules)

    def close(self) -> None:
        """Let go of the store; the next look opens it anew."""
        with self._lock:
            if self._queue is not None:
                self._queue.close()
            self._queue, self._until = None, 0.0
