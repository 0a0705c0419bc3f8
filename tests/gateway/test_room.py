"""How many connections a gateway serves when few files may be open."""

from __future__ import annotations

import json
import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tenure.gateway.room import Room, fitting
from tests.cli.files import SECRET, write
from tests.cli.running import message, running
from tests.gateway.house import House
from tests.gateway.signing import settings_of
from tests.gateway.test_limits import health_on
from tests.gateway.test_short_cut import spelled

SERVE = ("gateway", "bot:app", "--port", "0", "--json")
TOKEN = {"X-Telegram-Bot-Api-Secret-Token": SECRET}


@pytest.mark.parametrize(
    ("files", "room"),
    [
        (10**6, Room()),
        (4_048, Room(2_000, 512)),
        (1_024, Room(384, 64)),
        (256, Room(96, 16)),
        (8, Room(2, 1)),
    ],
)
def test_what_fits_leaves_room_for_everything_else(files: int, room: Room) -> None:
    assert fitting(files) == room
    assert room.connections + 2 * room.backlog < files


def test_where_few_files_may_be_open_fewer_connections_are_served_and_none_is_lost(tmp_path: Path) -> None:
    write(tmp_path)
    with running(tmp_path, *SERVE, ulimit="-n 256") as gateway, ExitStack() as lines:
        place = urlsplit(gateway.url())

        def connected() -> socket.socket:
            return lines.enter_context(socket.create_connection((place.hostname, place.port), timeout=30))

        served = [connected() for _ in range(fitting(256).connections)]
        assert {health_on(line)[:13] for line in served} == {b"HTTP/1.1 200 "}
        more = [connected() for _ in range(300)]
        assert health_on(more[0]).startswith(b"HTTP/1.1 503 ")
        assert more[-1].recv(1) == b""
        served[0].sendall(spelled(json.dumps(message(1)).encode(), "/bot", TOKEN))
        assert served[0].recv(4_096).startswith(b"HTTP/1.1 200 ")
        assert "at most 96 connections are served" in gateway.log
        assert "Too many open files" not in gateway.log


def test_more_files_are_asked_for_where_they_may_be_had(tmp_path: Path) -> None:
    write(tmp_path)
    with running(tmp_path, *SERVE, ulimit="-S -n 256") as gateway:
        gateway.url()
        soft, hard = resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE)
        assert soft == (4_048 if hard == resource.RLIM_INFINITY else min(hard, 4_048))


def test_who_comes_on_top_of_all_who_are_told_to_come_back_is_hung_up_on(light: House) -> None:
    served = light.serve(
        settings_of("telegram"), header_deadline="60s", server={"limit_concurrency": 1, "backlog": 2}
    )
    with ExitStack() as lines:
        first, second, _, fourth = [lines.enter_context(served.raw()) for _ in range(4)]
        assert fourth.recv(1) == b""
        assert health_on(first).startswith(b"HTTP/1.1 200 ")
        assert health_on(second).startswith(b"HTTP/1.1 503 ")
