"""Enqueue inside a caller's own transaction, with jobs made by `kind.call(…)`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from tenure.client.queue import AsyncTransaction, Queue, Transaction
from tenure.job import Enqueued
from tenure.newjob import NewJob
from tenure.producing import Batch, Producing

__all__ = ["AppTransaction", "AsyncAppTransaction", "app_transaction"]


class HasQueue(Protocol):
    """Something with a queue: the app."""

    producing: Producing | None

    @property
    def queue(self) -> Queue:
        """The queue."""
        ...


class AppTransaction:
    """What is enqueued here commits or rolls back with the caller's sync transaction."""

    def __init__(self, inner: Transaction, producing: Producing | None = None) -> None:
        self._inner, self._producing = inner, producing or _plainly

    def enqueue(self, job: NewJob) -> Enqueued:
        """Store one job."""
        batch = Batch([job])
        with self._producing(batch):
            batch.stored = [self._inner.enqueue_job(*batch.jobs)]
        return batch.stored[0]

    def enqueue_many(self, jobs: Iterable[NewJob]) -> list[Enqueued]:
        """Store many."""
        batch = Batch(jobs)
        with self._producing(batch):
            batch.stored = self._inner.enqueue_many(batch.jobs)
        return batch.stored


class AsyncAppTransaction:
    """What is enqueued here commits or rolls back with the caller's async transaction."""

    def __init__(self, inner: AsyncTransaction, producing: Producing | None = None) -> None:
        self._inner, self._producing = inner, producing or _plainly

    async def enqueue(self, job: NewJob) -> Enqueued:
        """Store one job."""
        batch = Batch([job])
        with self._producing(batch):
            batch.stored = [await self._inner.enqueue_job(*batch.jobs)]
        return batch.stored[0]

    async def enqueue_many(self, jobs: Iterable[NewJob]) -> list[Enqueued]:
        """Store many."""
        batch = Batch(jobs)
        with self._producing(batch):
            batch.stored = await self._inner.enqueue_many(batch.jobs)
        return batch.stored


def _plainly(_batch: Batch) -> AbstractContextManager[None]:
    return nullcontext()


def app_transaction(app: HasQueue, connection: Any) -> AppTransaction | AsyncAppTransaction:
    """The app inside this connection's transaction, sync or async as the connection is."""
    inner = app.queue.inside(connection)
    if isinstance(inner, Transaction):
        return AppTransaction(inner, app.producing)
    return AsyncAppTransaction(inner, app.producing)
