"""What is measured while work goes on, and what it means that it is flat.

The first fifth is left to starting. Of the rest, the last third is compared with the first: what leaks grows from one to the
other, what only varies does not. What comes and goes with the work (descriptors, threads, connections) is compared by its
least, since what leaks never goes again; a log by its largest, memory by its median.
"""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["TOLERANCES", "Gauge", "Tolerance", "of_process"]

_STATUS = re.compile(r"^(VmRSS|Threads):\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much more the last third may be than the first: a share of it, and so much besides; and what stands for a third."""

    share: float
    more: float
    stands: Callable[[list[float]], float] = statistics.median

    def most(self, first: float) -> float:
        """The most that the last third may be."""
        return first * (1 + self.share) + self.more


TOLERANCES: Mapping[str, Tolerance] = {
    "memory": Tolerance(0.05, 3_000_000),
    "descriptors": Tolerance(0.0, 3, min),
    "threads": Tolerance(0.0, 10, min),  # one for each slot of the worker, made when it is first needed
    "connections": Tolerance(0.0, 3, min),
    "log": Tolerance(0.25, 17_000_000, max),  # a segment of PostgreSQL's log is 16 MiB
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
    """Readings, by what was read ("worker memory"), one after another."""

    look: Callable[[], dict[str, float]]
    readings: dict[str, list[float]] = field(default_factory=dict)

    def watch(self, seconds: float, every: float) -> None:
        """Read again and again, for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, value in self.look().items():
                self.readings.setdefault(name, []).append(value)
            time.sleep(every)

    def thirds(self, name: str) -> tuple[float, float]:
        """What stands for the first third and for the last, after the start."""
        kept = self.readings[name][len(self.readings[name]) // 5 :]
        third, stands = max(len(kept) // 3, 1), _tolerance(name).stands
        return stands(kept[:third]), stands(kept[-third:])

    def told(self) -> list[str]:
        """Every reading in one line."""
        return [
            "{}: {:,.0f}, then {:,.0f}".format(name, *self.thirds(name)) for name in sorted(self.readings)
        ]

    def grown(self) -> list[str]:
        """What was more in the last third than it may be."""
        grown = []
        for name in sorted(self.readings):
            first, last = self.thirds(name)
            most = _tolerance(name).most(first)
            if last > most:
                grown.append(
                    f"{name} grew from {first:,.0f} to {last:,.0f}, and {most:,.0f} is the most it may be"
                )
        return grown


def _tolerance(name: str) -> Tolerance:
    return TOLERANCES[name.rpartition(" ")[2]]
