"""A store verb is a plan: a generator that yields statements and receives what they answered.

The verbs are written once. Each database brings its own text for a statement of the same name, and whoever runs a plan
decides how to wait: `run` on a connection that answers at once, `arun` on one that is awaited. One plan is one
transaction, or part of the caller's own. A statement marked `alone` needs no transaction around it, so a plan of one
such statement costs one round trip. Statements that need not wait for each other's answers are one (`then`), and one that
ends its plan says so (`last`): a runner may send all of that, and the commit, in one round trip, or take them in turn.
A plan is told of a statement that failed, when what it did is undone, and may have an answer all the same.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

__all__ = [
    "COMMIT",
    "NOTHING",
    "ROLLBACK",
    "AsyncRunner",
    "Plan",
    "Result",
    "Runner",
    "Statement",
    "arun",
    "run",
]

T = TypeVar("T")


class Statement(Struct, frozen=True):
    """One statement by name, with its parameters.

    `rows` are many rows of the same shape, each a mapping or a struct; `columns` are the same by column: the cheap way.
    `copied` are the rows of a bulk copy, taken once. `then` is asked right after it, whatever it answers, unless it
    fails. `last`: whatever it answers, the transaction may be committed then.
    """

    name: str
    params: Mapping[str, Any]
    rows: Sequence[Any] | None = None
    columns: Mapping[str, Sequence[Any]] | None = None
    copied: Iterable[tuple[object, ...]] | None = None
    alone: bool = False
    reads: bool = False
    then: Statement | None = None
    last: bool = False


class Result(NamedTuple):
    """What a statement answered: its rows, how many it changed, and what the one behind it (`then`) answered."""

    rows: list[tuple[Any, ...]]
    changed: int
    then: Result | None = None


Plan = Generator[Statement, Result, T]
NOTHING = Result([], 0)
COMMIT = Statement("commit", {})
"""Ends the transaction here, if one was opened: whatever follows, this stands."""
ROLLBACK = Statement("rollback", {})
"""Undoes it here, if one is open."""


class Runner(Protocol):
    """Runs statements at once, inside a transaction that it opens when it must."""

    def execute(self, statement: Statement) -> Result:
        """Run one statement, and what is to be asked right after it if the runner knows how; else `run` does that."""
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
        try:
            statement = next(plan)
            while True:
                try:
                    answer = _ask(on, statement)
                except Exception as failed:
                    _ask(on, ROLLBACK)
                    statement = plan.throw(failed)
                else:
                    statement = plan.send(answer)
        except StopIteration as end:
            on.commit()
            return end.value  # type: ignore[no-any-return]
    except BaseException:  # a commit may be refused, too, and leave its transaction open
        on.rollback()
        raise


async def arun(plan: Plan[T], on: AsyncRunner) -> T:
    """Drive a plan to its end, awaiting each statement."""
    try:
        try:
            statement = next(plan)
            while True:
                try:
                    answer = await _aask(on, statement)
                except Exception as failed:
                    await _aask(on, ROLLBACK)
                    statement = plan.throw(failed)
                else:
                    statement = plan.send(answer)
        except StopIteration as end:
            await on.commit()
            return end.value  # type: ignore[no-any-return]
    except BaseException:
        await on.rollback()
        raise


def _ask(on: Runner, statement: Statement) -> Result:
    if statement is COMMIT:
        on.commit()
        return NOTHING
    if statement is ROLLBACK:
        with suppress(Exception):  # the connection is gone, which undoes it too
            on.rollback()
        return NOTHING
    answer = on.execute(statement)
    if statement.then is None or answer.then is not None:
        return answer
    return answer._replace(then=_ask(on, statement.then))


async def _aask(on: AsyncRunner, statement: Statement) -> Result:
    if statement is COMMIT:
        await on.commit()
        return NOTHING
    if statement is ROLLBACK:
        with suppress(Exception):
            await on.rollback()
        return NOTHING
    answer = await on.execute(statement)
    if statement.then is None or answer.then is not None:
        return answer
    return answer._replace(then=await _aask(on, statement.then))
