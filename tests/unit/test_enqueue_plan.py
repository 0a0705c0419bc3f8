"""What enqueueing asks of the store: as many statements for five hundred webhooks as for one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.job import Request
from tenure.newjob import NewJob, Row, check
from tenure.store.enqueue import enqueue
from tenure.store.plan import Result, Statement
from tenure.store.postgres.bind import bound
from tenure.store.postgres.dialect import CAN as POSTGRES
from tenure.store.sqlite.dialect import CAN as SQLITE
from tests.unit.test_hooks import statements

MIB = 1_048_576
BY_STEPS = replace(SQLITE, whole=False)
STEPS = {
    "sqlite": (SQLITE, ["enqueue_whole"]),
    "sqlite, one step after the other": (BY_STEPS, ["ledger", "enqueue", "request_add"]),
    "postgres": (POSTGRES, ["ledger", "group_locks", "enqueue", "request_add"]),
}


def webhooks(count: int, size: int = 10) -> list[Row]:
    """Jobs as a gateway makes them: unique for a while, in a line of their own, with their request."""
    return [
        check(
            NewJob(
                kind="gateway.bot", payload={}, unique=f"update {n}", unique_for="48h", group=f"chat {n}", order="start",
                expires_in="24h", request=Request(b"x" * size, {"content-type": "application/json"}),
            )
        )
        for n in range(count)
    ]  # fmt: skip


def all_taken(count: int) -> Any:
    """A store in which nothing of this is there yet, and nobody else decides about groups."""

    def answer(statement: Statement) -> Result:
        if statement.name == "group_locks":
            return Result([(f"chat {n}", True) for n in range(count)], 0)
        return Result([], count)

    return answer


@pytest.mark.parametrize("count", [1, 500])
@pytest.mark.parametrize("store", STEPS)
def test_webhooks_cost_the_same_statements_however_many_come_together(store: str, count: int) -> None:
    can, steps = STEPS[store]
    ran = statements(enqueue(webhooks(count), can, now=None), all_taken(count))
    assert [s.name for s in ran] == steps
    assert [len(s.rows) for s in ran if s.rows is not None] == [count] * len(set(steps) - {"group_locks"})


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (webhooks(1), [("ledger", False), ("enqueue", True)]),
        (webhooks(500), [("ledger", False), ("enqueue", True)]),
        ([check(NewJob(kind="k")) for _ in range(2)], [("enqueue", True)]),
    ],
    ids=["a webhook", "500 webhooks", "bare jobs"],
)
def test_a_server_is_asked_what_may_be_taken_and_then_to_store_and_commit(
    rows: list[Row], expected: list[tuple[str, bool]]
) -> None:
    plan, answer, trips = enqueue(rows, POSTGRES, now=None, ends=True), all_taken(len(rows)), list[Any]()
    statement = next(plan)
    with pytest.raises(StopIteration) as end:
        while True:
            behind = statement.then
            trips.append((statement.name, (behind or statement).last))
            statement = plan.send(answer(statement)._replace(then=None if behind is None else answer(behind)))
    assert trips == expected
    assert all(one.inserted for one in end.value.value)


def test_the_commit_goes_along_only_where_nothing_follows_and_nobody_can_be_in_the_way() -> None:
    def goes_along(*rows: Row, ends: bool = True) -> bool:
        plan = enqueue(rows, BY_STEPS, now=None, ends=ends)
        return any(s.last for s in statements(plan, lambda s: Result([], len(s.rows or ()))))

    one, other = webhooks(2)
    assert goes_along(one, other)
    assert not goes_along(one, other, ends=False)
    assert not goes_along(one, check(NewJob(kind="k", unique="a slot")))
    assert not goes_along(one, check(NewJob(kind="k", id=other.id)))
    assert not goes_along(one, check(NewJob(kind="k", group="g", group_limit=2)))


def test_who_holds_a_period_is_asked_only_where_one_was_not_taken() -> None:
    rows = webhooks(3)
    held = {str(r.unique_hash): r.id for r in rows}
    held[str(rows[1].unique_hash)] = webhooks(1)[0].id

    def answer(statement: Statement) -> Result:
        if statement.name == "ledger_holders":
            return Result(list(held.items()), 0)
        return Result([], 2)

    ran = statements(enqueue(rows, BY_STEPS, now=None), answer)
    assert [s.name for s in ran] == ["ledger", "ledger_holders", "enqueue", "request_add"]
    assert [len(s.rows) for s in ran if s.rows is not None] == [3, 2, 2]


def test_bodies_of_many_megabytes_go_in_several_statements() -> None:
    ran = statements(enqueue(webhooks(40, MIB), BY_STEPS, now=None), all_taken(40))
    assert [len(s.rows or ()) for s in ran if s.name == "request_add"] == [16, 16, 8]


def test_bodies_that_would_burden_memory_go_by_steps() -> None:
    assert next(enqueue(webhooks(15, MIB), SQLITE, now=None)).name == "enqueue_whole"
    assert next(enqueue(webhooks(17, MIB), SQLITE, now=None)).name == "ledger"


def test_a_body_longer_than_a_statement_should_carry_goes_alone() -> None:
    ran = statements(enqueue(webhooks(2, 20 * MIB), BY_STEPS, now=None), all_taken(2))
    assert [len(s.rows or ()) for s in ran if s.name == "request_add"] == [1, 1]


def test_postgresql_is_sent_all_bodies_as_one_value() -> None:
    rows = [{"id": "a", "body": b"one", "headers": "{}"}, {"id": "b", "body": b"", "headers": "{}"}]
    rows.append({"id": "c", "body": b"\x00\xff", "headers": "{}"})
    sent = bound(Statement("request_add", {}, rows=rows))
    assert sent["bodies"] == b"one\x00\xff"
    assert '"at":1,"size":3' in sent["rows"]
    assert '"at":4,"size":0' in sent["rows"]
    assert '"at":4,"size":2' in sent["rows"]


def test_in_a_callers_transaction_or_asked_again_each_step_is_looked_at() -> None:
    def names(**how: bool) -> list[str]:
        def answer(statement: Statement) -> Result:
            if statement.name in {"ledger_holders", "resolve"}:
                return Result([], 0)
            return Result([], len(statement.rows or ()))

        return [s.name for s in statements(enqueue(webhooks(2), SQLITE, now=None, **how), answer)]

    assert names() == ["enqueue_whole"]
    assert names(inside=True) == ["ledger", "enqueue", "request_add"]
    assert "enqueue_whole" not in names(again=True)


@pytest.mark.parametrize(
    "other",
    [
        {"unique": "a slot"}, {"id": "0190a8c0-0000-7000-8000-000000000000"}, {"group": "g", "group_limit": 2},
        {"group": "g", "delay": "1h"}, {"group": "chat 0", "priority": 3},
    ],
    ids=["slot", "id", "two at a time", "later", "urgent"],
)  # fmt: skip
def test_what_has_to_be_decided_about_goes_by_steps(other: dict[str, Any]) -> None:
    rows = [*webhooks(1), check(NewJob(kind="k", **other))]
    assert next(enqueue(rows, SQLITE, now=None)).name != "enqueue_whole"


def test_who_lost_a_period_is_answered_with_whose_it_is() -> None:
    rows, holder = webhooks(2), webhooks(1)[0].id
    plan = enqueue(rows, SQLITE, now=None)
    next(plan)
    with pytest.raises(StopIteration) as end:
        plan.send(Result([(rows[0].id, holder)], 2))
    assert [(one.id, one.inserted) for one in end.value.value] == [(holder, False), (rows[1].id, True)]
