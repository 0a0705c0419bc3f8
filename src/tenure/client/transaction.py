"""The verbs inside a caller's own transaction (`using`), and settling there (`claim.settle_in`)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from tenure.client.faces import asynchronous, synchronous
from tenure.client.verbs import Call, Clock, Verbs
from tenure.errors import ClaimLost
from tenure.job import Claim
from tenure.outcome import Outcome
from tenure.payload import MAX_PAYLOAD
from tenure.store.base import Store
from tenure.store.foreign import async_runner, foreign_capabilities, is_async, runner
from tenure.store.plan import arun, run

__all__ = ["AsyncTransaction", "Owner", "Transaction"]

T = TypeVar("T")


class Owner:
    """Whose claims they are: makes the verbs of one store, and settles claims inside a caller's own transaction."""

    def __init__(self, store: Store, clock: Clock | None, max_crashes: int) -> None:
        self._store, self._clock, self._max_crashes = store, clock, max_crashes

    def verbs(self, max_payload: int = MAX_PAYLOAD, *, inside: bool = False) -> Verbs:
        """The verbs as they are said to the store itself, or inside a caller's transaction."""
        return Verbs(
            foreign_capabilities(self._store) if inside else self._store.dialect.can,
            lambda: self._store.memory,
            clock=self._clock,
            owner=self,
            inside=inside,
            max_payload=max_payload,
            max_crashes=self._max_crashes,
        )

    def settle_in(self, claim: Claim, connection: Any, outcome: Outcome) -> Coroutine[Any, Any, None] | None:
        """Settle inside the caller's transaction, or raise ClaimLost so that it rolls back."""
        call = self.verbs(inside=True).settle_in(claim, outcome)
        if is_async(connection):
            return self._settle_later(claim, connection, call)
        if not run(call.make(False), runner(connection, self._store)):
            raise ClaimLost(claim.id, claim.epoch)
        return None

    async def _settle_later(self, claim: Claim, connection: Any, call: Call[bool]) -> None:
        if not await arun(call.make(False), await async_runner(connection, self._store)):
            raise ClaimLost(claim.id, claim.epoch)


class Transaction:
    """The verbs inside a caller's own sync transaction: they commit or roll back with it."""

    def __init__(self, owner: Owner, store: Store, connection: Any, max_payload: int) -> None:
        self._store, self._connection = store, connection
        self._verbs = owner.verbs(max_payload, inside=True)

    def _run(self, call: Call[T]) -> T:
        return run(call.make(False), runner(self._connection, self._store))

    enqueue = synchronous(Verbs.enqueue)
    enqueue_job = synchronous(Verbs.enqueue_job)
    enqueue_many = synchronous(Verbs.enqueue_many)
    settle = synchronous(Verbs.settle)
    settle_many = synchronous(Verbs.settle_many)
    progress = synchronous(Verbs.progress)
    cancel = synchronous(Verbs.cancel)
    replay = synchronous(Verbs.replay)
    get = synchronous(Verbs.get)
    counts = synchronous(Verbs.counts)
    note = synchronous(Verbs.note)
    set_note = synchronous(Verbs.set_note)
    rollups = synchronous(Verbs.rollups)
    error_groups = synchronous(Verbs.error_groups)
    add_figures = synchronous(Verbs.add_figures)
    tidy_figures = synchronous(Verbs.tidy_figures)


class AsyncTransaction:
    """The verbs inside a caller's own async transaction: they commit or roll back with it."""

    def __init__(self, owner: Owner, store: Store, connection: Any, max_payload: int) -> None:
        self._store, self._connection = store, connection
        self._verbs = owner.verbs(max_payload, inside=True)

    async def _run(self, call: Call[T]) -> T:
        return await arun(call.make(False), await async_runner(self._connection, self._store))

    enqueue = asynchronous(Verbs.enqueue)
    enqueue_job = asynchronous(Verbs.enqueue_job)
    enqueue_many = asynchronous(Verbs.enqueue_many)
    settle = asynchronous(Verbs.settle)
    settle_many = asynchronous(Verbs.settle_many)
    progress = asynchronous(Verbs.progress)
    cancel = asynchronous(Verbs.cancel)
    replay = asynchronous(Verbs.replay)
    get = asynchronous(Verbs.get)
    counts = asynchronous(Verbs.counts)
    note = asynchronous(Verbs.note)
    set_note = asynchronous(Verbs.set_note)
    rollups = asynchronous(Verbs.rollups)
    error_groups = asynchronous(Verbs.error_groups)
    add_figures = asynchronous(Verbs.add_figures)
    tidy_figures = asynchronous(Verbs.tidy_figures)
