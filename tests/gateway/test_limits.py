"""What a request may cost, and what one that costs more is told."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from typing import Any

import pytest

from tenure.gateway.limits import Refused, json_of
from tests.gateway.house import House, Served
from tests.gateway.signing import headers_of, settings_of
from tests.worker.house import until


@pytest.fixture
def served(light: House) -> Served:
    return light.serve(
        settings_of("telegram", max_body=2_000), body_deadline="300ms", header_deadline="300ms", max_depth=10
    )


SECRET = headers_of("telegram", b"")


def health_on(line: socket.socket) -> bytes:
    """Ask for it on a connection that is kept."""
    line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}") and (more := line.recv(4_096)):
        answer += more
    return answer


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_a_source_takes_only_post_and_says_so(served: Served, method: str) -> None:
    answer = served.ask(method, "/telegram")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "path", ["/", "/nobody", "/telegram/", "//telegram", "/telegram/x", "/%00", "/../telegram"]
)
def test_what_names_no_source_is_404(served: Served, path: str) -> None:
    assert served.ask("POST", path, b"{}", SECRET).status == 404
    assert set(served.gateway.counters.requests) == {("", 404)}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"update_id": 1} x', "not JSON"),
        (b'{"update_id": NaN}', "not JSON"),
        (b'{"update_id": 1, "x": "\xff"}', "not JSON"),
        (b'{"update_id": 1e999}', "not JSON"),
        (b'{"update_id": ' + b"9" * 100 + b"}", "number too long"),
        (b"[" * 50 + b"]" * 50, "too deep"),
        (b"[" * 900, "too deep"),
        (b"[]", "not an update"),
        (b'{"update_id": "1"}', "not an update"),
        (b'{"update_id": true}', "not an update"),
    ],
    ids=lambda v: repr(v)[:24],
)
def test_a_body_that_is_no_update_is_400(served: Served, body: bytes, why: str) -> None:
    answer = served.post("telegram", body, SECRET)
    assert (answer.status, answer.json["error"]) == (400, why)


@pytest.mark.parametrize("body", [b"[" * 900, b"\xff", b""])
def test_a_stranger_is_told_nothing_about_the_body(served: Served, body: bytes) -> None:
    assert served.post("telegram", body).status == 401


def test_brackets_and_digits_inside_texts_are_no_matter() -> None:
    texts = {"a": "[" * 500, "b": '"' + "{" * 500, "c": "9" * 500}
    body = json.dumps(texts).encode()
    assert json_of(body, 5, 64) == texts
    with pytest.raises(Refused, match="too deep"):
        json_of(b'{"a": ' + body + b', "b": [[[[[1]]]]]}', 5, 64)


@pytest.mark.parametrize("depth", [1, 2, 5, 6, 7, 40])
@pytest.mark.parametrize("pairs", ["[]", "{}", "[]{}"])
def test_depth_is_counted_exactly(depth: int, pairs: str) -> None:
    value: Any = 1
    for level in range(depth):
        value = [0, value] if pairs[level * 2 % len(pairs)] == "[" else {"k": value}
    body = json.dumps([value] * 50).encode()
    assert json_of(body, depth + 1, 64) == [value] * 50
    with pytest.raises(Refused, match="too deep"):
        json_of(body, depth, 64)


@pytest.mark.parametrize(
    "body",
    [b"[" * 99 + b'"' + b'\\"' * 500_000, b'"' * 999_999 + b"[" * 99, b"[]" * 500_000, b"[" * 999_999],
    ids=["a text that never ends", "quotes", "pairs", "openings"],
)
def test_no_body_takes_long_to_refuse(body: bytes) -> None:
    with pytest.raises(Refused):
        json_of(body, 64, 64)


def test_a_body_over_the_cap_is_413_before_it_has_been_sent(served: Served) -> None:
    with served.raw() as line:
        line.sendall(b"POST /telegram HTTP/1.1\r\nHost: x\r\nContent-Length: 2001\r\n\r\n")
        assert line.recv(4_096).startswith(b"HTTP/1.1 413 ")


def test_a_body_of_untold_length_is_413_as_soon_as_it_is_over_the_cap(served: Served) -> None:
    with served.raw() as line:
        line.sendall(b"POST /telegram HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(3):
            line.sendall(b"3e8\r\n" + b"x" * 1_000 + b"\r\n")
        answer = b"".join(iter(lambda: line.recv(4_096), b""))
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_comes_too_slowly_is_408_and_the_line_is_closed(served: Served) -> None:
    with served.raw() as line:
        line.sendall(b"POST /telegram HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{")
        answer = b"".join(iter(lambda: line.recv(4_096), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert served.gateway.counters.rejects == {("telegram", "slow body"): 1}


@pytest.mark.parametrize("sent", [b"", b"POST /telegram HTTP/1.1\r\nHost:"], ids=["nothing", "half a head"])
def test_a_head_that_comes_too_slowly_closes_the_line(served: Served, sent: bytes) -> None:
    began = time.monotonic()
    with served.raw() as line:
        line.sendall(sent)
        assert line.recv(4_096) == b""
    assert time.monotonic() - began < 20
    assert served.gateway.counters.requests == {("", 0): 1}
    assert served.gateway.counters.rejects == {("", "slow head"): 1}


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /telegram HTTP/1.1\r\nX: ",
        b"POST /",
        b"POST /telegram HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        b"POST /telegram HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;x=",
    ],
    ids=["header", "path", "behind the body", "between chunks"],
)
def test_what_is_no_body_and_does_not_end_is_400_long_before_any_deadline(light: House, sent: bytes) -> None:
    served = light.serve(settings_of("telegram"), header_deadline="60s", body_deadline="60s")
    answer = b""
    with served.raw() as line, suppress(ConnectionError):  # what it does not read ends the line at once
        for _ in range(8):
            line.sendall(sent + b"y" * 65_536)
            sent = b""
        answer = line.recv(4_096)
    assert answer[:13] in (b"HTTP/1.1 400 ", b"")
    until(lambda: served.gateway.intake.underway == 0)
    until(lambda: served.gateway.counters.requests.total() == 1)
    assert served.gateway.counters.requests.keys() <= {("", 400), ("telegram", 0)}
    assert served.gateway.counters.rejects.keys() <= {("", "not HTTP"), ("telegram", "hung up")}
    assert served.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize(
    "before", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["first", "second"]
)
def test_a_head_that_ends_may_be_no_longer_either(served: Served, before: bytes) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " + b"y" * 70_000 + b"\r\n\r\n"
    with served.raw() as line:
        line.sendall(before + head)
        answers = b"".join(iter(lambda: line.recv(4_096), b""))
    assert answers.count(b"HTTP/1.1 400 ") == 1
    assert answers.count(b"HTTP/1.1 200 ") <= len(before)
    counters = served.gateway.counters
    assert (counters.requests["", 400], counters.rejects) == (1, {("", "not HTTP"): 1})
    assert served.ask("GET", "/healthz", headers={"X": "y" * 60_000}).status == 200


def test_who_comes_above_the_limit_of_connections_is_told_to_come_back(light: House) -> None:
    served = light.serve(settings_of("telegram"), server={"limit_concurrency": 2})
    with served.raw() as first, served.raw():
        assert health_on(first).startswith(b"HTTP/1.1 200 ")
        answer = served.post("telegram", b"{}", SECRET)
        assert (answer.status, answer.json) == (503, {"ok": False, "error": "too many connections"})
        assert answer.headers["retry-after"] == "5"
        assert answer.headers["content-type"] == "application/json"
        assert served.gateway.counters.requests[("", 503)] == 1
        assert served.gateway.counters.rejects == {("", "too many connections"): 1}
        assert health_on(first).startswith(b"HTTP/1.1 200 ")
    until(lambda: served.ask("GET", "/healthz").status == 200)


def test_who_comes_on_top_of_those_who_are_told_so_is_hung_up_on_and_counted(light: House) -> None:
    served = light.serve(
        settings_of("telegram"), header_deadline="60s", server={"limit_concurrency": 1, "backlog": 1}
    )
    with served.raw() as first, served.raw() as second:
        assert health_on(first).startswith(b"HTTP/1.1 200 ")
        with served.raw() as third, suppress(ConnectionError):
            assert third.recv(4_096) == b""
        until(lambda: served.gateway.counters.requests["", 0] == 1)
        assert health_on(second).startswith(b"HTTP/1.1 503 ")
    assert served.gateway.counters.requests == {("", 200): 1, ("", 0): 1, ("", 503): 1}
    assert served.gateway.counters.rejects == {("", "too many connections"): 2}


def test_what_strangers_send_does_not_fill_the_log(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    upgrade = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    for sent in [b"\x16\x03\x01 hello\r\n\r\n", upgrade] * 5:
        with served.raw() as line:
            line.sendall(sent)
            assert line.recv(4_096).startswith(b"HTTP/1.1 ")
    told = [r.getMessage() for r in caplog.records if r.name == "uvicorn.error"]
    assert told.count("Invalid HTTP request received.") <= 1
    assert served.gateway.counters.rejects == {("", "not HTTP"): 5}
    assert [line for line in told if "upgrade" in line or "pip install" in line] == []


def test_blank_lines_after_a_request_do_not_keep_the_line_open(served: Served) -> None:
    with served.raw() as line:
        health_on(line)
        line.sendall(b"\r\n")
        assert line.recv(4_096) == b""


def test_who_hangs_up_is_counted_and_harms_nobody(served: Served) -> None:
    with served.raw() as line:
        line.sendall(b"POST /telegram HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{")
    until(lambda: served.gateway.counters.requests[("telegram", 0)] == 1)


def test_more_requests_than_may_be_under_way_are_told_to_come_back(light: House) -> None:
    served = light.serve(settings_of("telegram"), max_requests=1)
    with served.raw() as line:
        line.sendall(b"POST /telegram HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{")
        until(lambda: served.gateway.intake.underway == 1)
        answer: Any = served.post("telegram", b"{}", SECRET)
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
