"""What holds vacuum back on a PostgreSQL server, and what only seems to: autovacuum itself, and standbys that ask for nothing."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.pq import ExecStatus, PGconn

from tenure.store.health import Pin, pins
from tenure.store.open import open_store
from tests.doctor.visits import visit
from tests.support.postgres import PostgresServer
from tests.support.workers import until

_SLOWLY = "autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1"
_AT_WORK = "SELECT pid::text FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND backend_xmin IS NOT NULL AND query LIKE '%much%'"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server whose autovacuum looks each second for something to do."""
    with PostgresServer(durable=False, settings={"autovacuum_naptime": "1s"}) as made:
        yield made


@contextmanager
def connected(server: PostgresServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.url(), autocommit=True) as link:
        yield link


@contextmanager
def standby(server: PostgresServer, slot: str, *, xmin: int | None = None) -> Iterator[None]:
    """Somebody who reads the server's log by a slot, and may ask for the rows of transactions from `xmin` on."""
    with connected(server) as link:
        link.execute("SELECT pg_create_physical_replication_slot(%s, true)", (slot,))
        [(lsn,)] = link.execute("SELECT pg_current_wal_flush_lsn()::text").fetchall()
        reader = PGconn.connect(f"{server.url()}?replication=true".encode())
        try:
            answer = reader.exec_(f"START_REPLICATION SLOT {slot} PHYSICAL {lsn}".encode())
            assert answer.status == ExecStatus.COPY_BOTH, reader.error_message
            if xmin is not None:
                reader.put_copy_data(b"h" + struct.pack("!qIIII", 0, xmin, 0, 0, 0))
                reader.flush()
            looks = "SELECT active AND (xmin IS NULL) = %s FROM pg_replication_slots WHERE slot_name = %s"
            until(lambda: link.execute(looks, (xmin is None, slot)).fetchall() == [(True,)])
            yield
        finally:
            reader.finish()
            until(lambda: link.execute("SELECT active FROM pg_replication_slots WHERE slot_name = %s", (slot,)).fetchall() == [(False,)])  # fmt: skip


def slots(server: PostgresServer) -> list[Pin]:
    """The slots that are told of, as they come."""
    store = open_store(server.url())
    try:
        return [pin for pin in store.run(lambda _: pins()) if pin.what == "replication slot"]
    finally:
        store.close()


def test_autovacuum_at_work_holds_nobody_back(server: PostgresServer) -> None:
    with connected(server) as link:
        open_store(server.url()).close()
        link.execute(f"CREATE TABLE much WITH (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0, {_SLOWLY}) AS SELECT n FROM generate_series(1, 50000) n".encode())  # fmt: skip
        link.execute("DELETE FROM much")
        until(lambda: link.execute(_AT_WORK).fetchall())
        told = [finding.found for finding in visit(server.url(), "vacuum", transaction=0.0)]
        # It works still: it takes a rest after each of hundreds of pages.
        [(pid,)] = link.execute(_AT_WORK).fetchall()
        assert [found for found in told if f"pid {pid} " in found] == []
        link.execute("DROP TABLE much")


def test_slots_are_told_of_that_keep_rows_or_have_no_reader_the_oldest_first(server: PostgresServer) -> None:
    with connected(server) as link:
        ids = [link.execute("SELECT pg_current_xact_id()::text::bigint").fetchall()[0][0] for _ in range(2)]
        try:
            with standby(server, "idle"), standby(server, "later", xmin=ids[1]):
                assert [(pin.name, pin.state) for pin in slots(server)] == [("later", "active")]
                with standby(server, "earlier", xmin=ids[0]):
                    assert [pin.name for pin in slots(server)] == ["earlier", "later"]
            assert [(pin.name, pin.state) for pin in slots(server)] == [
                (name, "inactive") for name in ("earlier", "later", "idle")
            ]
        finally:
            link.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
