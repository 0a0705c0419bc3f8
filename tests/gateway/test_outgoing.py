"""Requests of the gateway's own, to real servers that behave well and badly."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tenure.errors import FieldError
from tenure.gateway import outgoing
from tenure.gateway.outgoing import Answer, Forbidden, TooLong, Unreachable, post
from tenure.gateway.reading import Broken, Reading
from tests.gateway.scripted import Scripted, answer, chunked, drop, hang, looking_up
from tests.worker.house import until

SECRET = "s3cret"
HEAD = b"HTTP/1.1 200 OK\r\n"


def sent(url: str, body: bytes = b"{}", headers: dict[str, str] | None = None, **options: Any) -> Answer:
    """POST it, to a private address too, and with time enough for any machine."""
    given = {"timeout": 30.0, "private": True, **options}
    return asyncio.run(post(url, body, headers or {}, **given))


def unreachable(url: str, body: bytes = b"{}", **options: Any) -> Unreachable:
    """The error of a request that gets no usable answer."""
    with pytest.raises(Unreachable) as raised:
        sent(url, body, **options)
    return raised.value


def failed(url: str, **options: Any) -> str:
    """What is told when nothing usable came back; never more of the URL than its host and port."""
    with pytest.raises(Unreachable) as raised:
        sent(f"{url}/{SECRET}?key={SECRET}", SECRET.encode(), {"x-key": SECRET}, **options)
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    where, _, why = str(raised.value).rpartition(": ")
    assert where == url.partition("//")[2]
    return why


@pytest.mark.parametrize(
    "body", [b"", b'{"a": 1}', bytes(range(256)) * 4_000], ids=["empty", "json", "binary"]
)
def test_the_exact_bytes_arrive_with_their_headers(body: bytes) -> None:
    with Scripted() as server:
        found = sent(f"{server.url}/a/b?c=d%20e#f", body, {"Content-Type": "text/x", "X-One": "ü"})
    assert found == Answer(200, {"content-length": "0"}, b"")
    [got] = server.got
    assert (got.line, got.body) == ("POST /a/b?c=d%20e HTTP/1.1", body)
    assert got.headers == {
        "host": f"127.0.0.1:{server.port}",
        "content-type": "text/x",
        "x-one": "ü",
        "content-length": str(len(body)),
        "connection": "close",
        "accept": "*/*",
        "accept-encoding": "identity",
        "user-agent": "tenure",
    }


FRAMED = {
    "length": (HEAD + b"Content-Length: 3\r\n\r\nabc", 200, b"abc"),
    "chunks": (chunked(b"a", b"bc"), 200, b"abc"),
    "chunks-and-trailers": (chunked(b"abc", end=b"0\r\nX-Late: 1\r\n\r\n"), 200, b"abc"),
    "chunks-with-extensions": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
        200,
        b"abc",
    ),
    "until-closed": (HEAD + b"\r\nabc", 200, b"abc"),
    "old": (b"HTTP/1.0 500 No\r\n\r\nabc", 500, b"abc"),
    "nothing": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "after-others": (
        b"HTTP/1.1 100 Continue\r\nX-Not: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(201, b"abc"),
        201,
        b"abc",
    ),
    "with-another-behind": (answer(200, b"abc") + answer(500, b"no"), 200, b"abc"),
    "offering-an-upgrade": (
        HEAD + b"Upgrade: h2,h2c\r\nConnection: Upgrade, close\r\nContent-Length: 3\r\n\r\nabc",
        200,
        b"abc",
    ),
    "elsewhere": (answer(302, b"abc", location="http://127.0.0.1/other"), 302, b"abc"),
}  # fmt: skip


@pytest.mark.parametrize("framing", FRAMED)
def test_an_answer_is_read_however_it_is_framed(framing: str) -> None:
    said, status, body = FRAMED[framing]
    with Scripted(said) as server:
        found = sent(server.url)
    assert (found.status, found.body) == (status, body)
    assert "x-not" not in found.headers
    assert "x-late" not in found.headers
    assert len(server.got) == 1


@pytest.mark.parametrize("framing", ["chunks-and-trailers", "after-others", "length"])
def test_an_answer_may_arrive_in_any_pieces(framing: str) -> None:
    said, status, body = FRAMED[framing]

    async def read(cut: int) -> tuple[int, bytes]:
        reading = Reading(100)
        reading.data_received(said[:cut])
        for at in range(cut, len(said)):
            reading.data_received(said[at : at + 1])
        await reading.ended
        return reading.status, reading.body

    async def all_of_them() -> set[tuple[int, bytes]]:
        return {await read(cut) for cut in range(1, len(said))}

    assert asyncio.run(all_of_them()) == {(status, body)}


def test_a_header_that_came_twice_is_joined_and_names_are_in_lower_case() -> None:
    with Scripted(HEAD + b"X-A: 1\r\nx-a:  2 \r\nContent-Length: 0\r\n\r\n") as server:
        assert sent(server.url).headers["x-a"] == "1, 2"


def test_who_answers_before_the_request_is_read_is_heard() -> None:
    with Scripted(answer(413, b"too much"), whole=False) as server:
        found = sent(server.url, b"x" * 30_000_000)
    assert (found.status, found.body) == (413, b"too much")


def test_a_body_of_just_the_allowed_length_is_read() -> None:
    with Scripted(answer(200, b"x" * 1_000)) as server:
        assert len(sent(server.url, most=1_000).body) == 1_000


def endless(start: bytes, more: bytes) -> Any:
    def play(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(start)
        while not closing.is_set():
            connection.sendall(more)

    return play


TOO_LONG = {
    "length": HEAD + b"Content-Length: 1001\r\n\r\n",
    "chunks": chunked(b"x" * 500, b"x" * 501),
    "until-closed": endless(HEAD + b"\r\n", b"x" * 1_000),
    "framing": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 60_000 + b"\r\nx\r\n"),
    "trailers": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-More: " + b"x" * 990),
}


@pytest.mark.parametrize("way", TOO_LONG)
def test_a_body_that_is_too_long_is_not_read_to_its_end(way: str) -> None:
    with Scripted(TOO_LONG[way]) as server, pytest.raises(TooLong) as raised:
        sent(server.url, most=1_000)
    assert str(raised.value) == f"127.0.0.1:{server.port}: the answer is too long"
    assert raised.value.status == 200


BAD = {
    "garbage": (b"\x00\x01 no http at all\r\n\r\n", "what came back is not HTTP"),
    "a mail server": (b"220 mail.example.org ESMTP\r\n", "what came back is not HTTP"),
    "another protocol": (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nxyz",
        "what came back is not HTTP",
    ),
    "two lengths": (HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "what came back is not HTTP"),
    "endless head": (endless(HEAD, b"X-More: 1\r\n" * 90), "the answer's head is too long"),
    "endless header": (endless(HEAD + b"X-More: ", b"x" * 1_000), "the answer's head is too long"),
    "no answer": (b"", "the connection was closed without an answer"),
    "half a head": (b"HTTP/1.1 200", "the connection was lost in the middle of the answer"),
    "half a body": (
        HEAD + b"Content-Length: 9\r\n\r\nabc",
        "the connection was lost in the middle of the answer",
    ),
    "half the chunks": (chunked(b"abc", end=b""), "the connection was lost in the middle of the answer"),
    "only an announcement": (
        b"HTTP/1.1 100 Continue\r\n\r\n",
        "the connection was lost in the middle of the answer",
    ),
    "hung up": (drop, "the connection was closed without an answer"),
}  # fmt: skip


@pytest.mark.parametrize("way", BAD)
def test_what_is_no_whole_answer_is_told_by_host_and_port_alone(way: str) -> None:
    said, why = BAD[way]
    with Scripted(said) as server:
        assert failed(server.url) == why


def drip(connection: socket.socket, closing: threading.Event) -> None:
    """Never ends, and never falls silent for long."""
    connection.sendall(HEAD + b"Content-Length: 100000\r\n\r\n")
    while not closing.wait(0.01):
        connection.sendall(b"x")


@pytest.mark.parametrize("play", [hang, drip], ids=["silent", "slow"])
def test_the_deadline_is_for_all_of_it(play: Any) -> None:
    with Scripted(play) as server:
        assert failed(server.url, timeout=0.1) == "no answer within 0.1 s"


LOST: list[tuple[Any, dict[str, Any]]] = [
    (hang, {"timeout": 0.5}),
    (drip, {"timeout": 0.5}),
    (drop, {}),
    (b"", {}),
    (HEAD[:9], {}),
    (b"\x00\x01\x02 nonsense\r\n\r\n", {}),
    (HEAD + b"Content-Length: 99\r\n\r\nx", {"most": 10}),
]
LOST_IDS = ["silent", "slow", "rude", "closed", "half", "not http", "too long"]


@pytest.mark.parametrize(("play", "options"), LOST, ids=LOST_IDS)
def test_an_answer_that_is_lost_leaves_a_request_that_was_sent(play: Any, options: dict[str, Any]) -> None:
    with Scripted(play) as server:
        assert unreachable(server.url, **options).sent
        assert len(server.got) == 1


def test_what_no_server_took_was_not_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert not unreachable(f"http://127.0.0.1:{port}").sent
    with looking_up({}):
        assert not unreachable("http://nowhere.test:80").sent


@pytest.mark.parametrize("way", ["silent", "rude"])
def test_a_request_of_which_a_part_is_still_here_was_not_sent(way: str) -> None:
    play, options = {"silent": (hang, {"timeout": 0.5}), "rude": (drop, {})}[way]
    with Scripted(play, whole=False) as server:
        assert not unreachable(server.url, b"x" * 30_000_000, **options).sent


def test_a_deadline_counts_from_the_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", never)
    assert failed("http://hooks.test:8080", timeout=0.05) == "no answer within 0.05 s"


def test_nobody_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert failed(f"http://127.0.0.1:{port}") == "cannot connect (Connection refused)"
    with looking_up({"empty.test": []}):
        assert failed("http://nowhere.test:80") == "the name does not resolve"
        assert failed("http://empty.test:80") == "the name has no address"


def test_each_address_is_tried_in_turn() -> None:
    with Scripted() as server, looking_up({"hooks.test": ["127.0.0.2", "127.0.0.3", "127.0.0.1"]}) as asked:
        assert sent(f"http://hooks.test:{server.port}/").status == 200
    assert asked == ["hooks.test"]
    assert server.got[0].headers["host"] == f"hooks.test:{server.port}"


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["::ffff:169.254.169.254"]],
    ids=["loopback", "one-of-two", "v6", "mapped"],
)
def test_a_name_that_stands_for_a_private_address_is_refused(addresses: list[str]) -> None:
    with (
        Scripted() as server,
        looking_up({"hooks.test": addresses}) as asked,
        pytest.raises(Forbidden) as raised,
    ):
        sent(f"http://hooks.test:{server.port}/{SECRET}", private=False)
    assert str(raised.value).startswith(f"hooks.test:{server.port}: {addresses[-1]} is ")
    assert SECRET not in str(raised.value)
    assert asked == ["hooks.test"]
    assert server.got == []


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0", "0.0.0.0",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "169.254.169.254", "LOCALHOST", "[fe80::1]",
    ],
)  # fmt: skip
def test_no_spelling_hides_a_private_address(host: str) -> None:
    with Scripted() as server, pytest.raises(Forbidden):
        sent(f"http://{host}:{server.port}/", private=False)
    assert server.got == []


def test_the_address_that_was_judged_is_the_one_connected_to() -> None:
    """A name that stands for another address when it is asked for again changes nothing."""
    names = {"hooks.test": ["127.0.0.1"]}
    with Scripted() as server, looking_up(names) as asked:
        real = asyncio.BaseEventLoop.getaddrinfo

        async def once(*given: Any, **options: Any) -> Any:
            found = await real(*given, **options)
            names["hooks.test"] = ["203.0.113.1"]
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio.BaseEventLoop, "getaddrinfo", once)
            assert sent(f"http://hooks.test:{server.port}/").status == 200
    assert asked == ["hooks.test"]


def test_ipv6_is_spoken_where_the_machine_has_it() -> None:
    try:
        server = Scripted(host="::1")
    except OSError:
        assert failed("http://[::1]:9").startswith("cannot connect (")
        return
    with server:
        assert sent(f"{server.url}/").status == 200
    assert server.got[0].headers["host"] == f"[::1]:{server.port}"


def test_a_host_of_other_letters_is_looked_up_in_its_plain_spelling() -> None:
    plain = "xn--bcher-kva.example"
    with Scripted() as server, looking_up({plain: ["127.0.0.1"]}) as asked:
        assert sent(f"http://Bücher.example:{server.port}/ä?ö=1").status == 200
    assert asked == [plain]
    assert server.got[0].line == "POST /%C3%A4?%C3%B6=1 HTTP/1.1"
    assert server.got[0].headers["host"] == f"{plain}:{server.port}"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://a.test", "a.test"),
        ("http://a.test:80/", "a.test"),
        ("http://a.test:443/", "a.test:443"),
        ("https://a.test:443/", "a.test"),
        ("https://a.test:80/", "a.test:80"),
        ("https://[2001:db8::1]/", "[2001:db8::1]"),
    ],
)
def test_the_host_header_names_the_port_where_it_is_not_the_usual_one(url: str, host: str) -> None:
    head = outgoing._head(outgoing._target(url), 0, {})
    assert head.split(b"\r\n")[:2] == [b"POST / HTTP/1.1", f"host: {host}".encode()]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.test/", "a.test/x", "http://", "http:///x", "http://a.test:99999/", "http://a.test:x/", "http://[::1/",
        f"http://user:{SECRET}@a.test/", f"http://{SECRET}@a.test/", f"http://a.test/{SECRET} x",
        f"http://a.test/{SECRET}\r\nX-A: 1", f"http://a.test\n/{SECRET}", "http://a..test/", f"http://{'a' * 64}.test/",
        f"http://a.test/{SECRET}\ud800", f"http://a.test/?{SECRET}\ud800",
    ],
    ids=range(16),
)  # fmt: skip
def test_a_url_that_cannot_be_meant_is_refused_and_not_shown(url: str) -> None:
    with looking_up({}) as asked, pytest.raises(FieldError) as raised:
        sent(url)
    assert raised.value.field == "url"
    assert SECRET not in str(raised.value)
    assert asked == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-a", f"{SECRET}\r\nX-B: 1"), ("x-a", f"{SECRET}\n"), ("x-a", f"{SECRET}\x00"), ("x-a", f"{SECRET}\u20ac"),
        ("x a", SECRET), ("", SECRET), ("x-a:", SECRET), ("Host", SECRET), ("content-length", "3"),
        ("Transfer-Encoding", "chunked"), ("connection", "keep-alive"),
    ],
    ids=range(11),
)  # fmt: skip
def test_a_header_that_would_change_the_request_is_refused_and_not_shown(name: str, value: str) -> None:
    with looking_up({}) as asked, pytest.raises(FieldError) as raised:
        sent("http://a.test/", headers={name: value})
    assert SECRET not in str(raised.value)
    assert asked == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for hooks.test and 127.0.0.1 that nobody else has signed, and its key, in one file."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
            "-subj", "/CN=hooks.test", "-addext", "subjectAltName=DNS:hooks.test,IP:127.0.0.1",
            "-addext", "keyUsage=critical,digitalSignature,keyCertSign", "-keyout", "key.pem", "-out", "cert.pem",
        ],
        cwd=folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return folder


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """A server's side of it."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    return made


@pytest.fixture
def trusting(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine trusts it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    outgoing._context.cache_clear()
    yield
    outgoing._context.cache_clear()


def test_tls_is_spoken_to_the_checked_address_in_the_host_s_own_name(
    tls: ssl.SSLContext, trusting: None
) -> None:
    named: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: named.append(name)
    body = bytes(range(256)) * 4_000
    with Scripted(chunked(b"abc"), context=tls) as server:
        with looking_up({"hooks.test": ["127.0.0.1"]}):
            assert sent(f"https://hooks.test:{server.port}/", body).body == b"abc"
        assert sent(f"{server.url}/", body).status == 200
    assert named == ["hooks.test", None]
    assert [got.body for got in server.got] == [body, body]


def test_a_certificate_that_is_not_trusted_or_not_the_host_s_is_refused(
    tls: ssl.SSLContext, trusting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Scripted(context=tls) as server,
        looking_up({n: ["127.0.0.1"] for n in ("other.test", "hooks.test")}),
    ):
        told = failed(f"https://other.test:{server.port}")
        assert told.startswith("the certificate is refused (Hostname mismatch")
        monkeypatch.delenv("SSL_CERT_FILE")
        outgoing._context.cache_clear()
        assert failed(f"https://hooks.test:{server.port}").startswith("the certificate is refused (self")
    assert server.got == []


@pytest.mark.parametrize("length", [2, 3_000_000], ids=["short", "long"])
def test_over_tls_too_it_is_known_that_all_of_it_was_sent(
    tls: ssl.SSLContext, trusting: None, length: int
) -> None:
    with Scripted(drop, context=tls) as server:
        assert unreachable(f"https://127.0.0.1:{server.port}", b"x" * length).sent
        assert len(server.got) == 1


def test_who_does_not_speak_tls_is_told_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def blurt() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(65_536)

        thread = threading.Thread(target=blurt, daemon=True)
        thread.start()
        assert failed(f"https://127.0.0.1:{listening.getsockname()[1]}").startswith("TLS failed (")
        thread.join(30)


def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    async def give_up(url: str) -> None:
        task = asyncio.create_task(post(url, b"", {}, timeout=30.0, private=True))
        await asyncio.to_thread(until, lambda: server.got)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Scripted(hang) as server:
        asyncio.run(give_up(server.url))


def test_a_reading_that_broke_unheard_says_nothing_more() -> None:
    async def broken() -> None:
        reading = Reading(10)
        reading.connection_lost(None)
        with pytest.raises(Broken):
            await reading.ended

    asyncio.run(broken())
