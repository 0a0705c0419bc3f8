"""A wire that can be cut: a TCP proxy before a PostgreSQL server that loses a request or a reply when a test says so."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

__all__ = ["Cut", "Proxy"]

# What the server says at the end of every answer: it has done all it was asked, and waits.
_READY = re.compile(rb"Z\x00\x00\x00\x05[ITE]\Z")
_LONGEST = 65_536


@dataclass
class Cut:
    """A connection is to be cut at the next request that says `words`; `happened` once it was."""

    words: bytes
    what: Literal["request", "reply"]
    then: Callable[[], Any] | None = None
    happened: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    """What `then` raised, if it did."""


@dataclass
class _Wire:
    """One connection: what the client has said since the server's last answer, and which cut is under way."""

    client: socket.socket
    server: socket.socket
    said: bytes = b""
    cut: Cut | None = None
    silent: bool = False

    def close(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Listens on a port of its own and passes everything on to the server of `url`, until it is told to lose something."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._cuts: list[Cut] = []
        self._lock = threading.Lock()
        self._wires: list[_Wire] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._start(self._accept)

    @property
    def url(self) -> str:
        """The server's URL, through this proxy, unencrypted."""
        user, at, _ = self._target.netloc.rpartition("@")
        netloc = f"{user}{at}127.0.0.1:{self._listener.getsockname()[1]}"
        plain = [("sslmode", "disable"), ("gssencmode", "disable")]
        query = urlencode([*parse_qsl(self._target.query), *plain])
        return urlunsplit(("postgresql", netloc, self._target.path, query, ""))

    def lose_request(self, words: bytes) -> Cut:
        """Cut the connection instead of passing on the next request with these words."""
        return self._plan(Cut(words, "request"))

    def lose_reply(self, words: bytes, then: Callable[[], Any] | None = None) -> Cut:
        """Pass on the next request with these words, wait until the server has done it, do `then`, and cut."""
        return self._plan(Cut(words, "reply", then))

    def fall_silent(self) -> None:
        """Pass nothing on any more on the connections there are, and leave them open; new ones work."""
        with self._lock:
            for wire in self._wires:
                wire.silent = True

    def close(self) -> None:
        """Cut every connection and stop listening."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            wires = list(self._wires)
        for wire in wires:
            wire.close()
        for thread in self._threads:
            thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _plan(self, cut: Cut) -> Cut:
        with self._lock:
            self._cuts.append(cut)
        return cut

    def _start(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, name="test-proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection((self._target.hostname, self._target.port or 5432))
            except OSError:
                return
            wire = _Wire(client, server)
            with self._lock:
                self._wires.append(wire)
            self._start(self._requests, wire)
            self._start(self._replies, wire)

    def _requests(self, wire: _Wire) -> None:
        with contextlib.suppress(OSError):
            while data := wire.client.recv(_LONGEST):
                if wire.silent:
                    continue
                wire.said = (wire.said + data)[-_LONGEST:]
                cut = self._due(wire.said)
                if cut is not None and cut.what == "request":
                    cut.happened.set()
                    break
                wire.cut = wire.cut or cut
                wire.server.sendall(data)
        if wire.cut is None:
            wire.close()

    def _replies(self, wire: _Wire) -> None:
        lost = b""
        with contextlib.suppress(OSError):
            while data := wire.server.recv(_LONGEST):
                if wire.silent:
                    continue
                if wire.cut is not None:
                    lost += data
                    if _READY.search(lost):
                        _finish(wire.cut)
                        break
                else:
                    if _READY.search(data):
                        wire.said = b""
                    wire.client.sendall(data)
        wire.close()

    def _due(self, said: bytes) -> Cut | None:
        with self._lock:
            for cut in self._cuts:
                if cut.words in said:
                    self._cuts.remove(cut)
                    return cut
        return None


def _finish(cut: Cut) -> None:
    try:
        if cut.then is not None:
            cut.then()
    except BaseException as error:
        cut.error = error
    cut.happened.set()
