"""Firing on PostgreSQL, where somebody else's transaction may hold a schedule for as long as it likes."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.fresh import postgres_schema


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def schema(postgres_url: str) -> Iterator[str]:
    with postgres_schema(postgres_url) as schema:
        yield schema


@pytest.fixture
def cq(postgres_url: str, schema: str, clock: MovedClock) -> Iterator[tenure.Queue]:
    with tenure.open(f"{postgres_url}?schema={schema}", clock=clock) as queue:
        yield queue


def test_a_schedule_in_somebody_s_hands_is_passed_by_and_not_lost(
    cq: tenure.Queue, clock: MovedClock, postgres_url: str, schema: str
) -> None:
    for name in ("a", "b"):
        cq.schedule(name, "@hourly", "k", missed=2)
    clock.advance("2h")
    with psycopg.connect(postgres_url) as other:
        other.execute(f"SELECT 1 FROM \"{schema}\".schedules WHERE name = 'a' FOR UPDATE".encode())
        assert [fired.name for fired in cq.fire()] == ["b", "b"]
        assert cq.fire() == []
        other.rollback()
    assert [(fired.name, fired.fire_at) for fired in cq.fire()] == [("a", clock.at("-1h")), ("a", clock.now)]
