"""The short cut of our own server, and the ASGI app behind it: who takes which, and that nobody can tell them apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.house import House, Served
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.gateway.test_drain import held
from tests.worker.house import until

ROUND = "?round=about"
"""With a query nothing is ordinary any more, and the app is asked."""

NEW, AGAIN = b'{"ok":true,"id":"one"}', b'{"ok":true,"id":"one","duplicate":true}'


def request(number: int, path: str = "/telegram", **more: str) -> bytes:
    body = body_of("telegram", update_id=number)
    return spelled(body, path, {**headers_of("telegram", body), **more})


def spelled(body: bytes, path: str, headers: dict[str, str]) -> bytes:
    head = {"Host": "x", "Content-Length": str(len(body)), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def said(served: Served, sent: bytes, answers: int = 1) -> bytes:
    """What comes back, as it is, but for the date and ids of jobs."""
    heard = b""
    with served.raw() as line:
        line.sendall(sent)
        while len(re.findall(rb"\r\n\r\n\{.*?\}", heard)) < answers:
            heard += line.recv(65_536)
    return re.sub(rb"date: [^\r]*", b"date: today", re.sub(rb'"id":"[^"]*"', b'"id":"one"', heard))


def asked_apps(served: Served) -> list[str]:
    """The paths that the app is asked about from now on."""
    paths: list[str] = []
    gateway: Any = served.gateway
    answer = gateway._http

    async def heard(scope: Any, receive: Any, send: Any) -> None:
        paths.append(scope["path"])
        await answer(scope, receive, send)

    gateway._http = heard
    return paths


def test_what_is_in_order_takes_the_short_cut_and_is_answered_as_the_app_answers(house: House) -> None:
    served = house.serve(settings_of("telegram", backlog=0))  # nothing to be counted now and then
    said(served, request(0))  # the store is open
    asked = asked_apps(served)
    new, again = said(served, request(1)), said(served, request(1))
    assert asked == []
    assert new == said(served, request(2, "/telegram" + ROUND))
    assert again == said(served, request(2, "/telegram" + ROUND))
    assert asked == ["/telegram"] * 2
    head = b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    assert new == head % 55 + NEW
    assert again == head % 72 + AGAIN
    assert served.gateway.counters.requests == {("telegram", 200): 5}
    assert served.gateway.counters.duplicates == {"telegram": 2}
    assert served.gateway.counters.acks["telegram"].count == 5


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b"{}"),
        ({"Connection": "close"}, None),
        ({"Connection": "Upgrade", "Upgrade": "websocket"}, None),
        ({"X-Telegram-Bot-Api-Secret-Token": "wrong"}, None),
        ({"Content-Length": "9999999"}, b"{}"),
        (headers_of("telegram", b""), b"{"),
        (headers_of("telegram", b""), b"[]"),
        (headers_of("telegram", b""), b"[" * 99),
        (headers_of("telegram", b""), b'{"update_id": 1, "x": "\xff"}'),
    ],
    ids=[
        "stranger",
        "last",
        "upgrade",
        "wrong",
        "too long",
        "not JSON",
        "no update",
        "too deep",
        "not UTF-8",
    ],
)
def test_both_ways_say_the_same(light: House, headers: dict[str, str], body: bytes | None) -> None:
    served = light.serve(settings_of("telegram"))
    said(served, request(0))
    own = body_of("telegram", update_id=1) if body is None else body
    given = {**(headers_of("telegram", own) if body is None else {}), **headers}
    short = said(served, spelled(own, "/telegram", given))
    long = said(
        served, spelled(own if body else body_of("telegram", update_id=2), "/telegram" + ROUND, given)
    )
    assert short == long


def chunked(request: bytes) -> bytes:
    """The same with a body of untold length."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:9], body[9:], b""))
    return b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", pieces])


def expecting(request: bytes) -> bytes:
    return request.replace(b"\r\nHost", b"\r\nExpect: 100-continue\r\nHost")


def old(request: bytes) -> bytes:
    return request.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n")


@pytest.mark.parametrize(("spelling", "ways"), [(expecting, 2), (old, 2), (chunked, 1)])
def test_what_is_spelled_otherwise_is_stored_and_answered_alike(
    light: House, spelling: Callable[[bytes], bytes], ways: int
) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    said(served, request(0))
    asked = asked_apps(served)
    short, long = (
        said(served, spelling(request(n, p))) for n, p in ((1, "/telegram"), (2, "/telegram" + ROUND))
    )
    assert short == long
    assert short.endswith(NEW)
    assert short.startswith(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 " if spelling is expecting else b"HTTP/1.1 200 "
    )
    assert asked == ["/telegram"] * ways
    requests = [light.app.queue.request(job.id) for job in light.app.queue.list()]
    assert {r.body for r in requests if r} == {body_of("telegram", update_id=n) for n in range(3)}


@pytest.mark.parametrize("length", [5_000, 200_000], ids=["in one read", "in several"])
def test_a_long_body_is_stored_whole(light: House, length: int) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    said(served, request(0))
    asked = asked_apps(served)
    body = body_of("telegram", update_id=1, padding="x" * length)
    heard = said(served, spelled(body, "/telegram", headers_of("telegram", body)))
    assert heard.endswith(NEW)
    assert asked == (["/telegram"] if length > 65_536 else [])
    stored = light.app.queue.request(light.app.queue.list(limit=1)[0].id)
    assert stored is not None
    assert stored.body == body


@pytest.mark.parametrize(
    ("sender", "more", "shared", "status"),
    [
        ("telegram", {}, {"hosts": ["elsewhere.example"]}, 404),
        ("telegram", {"max_body": 60}, {}, 413),
        ("telegram", {"backlog": 1}, {}, 503),
        ("slack", {}, {}, 200),
    ],
    ids=["another host", "too long", "full", "answered at once"],
)
def test_what_is_not_to_be_stored_takes_no_short_cut(
    light: House, sender: str, more: dict[str, Any], shared: dict[str, Any], status: int
) -> None:
    served = light.serve(settings_of(sender, **{"backlog": 0, **more}), **shared)
    light.app.queue.enqueue("other", {}, queue="gateway")
    assert (
        served.ask("GET", "/readyz", headers={"Host": "elsewhere.example"}).status == 200
    )  # the store is open
    asked = asked_apps(served)
    told = {"type": "url_verification", "challenge": "x"} if sender == "slack" else {}
    body = body_of(sender, **told)
    given = headers_of(sender, body)
    short, long = (said(served, spelled(body, f"/{sender}{more}", given)) for more in ("", ROUND))
    assert short == long
    assert short.startswith(b"HTTP/1.1 %d " % status)
    assert asked == [f"/{sender}"] * 2
    assert [job.kind for job in light.app.queue.list()] == ["other"]


OFFER = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"}


@pytest.mark.parametrize("way", ["", ROUND], ids=["short", "long"])
@pytest.mark.parametrize("spelling", [bytes, chunked])
def test_an_offer_to_speak_another_protocol_is_not_taken_up(
    light: House, spelling: Callable[[bytes], bytes], way: str
) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    said(served, request(0))
    sent = [spelling(request(number, "/telegram" + way, **OFFER)) for number in (1, 2, 3)]
    heard = said(served, b"".join(sent) + request(4), answers=4)
    assert heard.count(b"HTTP/1.1 200 ") == heard.count(NEW) == 4
    requests = [light.app.queue.request(job.id) for job in light.app.queue.list()]
    assert {r.body for r in requests if r} == {body_of("telegram", update_id=n) for n in range(5)}


def test_a_head_with_an_offer_may_come_in_pieces(light: House) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    sent = request(1, **OFFER, Padding="x" * 6_000)
    with served.raw() as line:
        for piece in (sent[:40], sent[40:5_000], sent[5_000:-9], sent[-9:]):
            line.sendall(piece)
        assert line.recv(65_536).startswith(b"HTTP/1.1 200 ")
    [job] = light.app.queue.list()
    stored = light.app.queue.request(job.id)
    assert stored is not None
    assert stored.body == body_of("telegram", update_id=1)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (TRACE, {"traceparent": TRACE}),
        ("cc" + TRACE[2:], {"traceparent": "cc" + TRACE[2:]}),
        ("ff" + TRACE[2:], {}),
        (TRACE.upper(), {}),
        (TRACE + "-more", {}),
        ("00-" + "0" * 32 + TRACE[35:], {}),
        (TRACE[:36] + "0" * 16 + "-01", {}),
        ("hunter2", {}),
    ],
    ids=["known", "later", "no version", "large", "longer", "no trace", "no span", "other"],
)
def test_a_job_keeps_the_trace_of_its_request(light: House, given: str, kept: dict[str, str]) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    for number, path in enumerate(("/telegram", "/telegram", "/telegram" + ROUND)):
        said(served, request(number, path, Traceparent=given, Tracestate="a=b"))
    assert [job.meta for job in light.app.queue.list()] == [kept] * 3


def test_what_is_not_posted_takes_no_short_cut(light: House) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    said(served, request(0))
    sent = request(1).replace(b"POST ", b"PUT ", 1)
    assert said(served, sent).startswith(b"HTTP/1.1 405 ")
    assert len(light.app.queue.list()) == 1


def test_what_comes_when_too_many_are_under_way_takes_no_short_cut(light: House, tmp_path: Path) -> None:
    served = light.serve(settings_of("telegram", backlog=0), store_deadline="30s", max_requests=1)
    said(served, request(0))
    with served.raw() as line:
        with held(light, tmp_path):
            line.sendall(request(1))
            until(lambda: served.gateway.intake.underway == 1)
            short, long = said(served, request(2)), said(served, request(3, "/telegram" + ROUND))
        assert b" 200 " in line.recv(65_536)
    assert short == long
    assert short.endswith(b'{"ok":false,"error":"too many requests under way"}')
    assert len(light.app.queue.list()) == 2


def test_what_comes_before_the_store_is_open_waits_for_it(light: House) -> None:
    served = light.serve(settings_of("telegram", backlog=0))
    served.gateway.intake.opened.forget()
    asked = asked_apps(served)
    assert [said(served, request(n))[-len(NEW) :] for n in (1, 2)] == [NEW] * 2
    assert asked == ["/telegram"]


def test_requests_that_come_all_at_once_on_a_line_are_answered_in_their_order(house: House) -> None:
    served = house.serve(settings_of("telegram"))
    said(served, request(0))
    health = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    heard = said(served, request(1) + health + request(1) + request(2) + health, answers=5)
    bodies = re.findall(rb"\r\n\r\n(\{.*?\})", heard)
    assert bodies == [NEW, b'{"ok":true}', AGAIN, NEW, b'{"ok":true}']


def test_who_hangs_up_while_it_is_committed_has_it_kept_and_is_told_so_later(
    house: House, tmp_path: Path
) -> None:
    served = house.serve(settings_of("telegram"), store_deadline="30s")
    said(served, request(0))
    with held(house, tmp_path):
        with served.raw() as line:
            line.sendall(request(1))
            until(lambda: served.gateway.intake.underway == 1)
        until(lambda: not served._server.server_state.connections)
    until(lambda: served.gateway.intake.underway == 0)
    assert b"duplicate" in said(served, request(1))
    assert not served._server.server_state.tasks


def test_a_commit_that_takes_too_long_is_503_and_the_line_lives_on(house: House, tmp_path: Path) -> None:
    served = house.serve(settings_of("telegram"), store_deadline="200ms")
    until(lambda: b" 200 " in said(served, request(0)))  # making the tables may take longer
    with held(house, tmp_path):
        short, long = said(served, request(1)), said(served, request(1, "/telegram" + ROUND))
    assert short == long
    assert short.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 5\r\n" in short
    assert short.endswith(b'{"ok":false,"error":"store unavailable"}')
    until(lambda: b" 200 " in said(served, request(1)))
    assert served.gateway.intake.underway == 0


def test_a_server_that_waits_no_longer_for_a_commit_says_so(house: House, tmp_path: Path) -> None:
    served = house.serve(
        settings_of("telegram"), store_deadline="30s", server={"timeout_graceful_shutdown": 1}
    )
    said(served, request(0))
    with held(house, tmp_path), ThreadPoolExecutor(2) as two:
        ways = [
            two.submit(said, served, request(n, path)) for n, path in ((1, "/telegram"), (2, "/telegram?x"))
        ]
        until(lambda: served.gateway.intake.underway == 2)
        served._server.should_exit = True
        short, long = (way.result() for way in ways)
    assert short == long
    assert b"connection: close" in short
    assert short.endswith(b'{"ok":false,"error":"stopping"}')


@pytest.mark.parametrize("path", ["/telegram", f"/telegram{ROUND}"])
def test_what_comes_behind_a_body_proves_nothing(house: House, path: str) -> None:
    served = house.serve(settings_of("telegram"))
    body = body_of("telegram", update_id=1)
    proof = "".join(f"{name}: {value}\r\n" for name, value in headers_of("telegram", body).items())
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = f"{head}{len(body):x}\r\n".encode() + body + f"\r\n0\r\n{proof}\r\n".encode()
    assert said(served, sent).startswith(b"HTTP/1.1 401 ")
    assert not house.app.queue.list()
