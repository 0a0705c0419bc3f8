"""Enqueue inside a caller's own transaction, with jobs made by `kind.call(…)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from tenure.client.queue import AsyncTransaction, Queue, Transaction
from tenure.job import Enqueued
from tenure.newjob import NewJob

__all__ = ["AppTransaction", "AsyncAppTransaction", "app_transaction"]


class HasQueue(Protocol):
    """Something with a queue: the app."""

    @property
    def queue(self) -> Queue:
        """The queue."""
        ...


class AppTransaction:
    """What is enqueued here commits or rolls back with the caller's sync transaction."""

    def __init__(self, inner: Transaction) -> None:
        self._inner = inner

    def enqueue(self, job: NewJob) -> Enqueued:
        """Store one job."""
        return self._inner.enqueue_job(job)

    def enqueue_many(self, jobs: Iterable[NewJob]) -> list[Enqueued]:
        """Store many."""
        return self._inner.enqueue_many(jobs)


class AsyncAppTransaction:
    """What is enqueued here commits or rolls back with the caller's async transaction."""

    def __init__(self, inner: AsyncTransaction) -> None:
        self._inner = inner

    async def enqueue(self, job: NewJob) -> Enqueued:
        """Store one job."""
        return await self._inner.enqueue_job(job)

    async def enqueue_many(self, jobs: Iterable[NewJob]) -> list[Enqueued]:
        """Store many."""
        return await self._inner.enqueue_many(jobs)


def app_transaction(app: HasQueue, connection: Any) -> AppTransaction | AsyncAppTransaction:
    """The app inside this connection's transaction, sync or async as the connection is."""
    inner = app.queue.inside(connection)
    return AppTransaction(inner) if isinstance(inner, Transaction) else AsyncAppTransaction(inner)
