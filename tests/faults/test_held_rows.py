"""A row that somebody's transaction holds: its job cannot be settled, those beside it can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import tenure
from tests.support.fresh import postgres_schema
from tests.worker.house import House, until


@pytest.fixture
def house(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """An app whose statements wait only a moment for a lock."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with postgres_schema(postgres_url) as schema:
        made = House("postgres", f"{postgres_url}?schema={schema}&options={quote('-c lock_timeout=200ms')}")
        yield made
        made.close()


def test_a_handler_that_leaves_its_transaction_open_holds_up_only_its_own_job(house: House) -> None:
    kept: list[psycopg.Connection[tuple[object, ...]]] = []

    @house.app.job(retry=tenure.Fixed("1h"))
    def keeps(ctx: tenure.Context) -> None:
        kept.append(psycopg.connect(house.url.partition("?")[0]))
        ctx.claim.settle_in(kept[0], tenure.Done())

    @house.app.job
    async def works(n: int) -> int:
        return n

    job = keeps.enqueue()
    working = house.start(lease="3s")
    until(lambda: kept)
    until(lambda: working.worker._settler._batch)
    others = [works.enqueue(n) for n in range(20)]
    assert [other.result("30s") for other in others] == list(range(20))
    assert house.seen(job, lambda _: True).state == "running"
    kept[0].close()
    assert house.seen(job, lambda j: j.state == "scheduled").attempt == 1
    assert house.story(job)[0][1] == "RolledBack"
