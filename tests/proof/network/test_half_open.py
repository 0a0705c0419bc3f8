"""A machine that is gone in the middle of a transaction holds nobody's jobs for ever, and a dead line is noticed."""

from __future__ import annotations

import time
from urllib.parse import quote

import psycopg
import pytest

import tenure
from tenure.store.open import open_store
from tenure.store.postgres.store import PostgresStore
from tests.proof import depth
from tests.proof.ledger import balance, intact
from tests.proof.tally import Tally
from tests.support.proxy import Proxy
from tests.support.watching import heard_during, hears_by_and_by

_SOON = quote("-c lock_timeout=200ms -c idle_in_transaction_session_timeout=1s")


def sessions(postgres_url: str, name: str) -> int:
    """How many sessions of this name hold a transaction open and do nothing."""
    with psycopg.connect(postgres_url, autocommit=True) as other:
        text = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state = 'idle in transaction'"
        row = other.execute(text, (name,)).fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.timeout(200)
def test_a_transaction_whose_client_is_gone_lets_its_jobs_go(
    proxy: Proxy, postgres_url: str, schema: str, direct: str, tally: Tally
) -> None:
    """At the depth of the proof with the settings that everybody has, else with shorter ones."""
    options = depth.of(test=1, proof=0)
    url = f"{proxy.url}&schema={schema}&application_name={schema}" + (f"&options={_SOON}" if options else "")
    with tenure.open(direct) as q, tenure.open(url) as gone:
        job = q.enqueue("k").id
        [claim] = gone.claim(lease="1s")
        gone.beat(gone.worker)
        cut = proxy.lose_request(b"COMMIT\0", unnoticed=True)
        try:
            settled = gone.settle(claim, tenure.Release())
        except tenure.StoreUnavailable:
            settled = False  # it may be asked again for as long as the lost transaction holds the row
        assert cut.happened.is_set()
        start = time.monotonic()
        assert settled or sessions(postgres_url, schema) == 1
        until_taken = 45.0
        taken: list[tenure.Claim] = []
        while not taken:
            assert time.monotonic() - start < until_taken, "its job is still held"
            taken = q.claim()
            time.sleep(0.05)
        assert taken[0].id == job
        assert q.settle(taken[0], tenure.Done())
        assert sessions(postgres_url, schema) == 0
        sums = balance(q, [job], tried=[job], allow=("done",))
    intact(direct)
    tally(clients_gone=1, held_seconds=round(time.monotonic() - start), jobs=sums.acked, losses=sums.losses)


def test_sessions_of_ours_do_not_wait_in_a_transaction_for_long(direct: str) -> None:
    store = open_store(direct)
    assert isinstance(store, PostgresStore)
    link = store._pool.take().link
    assert link.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("30s",)
    link.close()
    store.close()


@pytest.mark.timeout(200)
def test_a_dead_line_that_listens_is_noticed_within_45_seconds(
    proxy: Proxy, schema: str, direct: str, tally: Tally, caplog: pytest.LogCaptureFixture
) -> None:
    """At the depth of the proof with the settings that everybody has, else with shorter ones."""
    with tenure.open(direct) as q:
        store = open_store(f"{proxy.url}&schema={schema}")
        assert isinstance(store, PostgresStore)
        watch = store.watch(**depth_settings())
        hears_by_and_by(watch)
        proxy.fall_silent()
        start = time.monotonic()
        while "the connection that listens fell silent" not in caplog.text:
            assert time.monotonic() - start < 45, "nobody noticed"
            watch.wait(0.5)
        noticed = time.monotonic() - start
        hears_by_and_by(watch)
        assert heard_during(watch, lambda: q.enqueue("k")) == [True]
        watch.close()
        store.close()
    tally(dead_lines=1, noticed_after=round(noticed))


def depth_settings() -> dict[str, float]:
    """How often the line is tested: as ever, or all the time."""
    return {"test_every": 0.2, "test_within": 0.5} if depth.DEPTH == "test" else {}
