"""What tests of claims say often: which jobs were claimed, an empty line, many threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import tenure
from tests.support.places import Place

__all__ = ["at_once", "claim_all", "ids", "job_of", "payloads", "settle_all", "wait_until_blocked"]

T = TypeVar("T")


def ids(answers: Iterable[tenure.Claim | tenure.Enqueued]) -> list[str]:
    """The ids of claims, or of what was enqueued, in their order."""
    return [answer.id for answer in answers]


def payloads(claims: Iterable[tenure.Claim]) -> list[Any]:
    """What the claimed jobs carry, in the order of the claims."""
    return [claim.job.payload for claim in claims]


def job_of(queue: tenure.Queue, job_id: str) -> tenure.JobSeen:
    """The job as it stands now; it must be there."""
    job = queue.get(job_id)
    assert job is not None
    return job


def claim_all(queue: tenure.Queue, limit: int = 1, **options: Any) -> list[tenure.Claim]:
    """Everything the queue hands out, in the order it does, `limit` at a time."""
    taken: list[tenure.Claim] = []
    while claims := queue.claim(limit, **options):
        assert len(claims) <= limit
        taken += claims
    return taken


def settle_all(queue: tenure.Queue, claims: Iterable[tenure.Claim]) -> None:
    """All of these are done, and each end stands."""
    pairs = [(claim, tenure.Done()) for claim in claims]
    assert queue.settle_many(pairs) == [True] * len(pairs)


def at_once(work: Iterable[Callable[[], T]]) -> list[T]:
    """Do all of these in threads of their own that start together; their answers, or what one of them raised."""
    tasks = list(work)
    start = threading.Barrier(len(tasks))

    def begin(task: Callable[[], T]) -> T:
        start.wait(60)
        return task()

    with ThreadPoolExecutor(len(tasks)) as threads:
        return list(threads.map(begin, tasks))


def wait_until_blocked(place: Place, work: Future[Any]) -> None:
    """Return once `work` waits for another transaction; SQLite shows nobody who waits, there it only has no answer yet."""
    waiters = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while place.store == "postgres" and not place.sql(waiters):
        assert not work.done(), work.result()
    assert not work.done(), work.result()
