"""The store that is examined: opened once, asked by every check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tenure.client.queue import Queue
from tenure.config import PostgresPlace, SqlitePlace
from tenure.doctor.limits import Limits
from tenure.store import health
from tenure.store.base import Store
from tenure.store.plan import Plan

__all__ = ["Patient"]

T = TypeVar("T")


@dataclass(slots=True)
class Patient:
    """An open store, and what a check needs to judge it."""

    place: SqlitePlace | PostgresPlace
    store: Store
    limits: Limits
    machine: Callable[[], int]
    """This machine's clock, in microseconds."""
    queue: Queue = field(init=False)
    _vitals: dict[str, str | None] | None = None

    def __post_init__(self) -> None:
        """The client over the same store."""
        self.queue = Queue(self.store)

    def ask(self, make: Callable[[], Plan[T]]) -> T:
        """Run a plan that reads."""
        return self.store.run(lambda _: make(), reads=True)

    @property
    def vitals(self) -> dict[str, str | None]:
        """What the database says of itself; asked once."""
        if self._vitals is None:
            self._vitals = self.ask(health.vitals)
        return self._vitals

    def said(self, name: str) -> str:
        """One of the vitals, as text."""
        return self.vitals.get(name) or ""

    def number(self, name: str) -> int:
        """One of the vitals, as a number."""
        return int(self.vitals.get(name) or 0)
