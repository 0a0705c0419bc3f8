"""What hooks add to a transaction: nothing where nobody dies, one look for each hundred who do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tenure.job import State
from tenure.store.changes import Changes, Held
from tenure.store.hooks import call_hooks
from tenure.store.plan import Plan, Result, Statement
from tenure.store.postgres.dialect import CAN as POSTGRES
from tenure.store.sqlite.dialect import CAN as SQLITE

both = pytest.mark.parametrize("can", [SQLITE, POSTGRES], ids=["sqlite", "postgres"])
JOB = Held(
    "0190a8c0-0000-7000-8000-000000000000", 1, 3, 1, 5, 0, 0, None, None, None, "w", None, None, None, 7, "k"
)
DEAD = (
    *("tell", "default", 0, 5, JOB.id, 3, "k", "default", "null", 1, 5, 0, "failed", "no", 1_000_000, 2_000_000),
    *(None, None),
)  # fmt: skip


def statements(plan: Plan[Any], answer: Callable[[Statement], Result]) -> list[Statement]:
    """Every statement of a plan that is answered so."""
    ran = []

    def ask(statement: Statement) -> Result:
        ran.append(statement)
        answered = answer(statement)
        return answered if statement.then is None else answered._replace(then=ask(statement.then))

    try:
        statement = next(plan)
        while True:
            statement = plan.send(ask(statement))
    except StopIteration:
        return ran


def nobody_listens(_: Statement) -> Result:
    return Result([], 1)


def somebody_listens(statement: Statement) -> Result:
    return Result([DEAD] if statement.name == "hooked" else [], 1)


@both
@pytest.mark.parametrize("end", [State.DONE, State.CANCELLED, None])
def test_who_does_not_die_costs_nothing(can: Any, end: State | None) -> None:
    changes = Changes()
    changes.back(JOB, run_at=9) if end is None else changes.end(JOB, end, "x")
    ran = statements(changes.write(can, now=None), nobody_listens)
    assert [s.name for s in ran] == ["requeue" if end is None else "finish"]


@both
def test_a_death_that_nobody_listens_to_costs_one_look(can: Any) -> None:
    changes = Changes()
    changes.end(JOB, State.DEAD, "fail", reason="failed")
    ran = statements(changes.write(can, now=None), nobody_listens)
    assert [s.name for s in ran] == ["finish", "hooked"]


@both
def test_many_deaths_are_looked_at_a_hundred_at_a_time(can: Any) -> None:
    ran = statements(call_hooks([JOB.id] * 250, can, now=None), nobody_listens)
    assert [s.params["ids"].count(JOB.id) for s in ran] == [100, 100, 50]


@both
def test_the_same_death_always_makes_the_same_job(can: Any) -> None:
    ran = (statements(call_hooks([JOB.id], can, now=None), somebody_listens) for _ in range(2))
    [row], [same] = ([row for s in one if s.name == "enqueue" for row in s.rows or ()] for one in ran)
    made = UUID(row.id)
    assert row == same
    assert (made.version, made.variant, made.int >> 80) == (7, UUID(JOB.id).variant, 2_000)
