"""What is measured while work goes on, and what it means that it is flat.

Readings have times. The first fifth is left to starting; the rest is cut into slices, each stands for itself by one value, and
what they rise by in an hour is the median of what any two of them rise by (Theil and Sen), so that neither a peak nor a single
step makes a rise. What comes and goes with the work (descriptors, threads, connections) is read by its least in a slice, since
what leaks never goes again; a log by its largest, memory by its median.

A run can tell a rise from chance only if the rise comes to more than the readings vary by. So what may rise in all is the same
however long a run is, and what may rise in an hour is the less the longer it is: a run of eight minutes notices 43 MB an hour, one
of ten hours 500 KB.
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["LIMITS", "Gauge", "Limit", "of_process"]

_STATUS = re.compile(r"^(VmRSS|Threads):\s+(\d+)", re.MULTILINE)
_SLICES = 30
_FEW = 10
"""How many readings there are at the least."""
_START = 0.2
"""The share of a run that is left to starting."""
_WARM = 60.0
"""What a run of so many seconds or less has not done for the first time yet may come to as much again."""
_HOUR = 3_600.0


@dataclass(frozen=True, slots=True)
class Limit:
    """By how much something may rise in a whole run, and what stands for a slice of it."""

    in_all: float
    stands: Callable[[Sequence[float]], float] = statistics.median

    def an_hour(self, seconds: float) -> float:
        """By how much it may rise in an hour, as seen by a run of so many seconds."""
        return self.in_all * (1 + min(_WARM / seconds, 1.0)) * _HOUR / seconds


LIMITS: Mapping[str, Limit] = {
    "memory": Limit(4_000_000),
    "descriptors": Limit(6, min),  # a file and its logs, opened when they are first needed
    "threads": Limit(6, min),  # one for each of ten slots, and of the services, made when first needed
    "connections": Limit(10, min),  # of all processes, which open one more when they first need it
    "log": Limit(17_000_000, max),  # a segment of PostgreSQL's log is 16 MiB
}


def of_process(pid: int) -> dict[str, float]:
    """Resident memory in bytes, open descriptors and threads of a process."""
    told = dict(_STATUS.findall(Path(f"/proc/{pid}/status").read_text()))
    return {
        "memory": int(told["VmRSS"]) * 1_024,
        "threads": int(told["Threads"]),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),  # noqa: PTH208 - only their number is asked for
    }


@dataclass
class Gauge:
    """Readings, by what was read ("worker memory"), one after another, and the seconds at which they were."""

    look: Callable[[], Mapping[str, float]]
    times: list[float] = field(default_factory=list)
    readings: dict[str, list[float]] = field(default_factory=dict)

    def read(self, at: float) -> None:
        """Once, at this second."""
        self.times.append(at)
        for name, value in self.look().items():
            self.readings.setdefault(name, []).append(value)

    def watch(self, seconds: float, every: float) -> None:
        """Again and again, for so long, and a few times however slow looking is."""
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds or len(self.times) < _FEW:
            self.read(now)
            time.sleep(every)

    @property
    def seconds(self) -> float:
        """How long what was read went on, after the start."""
        return self.times[-1] - self.times[self._begin]

    @property
    def _begin(self) -> int:
        return int(len(self.times) * _START)

    def an_hour(self, name: str) -> float:
        """By how much this rises in an hour."""
        begin, stands = self._begin, _limit(name).stands
        times, values = self.times[begin:], self.readings[name][begin:]
        size = max(len(values) // _SLICES, 1)
        slices = [
            (statistics.fmean(times[at : at + size]), stands(values[at : at + size]))
            for at in range(0, len(values) - size + 1, size)
        ]
        rises = [(b - a) / (then - now) for (now, a), (then, b) in itertools.combinations(slices, 2)]
        return statistics.median(rises) * _HOUR

    def told(self, jobs: int) -> list[str]:
        """Every reading in one line; `jobs` were done meanwhile."""
        return [
            f"{name}: {self.readings[name][-1]:,.0f}, rising by {rise:,.0f} an hour, {rise * self.seconds / _HOUR / max(jobs, 1):,.3f} a job "
            f"(at most {_limit(name).an_hour(self.seconds):,.0f} an hour in {self.seconds:,.0f} s)"
            for name in sorted(self.readings)
            for rise in [self.an_hour(name)]
        ]

    def grown(self) -> list[str]:
        """What rises by more than it may."""
        return [
            f"{name} rises by {rise:,.0f} an hour, and {most:,.0f} is the most that a run of {self.seconds:,.0f} s may see"
            for name in sorted(self.readings)
            for rise, most in [(self.an_hour(name), _limit(name).an_hour(self.seconds))]
            if rise > most
        ]


def _limit(name: str) -> Limit:
    return LIMITS[name.rpartition(" ")[2]]
