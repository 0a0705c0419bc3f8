"""Enqueue inside a caller's own transaction, with jobs made by `kind.call(…)`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from tenure.client.queue import Queue
from tenure.client.transaction import AsyncTransaction, Transaction
from tenure.job import Enqueued
from tenure.kinds import Kinds
from tenure.newjob import NewJob
from tenure.producing import Batch, Producing

__all__ = ["AppTransaction", "AsyncAppTransaction", "app_transaction"]


class HasQueue(Protocol):
    """Something with a queue and kinds: the app."""

    kinds: Kinds
    producing: Producing | None

    @property
    def queue(self) -> Queue:
        """The queue."""
        ...


class AppTransaction:
    """What is enqueued here commits or rolls back with the caller's sync transaction."""

    def __init__(self, inner: Transaction, kinds: Kinds, producing: Producing | None = None) -> None:
        self._inner, self._kinds, self._producing = inner, kinds, producing or _plainly

    def enqueue(self, job: NewJob, *, force: bool = False) -> Enqueued:
        """Store one job. `force`: a kind only other processes know."""
        batch = Batch([self._kinds.fit(job, force=force)])
        with self._producing(batch):
            batch.stored = [self._inner.enqueue_job(*batch.jobs)]
        return batch.stored[0]

    def enqueue_many(self, jobs: Iterable[NewJob], *, force: bool = False) -> list[Enqueued]:
        """Store many."""
        batch = Batch(self._kinds.fit_all(jobs, force=force))
        with self._producing(batch):
            batch.stored = self._inner.enqueue_many(batch.jobs)
        return batch.stored


class AsyncAppTransaction:
    """What is enqueued here commits or rolls back with the caller's async transaction."""

    def __init__(self, inner: AsyncTransaction, kinds: Kinds, producing: Producing | None = None) -> None:
        self._inner, self._kinds, self._producing = inner, kinds, producing or _plainly

    async def enqueue(self, job: NewJob, *, force: bool = False) -> Enqueued:
        """Store one job. `force`: a kind only other processes know."""
        batch = Batch([self._kinds.fit(job, force=force)])
        with self._producing(batch):
            batch.stored = [await self._inner.enqueue_job(*batch.jobs)]
        return batch.stored[0]

    async def enqueue_many(self, jobs: Iterable[NewJob], *, force: bool = False) -> list[Enqueued]:
        """Store many."""
        batch = Batch(self._kinds.fit_all(jobs, force=force))
        with self._producing(batch):
            batch.stored = await self._inner.enqueue_many(batch.jobs)
        return batch.stored


def _plainly(_batch: Batch) -> AbstractContextManager[None]:
    return nullcontext()


def app_transaction(app: HasQueue, connection: Any) -> AppTransaction | AsyncAppTransaction:
    """The app inside this connection's transaction, sync or async as the connection is."""
    inner = app.queue.inside(connection)
    if isinstance(inner, Transaction):
        return AppTransaction(inner, app.kinds, app.producing)
    return AsyncAppTransaction(inner, app.kinds, app.producing)
