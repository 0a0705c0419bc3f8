"""While the store is away or held, senders are told to come back, and nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import tenure
from tenure.gateway import Gateway, asgi
from tests.gateway.house import Answer, House, Served
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.support.fresh import postgres_schema
from tests.support.postgres import PostgresServer
from tests.worker.house import until


def send(served: Served, number: int) -> Answer:
    body = body_of("telegram", update_id=number)
    return served.post("telegram", body, headers_of("telegram", body))


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer(durable=False) as started:
        yield started


def test_a_server_that_is_away_is_503_and_comes_back_by_itself(server: PostgresServer) -> None:
    house = House(server.url())
    try:
        served = house.serve(settings_of("telegram"), store_deadline="500ms")
        assert send(served, 1).status == 200
        server.stop("immediate")
        away = send(served, 2)
        assert (away.status, away.headers["retry-after"]) == (503, "5")
        until(lambda: served.ask("GET", "/readyz").status == 503)
        assert served.ask("GET", "/healthz").status == 200
        server.start()
        until(lambda: send(served, 2).status == 200)
        until(lambda: served.ask("GET", "/readyz").status == 200)
        assert {j.unique for j in house.app.queue.list()} == {"1", "2"}
    finally:
        house.close()


@pytest.mark.parametrize(
    ("handler", "options", "status"), [("auth", {"then": "echo"}, 503), ("echo", {}, 200)]
)
def test_a_sync_source_is_ready_without_a_store_unless_its_handler_asks_it(
    server: PostgresServer, handler: str, options: dict[str, str], status: int
) -> None:
    url = server.url()
    server.stop("immediate")
    house = House(url)
    try:
        bot = settings_of(
            "telegram", handler=handler, token="inline:1:a", options=options, **{"async": False}
        )
        served = house.serve(bot, store_deadline="500ms")
        assert served.ask("GET", "/readyz").status == status
        server.start()
        until(lambda: served.ask("GET", "/readyz").status == 200)
    finally:
        house.close()


def test_a_gateway_starts_while_its_server_is_away(
    server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = server.url()
    server.stop("immediate")
    house = House(url)
    try:
        served = house.serve(settings_of("telegram"), store_deadline="300ms")
        [told] = [r.getMessage() for r in caplog.records if "does not answer yet" in r.getMessage()]
        assert "(StoreUnavailable: " in told or "(TimeoutError: no answer within 0.3 s)" in told
        assert send(served, 1).status == 503
        server.start()
        until(lambda: send(served, 1).status == 200)
    finally:
        house.close()


def started(gateway: Gateway) -> list[dict[str, Any]]:
    """What a server is told when it starts this."""
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup" if not told else "lifespan.shutdown"}

    async def send(message: Any) -> None:
        told.append(message)

    asyncio.run(gateway({"type": "lifespan"}, receive, send))
    return told


def test_a_gateway_does_not_start_on_what_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "jobs.db").write_bytes(b"not a database" * 100)
    app = tenure.App(f"sqlite:///{tmp_path}/jobs.db")
    source = settings_of("telegram", handler="http", url="https://example.org")
    gateway = asgi(app, {"inline_secrets": True, "sources": [source]})
    [told] = started(gateway)
    assert told["type"] == "lifespan.startup.failed"
    assert told["message"] == gateway.refused
    assert "jobs.db is not a SQLite database" in told["message"]


def test_a_file_that_somebody_holds_is_503_until_it_is_free(
    light: House, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    served = light.serve(settings_of("telegram"), store_deadline="200ms")
    assert send(served, 1).status == 200
    other: Any = apsw.Connection(str(tmp_path / "jobs.db"))
    other.execute("BEGIN IMMEDIATE")
    try:
        assert send(served, 2).status == 503
        assert "the store cannot be written: TimeoutError: no answer within 0.2 s" in caplog.text
    finally:
        other.execute("ROLLBACK")
        other.close()
    until(lambda: send(served, 2).status == 200)
    assert {j.unique for j in light.app.queue.list()} == {"1", "2"}


def say_to_all(postgres_url: str, setting: str, name: str) -> None:
    """Set something for this run's own database, and end the sessions of this name, which do not have it."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" {setting}'.encode())
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", [name]
        )


def test_a_server_that_only_reads_is_503_until_it_writes_again(postgres_url: str) -> None:
    """A primary that became a standby."""
    with postgres_schema(postgres_url) as name:
        house = House(f"{postgres_url}?schema={name}&application_name={name}")
        try:
            served = house.serve(settings_of("telegram"), store_deadline="1s")
            assert send(served, 1).status == 200
            say_to_all(postgres_url, "SET default_transaction_read_only = on", name)
            away = send(served, 2)
            assert (away.status, away.headers["retry-after"]) == (503, "5")
            say_to_all(postgres_url, "RESET default_transaction_read_only", name)
            until(lambda: send(served, 2).status == 200)
            assert {j.unique for j in house.app.queue.list()} == {"1", "2"}
        finally:
            say_to_all(postgres_url, "RESET default_transaction_read_only", name)
            house.close()
