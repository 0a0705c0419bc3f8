"""A gateway that speaks TLS itself: a handshake has as long as a head and counts as a connection, and answers must be taken too."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tenure.gateway.handshakes import Handshakes
from tests.cli.files import CERTIFICATE, KEY
from tests.gateway.house import House
from tests.gateway.signing import settings_of
from tests.gateway.test_limits import health_on
from tests.gateway.test_pipeline import HEALTH, connection_of, narrow
from tests.worker.house import until


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "both.pem"
    file.write_text(CERTIFICATE + KEY)
    return {"ssl_certfile": str(file)}


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def secured(line: socket.socket) -> ssl.SSLSocket:
    return trusting().wrap_socket(line)


def test_a_handshake_that_never_comes_closes_the_line(light: House, certificate: dict[str, str]) -> None:
    served = light.serve(settings_of("telegram"), header_deadline="500ms", server=certificate)
    with secured(served.raw()) as line:
        assert health_on(line).startswith(b"HTTP/1.1 200 ")
    with served.raw() as line:
        assert line.recv(1) == b""


def test_where_there_are_too_many_the_oldest_handshake_gives_way(
    light: House, certificate: dict[str, str]
) -> None:
    room = {"limit_concurrency": 2, "backlog": 1, **certificate}
    served = light.serve(settings_of("telegram"), header_deadline="60s", server=room)
    handshakes = served._server.config.handshakes  # type: ignore[attr-defined]
    with ExitStack() as lines:
        first, second, third = (lines.enter_context(served.raw()) for _ in range(3))
        until(lambda: len(handshakes.under_way) == 3)
        last = lines.enter_context(secured(served.raw()))
        assert first.recv(1) == b""
        assert health_on(last).startswith(b"HTTP/1.1 200 ")
        assert health_on(lines.enter_context(secured(second))).startswith(b"HTTP/1.1 200 ")
        crowded = lines.enter_context(secured(third))
        assert health_on(crowded).startswith(b"HTTP/1.1 503 ")
        assert not handshakes.under_way


def test_of_many_who_come_at_once_as_many_give_way_as_are_too_many() -> None:
    """Each is counted as gone when it is told to go, and not when it has."""

    class Line:
        gone = False

        def abort(self) -> None:
            self.gone = True

    class Slow:
        def __init__(self) -> None:
            self.transport = Line()

        async def shake(self, _within: float) -> None:
            await asyncio.Event().wait()

    async def crowd() -> list[bool]:
        handshakes, greeters = Handshakes(60.0, 3), [Slow() for _ in range(20)]
        for greeter in greeters:
            handshakes.greet(greeter, 1)  # type: ignore[arg-type]
        assert len(handshakes.under_way) == 2
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return [greeter.transport.gone for greeter in greeters]

    assert asyncio.run(crowd()) == [True] * 18 + [False] * 2


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"], ids=["nothing", "http", "half"]
)
def test_what_is_no_handshake_leaves_nothing_behind(
    light: House, certificate: dict[str, str], sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    served = light.serve(settings_of("telegram"), header_deadline="60s", server=certificate)
    handshakes = served._server.config.handshakes  # type: ignore[attr-defined]
    with served.raw() as line:
        until(lambda: len(handshakes.under_way) == 1)
        line.sendall(sent)
    until(lambda: not handshakes.under_way)
    with secured(served.raw()) as line:
        assert health_on(line).startswith(b"HTTP/1.1 200 ")
    assert not [r for r in caplog.records if r.levelname in ("WARNING", "ERROR")]


def test_what_comes_with_the_end_of_a_handshake_is_heard(light: House, certificate: dict[str, str]) -> None:
    served = light.serve(settings_of("telegram"), server=certificate)
    heard, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    with served.raw() as line:
        talk = trusting().wrap_bio(heard, said)
        while True:
            try:
                talk.do_handshake()
                break
            except ssl.SSLWantReadError:
                line.sendall(said.read())
                heard.write(line.recv(65_536))
        talk.write(HEALTH)
        line.sendall(said.read())  # both at once
        answer = b""
        while not answer:
            heard.write(line.recv(65_536))
            with suppress(ssl.SSLWantReadError):
                answer = talk.read(65_536)
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_who_does_not_take_its_answers_is_hung_up_on(light: House, certificate: dict[str, str]) -> None:
    served = light.serve(
        settings_of("telegram"), body_deadline="300ms", server={**certificate, "timeout_keep_alive": 60}
    )
    with secured(narrow(served)) as line:
        connection = connection_of(served, line)
        with suppress(ConnectionError, ssl.SSLError):
            line.sendall(HEALTH * 20_000)
        until(lambda: connection not in connection.connections)
