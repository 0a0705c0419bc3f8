"""What a gateway counts, in memory: requests by source and answer, time to the answer, duplicates, rejects by reason.

Sources that do not exist are all counted as "", so that a stranger cannot make the numbers grow without end; so is what never
named one: what is no HTTP, and who was hung up on before a head was whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

from tenure.clock import machine_micros

__all__ = ["BUCKETS", "Counters", "Histogram"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram's buckets, in seconds; one more holds the rest."""


class Histogram:
    """How long something took: how many fell into each bucket, and their sum in seconds."""

    __slots__ = ("buckets", "count", "sum")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.count, self.sum = 0, 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.count += 1
        self.sum += seconds


class Counters:
    """One gateway's numbers since it started; read them at any time."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        """By source and status. 0: somebody hung up before an answer, the sender or (as the reason says) we."""
        self.rejects: Counter[tuple[str, str]] = Counter()
        """By source and reason, whatever was not answered 200."""
        self.duplicates: Counter[str] = Counter()
        self.given_up: Counter[str] = Counter()
        """By source: what a sync source's handler gave up on, answered 200."""
        self.acks: dict[str, Histogram] = {}
        """By source: from the request's headers to its answer, for what was answered 200."""
        self.last: dict[str, tuple[float, int, str | None]] = {}
        """By source: when the last request was answered, with what status, and why if it was not taken."""
        self.changed: Callable[[], None] | None = None
        """Called at the next answer, and then no more: who wants to hear of another sets it again."""

    def answered(self, source: str, status: int, seconds: float, reason: str | None) -> None:
        """One request was answered."""
        self.requests[source, status] += 1
        self.last[source] = (machine_micros() / 1_000_000, status, reason)
        if reason is not None:
            self.rejects[source, reason] += 1
        elif source:
            if source not in self.acks:
                self.acks[source] = Histogram()
            self.acks[source].add(seconds)
        if self.changed is not None:
            changed, self.changed = self.changed, None
            changed()
