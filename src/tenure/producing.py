"""What stands around an app's enqueues, for who traces them: told before jobs are stored, may change them, told after.

@contextmanager
def producing(batch: Batch) -> Iterator[None]:
    batch.jobs = [signed(job) for job in batch.jobs]
    yield
    note(batch.stored)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from tenure.job import Enqueued
from tenure.newjob import NewJob

__all__ = ["Batch", "Producing"]


class Batch:
    """Jobs on their way into the store, and what became of them there."""

    __slots__ = ("jobs", "stored")

    def __init__(self, jobs: Iterable[NewJob]) -> None:
        self.jobs = list(jobs)
        self.stored: list[Enqueued] = []


Producing = Callable[[Batch], AbstractContextManager[None]]
