"""A real HTTP server on loopback that answers as a test tells it to, well or badly, and keeps what it was sent."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, Self

__all__ = ["Got", "Scripted", "answer", "chunked", "drop", "hang", "looking_up"]

Play = bytes | Callable[[socket.socket, threading.Event], None]


class Got(NamedTuple):
    """One request, as it arrived; header names in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes


def answer(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """A proper answer; retry_after="3" is Retry-After: 3."""
    lines = [f"HTTP/1.1 {status} Word", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(*parts: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """An answer in chunks."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(f"{len(p):x}\r\n".encode() + p + b"\r\n" for p in parts) + end


def drop(connection: socket.socket, closing: threading.Event) -> None:
    """Hang up at once and rudely."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hang(connection: socket.socket, closing: threading.Event) -> None:
    """Say nothing until the test is over."""
    closing.wait(60)


class Scripted:
    """Answers the first request with the first play of its script, and so on; the last one is repeated."""

    def __init__(
        self,
        *script: Play,
        context: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        whole: bool = True,
    ) -> None:
        self.script: list[Play] = list(script) or [answer()]
        self.got: list[Got] = []
        self._context, self._whole = context, whole
        self._host = host
        self._closing = threading.Event()
        self._listening = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        self.port: int = self._listening.getsockname()[1]
        scheme = "http" if context is None else "https"
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.set()
        with suppress(OSError):
            socket.create_connection((self._host, self.port), timeout=5).close()  # wakes who accepts
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            if self._closing.is_set():
                connection.close()
                return
            connection.settimeout(30)
            serving = threading.Thread(target=self._serve, args=[connection], daemon=True)
            self._threads.append(serving)
            serving.start()

    def _serve(self, raw: socket.socket) -> None:
        with suppress(OSError), raw:
            if self._context is None:
                self._play(raw)
                return
            with self._context.wrap_socket(raw, server_side=True) as wrapped:
                self._play(wrapped)

    def _play(self, connection: socket.socket) -> None:
        request = _read(connection, whole=self._whole)
        if request is None:
            return
        self.got.append(request)
        play = self.script[min(len(self.got), len(self.script)) - 1]
        if isinstance(play, bytes):
            connection.sendall(play)
        else:
            play(connection, self._closing)
        if not self._whole:  # what was not read is not to take the answer with it
            connection.shutdown(socket.SHUT_WR)
            self._closing.wait(60)


def _read(connection: socket.socket, *, whole: bool) -> Got | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65_536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
    while whole and len(body) < int(headers["content-length"]):
        more = connection.recv(65_536)
        if not more:
            return None
        body += more
    return Got(line, headers, body)


@contextmanager
def looking_up(names: dict[str, list[str]]) -> Iterator[list[str]]:
    """While this lasts, these names stand for these addresses, and no other name for any; who was looked up."""
    asked: list[str] = []

    async def getaddrinfo(
        self: object, host: str, port: int, **options: int
    ) -> list[tuple[socket.AddressFamily, int, int, str, tuple[object, ...]]]:
        asked.append(host)
        if host not in names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (one, port, 0, 0))
            if ":" in one
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in names[host]
        ]

    real = asyncio.BaseEventLoop.getaddrinfo
    asyncio.BaseEventLoop.getaddrinfo = getaddrinfo  # type: ignore[method-assign,assignment]
    try:
        yield asked
    finally:
        asyncio.BaseEventLoop.getaddrinfo = real  # type: ignore[method-assign]
