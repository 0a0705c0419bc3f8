"""A table that somebody's transaction holds: the chore that needs it is given up in time, and everything else goes on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from tenure.events import ChoreFailed
from tenure.store.plan import Statement
from tenure.store.postgres.limits import ORDINARY, WORK, Limits
from tenure.store.within import within
from tests.support.fresh import postgres_schema
from tests.worker.house import Heard, House, until


@pytest.fixture
def house(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """An app whose store would wait an hour for an answer, and whose janitor has a second."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    limits = Limits(3_600.0, 3_600.0)
    monkeypatch.setattr("tenure.store.postgres.store.limits_at", lambda _place: limits)
    with postgres_schema(postgres_url) as schema:
        made = House("postgres", f"{postgres_url}?schema={schema}")
        made.app.janitor = replace(made.app.janitor, limit=timedelta(seconds=1))
        yield made
        made.close()


def test_a_worker_begins_though_a_chore_is_not_answered_and_the_chore_is_done_when_it_can_be(
    house: House,
) -> None:
    @house.app.job
    async def mine() -> str:
        return "ran"

    house.app.schedules.add("soon", "* * * * * *", mine.call())
    heard, job = Heard(house.app, ChoreFailed), mine.enqueue()
    url, _, schema = house.url.partition("?schema=")
    with psycopg.connect(url) as other:
        other.execute(f'LOCK TABLE "{schema}".schedules IN ACCESS EXCLUSIVE MODE'.encode())
        house.start()
        assert job.result("60s") == "ran"
        until(lambda: any("not answered within" in e.error for e in heard.events if e.chore == "fire"))
        assert len(house.queue.list()) == 1
    until(lambda: len(house.queue.list()) > 1, "the schedule never fired")


def test_a_statement_gets_what_is_left_of_its_caller_s_time_and_no_more_than_its_own_limit() -> None:
    limits = Limits()
    asked = [Statement(name, {}) for name in ("promote", "next_due")]
    with within(25.0):
        assert all(0.0 < limits.of(one) <= 25.0 for one in asked)
        with within(3_600.0):
            assert [limits.of(one) for one in asked] == [ORDINARY, WORK]
        with within(0.0):
            assert all(0.0 < limits.of(one) <= 0.1 for one in asked)
        with within(None):
            assert [limits.of(one) for one in asked] == [ORDINARY, WORK]
    assert [limits.of(one) for one in asked] == [ORDINARY, WORK]
