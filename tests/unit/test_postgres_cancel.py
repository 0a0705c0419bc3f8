"""Cancelling on PostgreSQL, in a transaction of the caller's that is held for as long as it likes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg

import tenure
from tests.support.fresh import postgres_schema


def test_a_cancel_in_a_transaction_that_is_held_keeps_no_other_waiting_and_both_are_counted(
    postgres_url: str,
) -> None:
    with postgres_schema(postgres_url) as schema, tenure.open(f"{postgres_url}?schema={schema}") as q:
        held, other = (q.enqueue("k").id for _ in range(2))
        with psycopg.connect(postgres_url) as own:
            assert q.using(own).cancel(held) == "cancelled"
            assert q.cancel(other) == "cancelled"
            own.commit()
        hour = timedelta(hours=1)
        found = q.rollups(datetime.now(UTC) - hour, datetime.now(UTC) + hour, step="1d")
        assert sum(r.cancelled for r in found) == 2
