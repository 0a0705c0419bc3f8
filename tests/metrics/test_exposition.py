"""GET /metrics: as an ASGI app, from the small server, and from the commands; the gateway's numbers among them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics

import tenure
import tenure.gateway
import tenure.metrics
from tenure.metrics.exposition import MetricsServer
from tenure.metrics.names import GATEWAY
from tenure.metrics.prometheus import collect
from tests.gateway.house import Served
from tests.metrics.scraping import Scrape, ask, scrape
from tests.worker.house import House, until

HOOK = {
    "slug": "hooks",
    "type": "generic",
    "handler": "python:on_event",
    "async": True,
    "check": {"how": "none"},
}


@pytest.fixture
def served(tmp_path: Path, registry: CollectorRegistry) -> Iterator[int]:
    """The ASGI app behind a real server."""
    app = tenure.App(f"sqlite:///{tmp_path}/jobs.db")
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(tenure.metrics.asgi(app, registry=registry), log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until(lambda: server.started, "the server never started")
    yield int(listening.getsockname()[1])
    server.should_exit = True
    thread.join(30)
    listening.close()


@pytest.fixture
def port(tmp_path: Path, registry: CollectorRegistry) -> Iterator[int]:
    """The small server."""
    app = tenure.App(f"sqlite:///{tmp_path}/jobs.db")
    server = MetricsServer(collect(app, registry), socket.create_server(("127.0.0.1", 0)))
    server.start()
    yield int(server.url.rpartition(":")[2].partition("/")[0])
    server.close()


@pytest.fixture(params=["asgi", "small"])
def either(request: pytest.FixtureRequest) -> int:
    """The port of each in turn."""
    return int(request.getfixturevalue("served" if request.param == "asgi" else "port"))


def test_it_answers_in_the_text_format(either: int) -> None:
    status, headers, body = ask(either)
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=")
    assert Scrape(body.decode()).value("tenure_store_up") == 1


def test_who_asks_for_open_metrics_gets_them(either: int) -> None:
    status, headers, body = ask(either, accept="application/openmetrics-text; version=1.0.0")
    assert status == 200
    assert headers["content-type"].startswith("application/openmetrics-text")
    families = open_metrics(body.decode())  # type: ignore[no-untyped-call]
    assert "tenure_store_up" in {family.name for family in families}


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/", 404), ("GET", "/metricsx", 404), ("POST", "/metrics", 405), ("HEAD", "/metrics", 200), ("GET", "/metrics?a=b", 200)])  # fmt: skip
def test_anything_else_is_refused(either: int, method: str, path: str, status: int) -> None:
    found, headers, body = ask(either, method, path)
    assert found == status
    if method == "HEAD":
        assert body == b""
        assert int(headers["content-length"]) > 0


def test_a_client_that_says_nothing_holds_up_nobody(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        assert ask(port)[0] == 200


def test_a_gateway_s_numbers_are_told(house: House, registry: CollectorRegistry) -> None:
    @house.app.job
    async def on_event(event: dict[str, Any]) -> None: ...

    gateway = tenure.gateway.asgi(house.app, {"sources": [HOOK]})
    collect(house.app, registry, gateway=gateway)
    served = Served(gateway)
    try:
        assert served.post("hooks", b'{"a": 1}').status == 200
        assert served.post("hooks", b"no json").status == 400
        assert served.post("nobody", b"{}").status == 404
    finally:
        served.close()
    gateway.counters.duplicates["hooks"] += 2
    gateway.counters.given_up["hooks"] += 3
    found = scrape(registry)
    assert {m.name for m in GATEWAY} <= set(found.families)
    assert found.value("tenure_gateway_requests_total", source="hooks", status="200") == 1
    assert found.value("tenure_gateway_requests_total", source="hooks", status="400") == 1
    assert found.value("tenure_gateway_requests_total", source="", status="404") == 1
    assert found.value("tenure_gateway_duplicates_total", source="hooks") == 2
    assert found.value("tenure_gateway_given_up_total", source="hooks") == 3
    assert sum(r["source"] == "hooks" for r in found.labels("tenure_gateway_rejects_total")) == 1
    assert found.value("tenure_gateway_ack_seconds_count", source="hooks") == 1
    assert found.value("tenure_gateway_ack_seconds_bucket", source="hooks", le="+Inf") == 1
    assert 0 < found.value("tenure_gateway_ack_seconds_sum", source="hooks") < 30


SHOP = """
import tenure

app = tenure.App()

@app.job
async def works() -> None: ...

@app.job
async def on_event(event: dict) -> None: ...
"""
HOOKS = """
[[sources]]
slug = "hooks"
type = "generic"
handler = "python:on_event"
async = true
check = { how = "none" }
"""


@contextmanager
def running(folder: Path, *args: str) -> Iterator[Path]:
    """`tenure …` in this folder, and what it says; stopped in good order."""
    (folder / "shop.py").write_text(SHOP)
    (folder / "hooks.toml").write_text(HOOKS)
    said = folder / "said.log"
    environment = {**os.environ, "TENURE_URL": f"sqlite:///{folder}/jobs.db", "TMPDIR": str(folder)}
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tenure", *args],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment,
        )  # fmt: skip
    try:
        yield said
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, said.read_text()
    finally:
        process.kill()
        process.wait()


def ports(said: Path, count: int) -> list[int]:
    """Where it says that it serves its numbers."""

    def found() -> list[str]:
        return re.findall(r"metrics  http://127\.0\.0\.1:(\d+)/metrics", said.read_text())

    until(lambda: len(found()) >= count, "it never said where")
    return [int(port) for port in found()]


@pytest.mark.parametrize(
    "args",
    [
        ("worker", "shop:app"),
        ("up", "shop:app"),
        ("up", "shop:app", "-f", "hooks.toml", "--port", "0"),
        ("gateway", "shop:app", "-f", "hooks.toml", "--port", "0"),
        ("dashboard", "--port", "0"),
        ("janitor", "shop:app"),
    ],
    ids=["worker", "up", "up-gateway", "gateway", "dashboard", "janitor"],
)
def test_a_command_serves_its_numbers(tmp_path: Path, args: tuple[str, ...]) -> None:
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as q:
        q.enqueue("work", expires_in="1ms")
    with running(tmp_path, *args, "--metrics", "0") as said:
        [port] = ports(said, 1)
        if args[0] in ("worker", "up"):
            until(lambda: Scrape(ask(port)[2].decode()).value("tenure_process_workers") == 1)
        if args[0] == "janitor":
            moved = [{"chore": "expire"}]
            until(lambda: moved == Scrape(ask(port)[2].decode()).labels("tenure_chore_moved_total"))
        found = Scrape(ask(port)[2].decode())
        assert found.value("tenure_store_up") == 1
        assert ("tenure_gateway_requests" in found.families) == ("-f" in args)


def test_a_janitor_that_leaves_at_once_serves_no_numbers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tenure", "janitor", "--once", "--metrics", "9100"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 2
    assert "--once leaves" in ended.stderr


def test_each_process_of_a_pool_serves_its_own(tmp_path: Path) -> None:
    with running(tmp_path, "worker", "shop:app", "--processes", "2", "--metrics", "0") as said:
        assert len(set(ports(said, 2))) == 2
        for port in ports(said, 2):
            until(lambda port=port: Scrape(ask(port)[2].decode()).value("tenure_process_workers") == 1)  # type: ignore[misc]


@pytest.mark.parametrize("place", ["here", "127.0.0.1:", "70000", "-1"])
def test_a_place_that_is_none_is_refused(tmp_path: Path, place: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tenure", "worker", "shop:app", f"--metrics={place}"],
        check=False, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "no [HOST:]PORT" in ended.stderr
