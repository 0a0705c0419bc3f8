"""Who waits for somebody's transaction on PostgreSQL waits for so long, and is told what to do: on an event loop as elsewhere."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import tenure
from tenure.client import commit
from tenure.store.base import HELD
from tests.support.fresh import postgres_schema


async def _share(url: str, server: str) -> None:
    async with await tenure.aopen(url) as q:
        async with await psycopg.AsyncConnection.connect(server) as own:
            first = await q.using(own).enqueue("k", unique="slot")
            with pytest.raises(tenure.StoreUnavailable, match=HELD):
                await q.enqueue("k", unique="slot")
        assert await q.enqueue("k", unique="slot") == (first.id, False)


def test_a_shared_enqueue_gives_up_waiting_for_a_key(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "_PATIENCE", 0.2)
    with postgres_schema(postgres_url) as schema:
        asyncio.run(_share(f"{postgres_url}?schema={schema}", postgres_url))


def test_a_call_of_its_own_gives_up_by_itself(postgres_url: str) -> None:
    with (
        postgres_schema(postgres_url) as schema,
        tenure.open(f"{postgres_url}?schema={schema}") as q,
        psycopg.connect(postgres_url) as own,
    ):
        q.using(own).enqueue("k", unique="slot")
        with pytest.raises(tenure.StoreUnavailable, match=HELD):
            q.enqueue("k", unique="slot")
        own.rollback()
