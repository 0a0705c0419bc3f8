"""A gateway that speaks TLS itself: a handshake has as long as a head, and answers must be taken there too."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

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


def secured(line: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(line)


def test_a_handshake_that_never_comes_closes_the_line(light: House, certificate: dict[str, str]) -> None:
    served = light.serve(settings_of("telegram"), header_deadline="500ms", server=certificate)
    with secured(served.raw()) as line:
        assert health_on(line).startswith(b"HTTP/1.1 200 ")
    with served.raw() as line:
        assert line.recv(1) == b""


def test_who_does_not_take_its_answers_is_hung_up_on(light: House, certificate: dict[str, str]) -> None:
    served = light.serve(
        settings_of("telegram"), body_deadline="300ms", server={**certificate, "timeout_keep_alive": 60}
    )
    with secured(narrow(served)) as line:
        connection = connection_of(served, line)
        with suppress(ConnectionError, ssl.SSLError):
            line.sendall(HEALTH * 20_000)
        until(lambda: connection not in connection.connections)
