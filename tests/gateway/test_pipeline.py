"""Requests one behind another on a connection: how many may wait, who is answered first, and who does not take its answers."""

from __future__ import annotations

import re
import socket
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tenure.gateway.wire import MAX_OWED, PIECE
from tests.gateway.house import House, Served
from tests.gateway.signing import settings_of
from tests.gateway.test_drain import held
from tests.gateway.test_short_cut import ROUND, asked_apps, request, said
from tests.worker.house import until

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"POST /telegram HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
MANY = 6_000


class Deepest(deque[Any]):
    """Knows how many it held at most."""

    most = 0

    def appendleft(self, one: Any) -> None:
        super().appendleft(one)
        self.most = max(self.most, len(self))


def unparsed(connection: Any) -> list[int]:
    """How much of what was read waits to be parsed, after each read from now on."""
    seen: list[int] = []
    received = connection.data_received

    def heard(data: bytes) -> None:
        received(data)
        seen.append(len(connection._rest))

    connection.data_received = heard
    return seen


def connection_of(served: Served, line: socket.socket) -> Any:
    """The server's end of it."""
    connections: Any = served._server.server_state.connections
    found: list[Any] = []

    def look() -> list[Any]:
        found[:] = [one for one in list(connections) if one.client == line.getsockname()]
        return found

    until(look)
    return found[0]


def narrow(served: Served) -> socket.socket:
    """A connection that holds next to nothing of what is not read."""
    served._listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    line = socket.socket()
    line.settimeout(30)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.connect(("127.0.0.1", served.port))
    return line


def all_of(line: socket.socket) -> bytes:
    """What is said until the end."""
    return b"".join(iter(lambda: line.recv(65_536), b""))


def statuses(heard: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", heard)]


@pytest.mark.parametrize("path", ["/telegram", f"/telegram{ROUND}"], ids=["short", "long"])
def test_who_waits_for_no_answer_has_few_requests_under_way_and_all_of_them_answered(
    light: House, tmp_path: Path, path: str
) -> None:
    served = light.serve(settings_of("telegram"), store_deadline="30s")
    said(served, request(0))
    with served.raw() as line, ThreadPoolExecutor(1) as sender:
        connection = connection_of(served, line)
        connection.pipeline = waiting = Deepest()
        unread = unparsed(connection)
        with held(light, tmp_path):
            sender.submit(line.sendall, request(1, path) + HEALTH * MANY)
            until(lambda: waiting.most >= MAX_OWED)
        heard = b""
        while heard.count(b"HTTP/1.1 ") <= MANY or not heard.endswith(b"}"):
            heard += line.recv(65_536)
    assert statuses(heard) == [200] * (MANY + 1)
    assert heard.count(b'"id"') == 1
    assert waiting.most <= MAX_OWED + PIECE // len(HEALTH)
    assert max(unread) <= 65_536
    until(lambda: connection.owed == 0)


@pytest.mark.parametrize("many", [400, 20_000], ids=["some", "many"])
def test_who_does_not_take_its_answers_is_hung_up_on(light: House, many: int) -> None:
    served = light.serve(
        settings_of("telegram"),
        body_deadline="200ms",
        header_deadline="60s",
        server={"timeout_keep_alive": 60},
    )
    with narrow(served) as line:
        connection = connection_of(served, line)
        with suppress(ConnectionError):
            line.sendall(HEALTH * many)
        until(lambda: connection not in connection.connections)
    until(lambda: served.gateway.intake.underway == 0)
    assert served.ask("GET", "/healthz").status == 200


def test_who_does_not_take_its_answers_takes_no_short_cut(light: House) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    said(served, request(0))
    with narrow(served) as line:
        connection, sent = connection_of(served, line), 0
        while not connection.flow.write_paused:
            sent += 1
            line.sendall(request(sent))
            until(lambda: len(light.app.queue.list(limit=9_999)) > sent and not connection.owed)  # noqa: B023 - at once
        asked = asked_apps(served)
        line.sendall(request(sent + 1))
        until(lambda: asked == ["/telegram"])


def test_half_a_head_has_its_time_once_what_came_before_it_is_answered(light: House, tmp_path: Path) -> None:
    served = light.serve(
        settings_of("telegram"),
        store_deadline="1s",
        header_deadline="500ms",
        server={"timeout_keep_alive": 60},
    )
    said(served, request(0))
    with held(light, tmp_path), served.raw() as line:
        line.sendall(request(1) + HEALTH[:20])
        assert statuses(all_of(line)) == [503]
    assert served.gateway.counters.rejects["", "slow head"] == 1


@pytest.mark.parametrize("path", ["/telegram", f"/telegram{ROUND}"], ids=["short", "long"])
@pytest.mark.parametrize(
    ("between", "garbage"),
    [(b"", b"\x16\x03\x01 hello\r\n\r\n"), (HEALTH, b"\x16"), (b"", CHUNKED + b"zz\r\n"), (HEALTH, CHUNKED + b"1\r\nab")],
    ids=["behind one", "behind two", "in a body behind one", "in a body behind two"],
)  # fmt: skip
def test_what_is_no_http_is_refused_once_what_came_before_it_is_answered(
    house: House, path: str, between: bytes, garbage: bytes
) -> None:
    served = house.serve(settings_of("telegram"))
    said(served, request(0))
    with served.raw() as line:
        line.sendall(request(1, path) + between + garbage)
        heard = all_of(line)
    assert statuses(heard) == [200] * (2 if between else 1) + [400]
    assert len(house.app.queue.list()) == 2
    until(lambda: served.gateway.intake.underway == 0)
    counted = served.gateway.counters
    until(lambda: counted.requests.total() == 1 + len(statuses(heard)))
    refused = (("telegram", 0), "hung up") if CHUNKED in garbage else (("", 400), "not HTTP")
    assert (counted.requests[refused[0]], counted.rejects) == (1, {(refused[0][0], refused[1]): 1})


def test_a_body_that_is_no_http_is_refused_at_once(light: House) -> None:
    served = light.serve(settings_of("telegram"))
    for path in (b"/telegram", b"/telegram?x"):
        with served.raw() as line:
            line.sendall(CHUNKED.replace(b"/telegram", path))
            until(lambda: served.gateway.intake.underway == 1)
            line.sendall(b"zz\r\n")
            assert statuses(all_of(line)) == [400]
        until(lambda: served.gateway.intake.underway == 0)
    until(lambda: served.gateway.counters.requests.total() == 2)
    assert served.gateway.counters.requests == {("telegram", 0): 2}
    assert served.gateway.counters.rejects == {("telegram", "hung up"): 2}
