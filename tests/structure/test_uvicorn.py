"""What the gateway's connections take from the inside of uvicorn is there, and only releases that were tried are asked for."""

from __future__ import annotations

import asyncio
import re
import tomllib
from importlib.metadata import version

import httptools
import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tests.support.child import ROOT

METHODS = (
    "connection_lost", "connection_made", "data_received", "on_body", "on_header", "on_headers_complete",
    "on_message_begin", "on_message_complete", "on_response_complete", "pause_writing", "resume_writing",
    "send_400_response", "shutdown", "_unset_keepalive_if_required",
)  # fmt: skip
HELD = (
    "access_log", "app", "config", "connections", "cycle", "expect_100_continue", "flow", "headers", "logger", "loop",
    "parser", "pipeline", "scheme", "server_state", "tasks", "transport",
)  # fmt: skip
CYCLE = ("disconnected", "keep_alive", "message_event", "more_body", "response_complete")
PARSER = ("feed_data", "get_http_version", "get_method", "should_keep_alive", "should_upgrade")
FLOW = ("pause_reading", "pause_writing", "resume_reading", "resume_writing")


def bounds() -> list[str]:
    """Everything that is said about uvicorn for the gateway and for development."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = project["project"]["optional-dependencies"]["gateway"] + project["dependency-groups"]["dev"]
    return [one.removeprefix("uvicorn") for one in named if one.startswith("uvicorn")]


def test_only_releases_that_were_tried_are_asked_for() -> None:
    [asked, tried] = bounds()
    assert asked == tried
    found = re.fullmatch(r">=0\.(\d+),<0\.(\d+)", asked)
    assert found is not None
    low, high = map(int, found.groups())
    assert low <= int(version("uvicorn").split(".")[1]) < high


@pytest.mark.parametrize(
    ("of", "names"),
    [
        (HttpToolsProtocol, METHODS),
        (FlowControl, FLOW),
        (httptools.HttpRequestParser, PARSER),
        (uvicorn.Config, ("get_loop_factory", "is_ssl", "load")),
    ],
    ids=["connection", "flow", "parser", "config"],
)
def test_what_is_called_is_there(of: type, names: tuple[str, ...]) -> None:
    assert [name for name in names if not hasattr(of, name)] == []


def test_what_is_read_is_there() -> None:
    loop = asyncio.new_event_loop()
    try:
        connection = HttpToolsProtocol(uvicorn.Config(lambda: None), ServerState(), {}, _loop=loop)
    finally:
        loop.close()
    connection.on_message_begin()
    assert [name for name in (*HELD, "url") if name not in vars(connection)] == []
    assert [name for name in CYCLE if name not in RequestResponseCycle.__init__.__code__.co_names] == []
    assert {"read_paused", "write_paused"} <= set(FlowControl.__init__.__code__.co_names)
    assert {"connections", "default_headers", "tasks", "total_requests"} <= set(vars(ServerState()))
    assert STATUS_LINE[200] == b"HTTP/1.1 200 OK\r\n"
    assert {"force_exit", "should_exit", "started"} <= set(vars(uvicorn.Server(uvicorn.Config(lambda: None))))
