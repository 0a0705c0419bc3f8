"""The HTTP side of FakeTelegram: /bot<token>/<method>, with parameters as JSON, as a form (files too) or in the query, one thread a call."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tenure.clock import machine_micros

__all__ = ["Call", "Reply", "Server", "refusal", "seconds_now"]


class Call(NamedTuple):
    """One call of a method."""

    method: str
    params: dict[str, Any]
    at: float


class Reply(NamedTuple):
    """What is answered; a status of 0: nothing, and the connection is closed."""

    status: int
    body: bytes


Answerer = Callable[[str, Call, Callable[[], bool]], Reply]


def refusal(code: int, description: str, **parameters: Any) -> Reply:
    """No, as the Bot API says it."""
    more = {"parameters": parameters} if parameters else {}
    told = {"ok": False, "error_code": code, "description": description, **more}
    return Reply(code, json.dumps(told).encode())


def seconds_now() -> float:
    """The time, as Telegram tells it."""
    return machine_micros() / 1_000_000


class Server:
    """Listens from the start; answers once it is started."""

    def __init__(self, answer: Answerer, port: int) -> None:
        self._server = _Listening(answer, port)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="fake-telegram",
            daemon=True,
        )

    def start(self) -> None:
        """Answer."""
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any more; returns when nothing is left of it."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(10)
        self._server.hang_up()
        self._server.server_close()


class _Listening(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, answer: Answerer, port: int) -> None:
        self.answer = answer
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hangs up is no error."""

    def hang_up(self) -> None:
        """Wake those who wait for the next request of a connection."""
        with self._lock:
            for one in self._open:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listening

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Paths hold tokens."""

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = urlsplit(self.path)
        _, bot, method = [*unquote(parts.path).split("/", 2), "", ""][:3]
        if not bot.startswith("bot") or not method:
            reply = refusal(404, "Not Found")
        else:
            params = {**dict(parse_qsl(parts.query)), **_params(self.headers.get("content-type", ""), body)}
            reply = self.server.answer(bot[3:], Call(method, params, seconds_now()), self._gone)
        if not reply.status:
            self.close_connection = True
            return
        self.send_response(reply.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def _gone(self) -> bool:
        """Whether the caller has hung up: there is something to read, and it is the end."""
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True


def _params(content_type: str, body: bytes) -> dict[str, Any]:
    if "json" in content_type:
        try:
            given = json.loads(body or b"{}")
        except ValueError:
            return {}
        return given if isinstance(given, dict) else {}
    if content_type.startswith("multipart/form-data"):
        return _form(content_type, body)
    return dict(parse_qsl(body.decode("utf-8", "replace")))


def _form(content_type: str, body: bytes) -> dict[str, Any]:
    """A form's parts: files as their bytes, the rest as text."""
    read = BytesParser(policy=HTTP).parsebytes(b"content-type: " + content_type.encode() + b"\r\n\r\n" + body)
    given: dict[str, Any] = {}
    for part in read.iter_parts():
        held = part.get_payload(decode=True)
        if isinstance(held, bytes):
            name = str(part.get_param("name", header="content-disposition"))
            given[name] = held if part.get_filename() else held.decode("utf-8", "replace")
    return given
