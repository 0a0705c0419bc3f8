"""A worker's figures, switched on and off, and what they take of its CPU: for `make bench-dashboard`.

A drain with figures and one without differ by less than two drains alike. What counting takes can be told for sure: the CPU that the
threads spend in it, against all that the worker's process spends on the same jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from bench.measure import Cell
from tenure.worker.figures import Figures

__all__ = ["Counting"]


class Counting:
    """Counts while it is on; `costs` has microseconds of CPU a job, one value for each time it was on."""

    def __init__(self) -> None:
        self.costs = {name: Cell(name) for name in ("figures", "worker")}
        self._on = False
        self._spent = self._began = 0.0
        self._jobs = 0

    def turn(self, on: bool) -> None:
        """Count from now on, or do not."""
        if self._on and not on and self._jobs:
            self.costs["figures"].values.append(self._spent / self._jobs * 1e6)
            self.costs["worker"].values.append((time.process_time() - self._began) / self._jobs * 1e6)
        if on and not self._on:
            self._spent, self._jobs, self._began = 0.0, 0, time.process_time()
        self._on = on

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Every worker's figures go through here: what is claimed, what has ended, what is told to the store."""
        count = self._timed(Figures.count)

        def counted(figures: Figures, ended: Any) -> None:
            self._jobs += len(ended) * self._on
            count(figures, ended)

        with (
            mock.patch.object(Figures, "count", counted),
            mock.patch.object(Figures, "received", self._timed(Figures.received)),
            mock.patch.object(Figures, "tell", self._timed(Figures.tell)),
        ):
            yield

    def _timed(self, act: Callable[..., None]) -> Callable[..., None]:
        def timed(figures: Figures, *given: Any, **named: Any) -> None:
            if not self._on:
                return
            began = time.thread_time()
            act(figures, *given, **named)
            self._spent += time.thread_time() - began

        return timed
