"""A store verb is a plan: a generator that yields statements and receives what they answered.

The verbs are written once. Each database brings its own text for a statement of the same name, and whoever runs a plan
decides how to wait: `run` on a connection that answers at once, `arun` on one that is awaited. One plan is one
transaction, or part of the caller's own. A statement marked `alone` needs no transaction around it, so a plan of one
such statement costs one round trip.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

__all__ = ["AsyncRunner", "Plan", "Result", "Runner", "Statement", "arun", "run"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement by name, with its parameters.

    `rows` are many rows of the same shape, each a mapping; `columns` are the same by column: the cheap way. `copied` are
    the rows of a bulk copy, taken once.
    """

    name: str
    params: Mapping[str, Any]
    rows: Sequence[Any] | None = None
    columns: Mapping[str, Sequence[Any]] | None = None
    copied: Iterable[tuple[object, ...]] | None = None
    alone: bool = False
    reads: bool = False


class Result(NamedTuple):
    """What a statement answered: its rows, and how many it changed."""

    rows: list[tuple[Any, ...]]
    changed: int


Plan = Generator[Statement, Result, T]


class Runner(Protocol):
    """Runs statements at once, inside a transaction that it opens when it must."""

    def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        ...

    def commit(self) -> None:
        """End the transaction, if one was opened."""
        ...

    def rollback(self) -> None:
        """Undo the transaction, if one was opened."""
        ...


class AsyncRunner(Protocol):
    """The same, awaited."""

    async def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        ...

    async def commit(self) -> None:
        """End the transaction, if one was opened."""
        ...

    async def rollback(self) -> None:
        """Undo the transaction, if one was opened."""
        ...


def run(plan: Plan[T], on: Runner) -> T:
    """Drive a plan to its end at once."""
    try:
        statement = next(plan)
        while True:
            statement = plan.send(on.execute(statement))
    except StopIteration as end:
        on.commit()
        return end.value  # type: ignore[no-any-return]
    except BaseException:
        on.rollback()
        raise


async def arun(plan: Plan[T], on: AsyncRunner) -> T:
    """Drive a plan to its end, awaiting each statement."""
    try:
        statement = next(plan)
        while True:
            statement = plan.send(await on.execute(statement))
    except StopIteration as end:
        await on.commit()
        return end.value  # type: ignore[no-any-return]
    except BaseException:
        await on.rollback()
        raise
