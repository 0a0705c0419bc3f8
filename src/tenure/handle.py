"""Job: one enqueued job in the hands of who enqueued it. Wait for its result, cancel it, replay it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from tenure.duration import Duration, parse
from tenure.errors import JobFailed, ResultNotKept
from tenure.job import Cancelling, JobId, JobSeen, Replayed, State

if TYPE_CHECKING:
    from datetime import datetime

    from tenure.client.async_queue import AsyncQueue
    from tenure.client.queue import Queue
    from tenure.kinds import Kind
    from tenure.newjob import NewJob

__all__ = ["Job", "Producer"]

R = TypeVar("R")
_FIRST, _LONGEST = 0.005, 1.0
_WHY = "it is larger than 64 KiB, or no JSON, or None, or the job was ended without one; its worker's log says more"
_NEVER = "its kind has keep_result=False; let it keep results, or look at job.get().state"


class Producer(Protocol):
    """Who stores the jobs of a kind: the app."""

    @property
    def queue(self) -> Queue:
        """The queue, for who waits."""
        ...

    async def aqueue(self) -> AsyncQueue:
        """The queue, for who awaits."""
        ...

    def enqueue_job(self, job: NewJob, kind: Kind[Any, R, Any]) -> Job[R]:
        """Store it."""
        ...

    async def aenqueue_job(self, job: NewJob, kind: Kind[Any, R, Any]) -> Job[R]:
        """Store it, awaited."""
        ...


class Job(Generic[R]):
    """An enqueued job. `inserted` is False where its unique key was taken: then it is the job that was there before."""

    __slots__ = ("_kind", "_producer", "id", "inserted")

    def __init__(self, id: JobId, inserted: bool, kind: Kind[Any, R, Any], producer: Producer) -> None:
        self.id, self.inserted = id, inserted
        self._kind, self._producer = kind, producer

    @property
    def kind(self) -> str:
        """The name of what handles it."""
        return self._kind.name

    def get(self) -> JobSeen | None:
        """The job as it stands now; None if it is gone."""
        return self._producer.queue.get(self.id)

    async def aget(self) -> JobSeen | None:
        """The same, awaited."""
        return await (await self._producer.aqueue()).get(self.id)

    def result(self, timeout: Duration | None = None) -> R:
        """What the handler returned, once it has: JobFailed if it ended otherwise, TimeoutError after `timeout`.

        ResultNotKept if nothing of it was kept, though the handler's annotation knows no None.
        """
        for rest in _rests(timeout, self.id):
            job = self.get()
            if job is None or job.state in _ENDED:
                return self._answer(job)
            time.sleep(rest)
        raise AssertionError  # the rests end by raising

    async def aresult(self, timeout: Duration | None = None) -> R:  # noqa: ASYNC109 - as result has it
        """The same, awaited."""
        for rest in _rests(timeout, self.id):
            job = await self.aget()
            if job is None or job.state in _ENDED:
                return self._answer(job)
            await asyncio.sleep(rest)
        raise AssertionError  # the rests end by raising

    def cancel(self, reason: str = "cancelled") -> Cancelling:
        """Cancel it if it is pending; ask its worker to if it runs."""
        return self._producer.queue.cancel(self.id, reason)

    async def acancel(self, reason: str = "cancelled") -> Cancelling:
        """The same, awaited."""
        return await (await self._producer.aqueue()).cancel(self.id, reason)

    def replay(self, *, run_at: datetime | None = None, delay: Duration | None = None) -> Replayed:
        """Start it anew, once it has finished: at once, at `run_at`, or after `delay`."""
        return self._producer.queue.replay(self.id, run_at=run_at, delay=delay)

    async def areplay(self, *, run_at: datetime | None = None, delay: Duration | None = None) -> Replayed:
        """The same, awaited."""
        return await (await self._producer.aqueue()).replay(self.id, run_at=run_at, delay=delay)

    def _answer(self, job: JobSeen | None) -> R:
        if job is None:
            raise JobFailed(self.id, None, "it was deleted, or never stored")
        if job.state is not State.DONE:
            raise JobFailed(self.id, job.state.value, job.error or job.reason or "")
        if job.result_text is None and not self._kind.returned.may_be_none:
            raise ResultNotKept(self.id, _WHY if self._kind.terms.keep_result else _NEVER)
        return cast("R", self._kind.returned.decoded(job.result_text))

    def __repr__(self) -> str:
        return f"Job(id={self.id!r}, kind={self.kind!r}, inserted={self.inserted})"


_ENDED = frozenset({State.DONE, State.DEAD, State.CANCELLED})


def _rests(timeout: Duration | None, job_id: str) -> Rests:
    return Rests(None if timeout is None else parse(timeout, "timeout").total_seconds(), job_id)


class Rests:
    """How long to rest between looks: longer and longer, never past the deadline, which raises TimeoutError."""

    def __init__(self, seconds: float | None, job_id: str) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._rest, self._looked, self._job = _FIRST, False, job_id

    def __iter__(self) -> Rests:
        return self

    def __next__(self) -> float:
        left = _LONGEST if self._deadline is None else self._deadline - time.monotonic()
        if left <= 0 and self._looked:
            raise TimeoutError(f"job {self._job} has not ended yet")
        self._looked = True
        rest, self._rest = min(self._rest, max(left, 0)), min(self._rest * 1.5, _LONGEST)
        return rest
