"""A wire that can be cut: a TCP proxy before a PostgreSQL server that loses a request or a reply when a test says so.

It can also do to all its connections what networks do: reset them, swallow everything, lose one side, drip, or end in the
middle of a message.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

__all__ = ["Cut", "Proxy"]

# What the server says at the end of every answer: it has done all it was asked, and waits.
_READY = re.compile(rb"Z\x00\x00\x00\x05[ITE]\Z")
_LONGEST = 65_536
_PAUSE = 0.001
"""Between two bytes that drip, in seconds."""
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: closing says RST, not FIN."""


@dataclass
class Cut:
    """A connection is to be cut at the next request that says `words`; `happened` once it was."""

    words: bytes
    what: Literal["request", "reply"]
    then: Callable[[], Any] | None = None
    unnoticed: bool = False
    """Whether the server is left to believe that the client is still there."""
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
    kept: socket.socket | None = None
    """The side that stays when the other one has gone."""
    left: int | None = None
    """How many bytes still pass before the end, of replies or of requests."""
    ends_at: socket.socket | None = None
    """To whom these bytes go."""
    drips: bool = False
    abrupt: bool = False

    def close(self) -> None:
        for end in (self.client, self.server):
            if end is not self.kept:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RD if self.abrupt else socket.SHUT_RDWR)
                end.close()

    def reset(self) -> None:
        """Wake who listens without a word to the other side; the close that follows says RST."""
        self.abrupt = True
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.shutdown(socket.SHUT_RD)

    def pass_on(self, end: socket.socket, data: bytes) -> None:
        """Send it: at once, byte by byte with pauses, or as much as still passes."""
        left = self.left if end is self.ends_at else None
        if left is not None:
            data = data[:left]
            self.left = left - len(data)
        at = 0
        while self.drips and at < len(data):
            end.sendall(data[at : at + 1])
            time.sleep(_PAUSE)
            at += 1
        end.sendall(data[at:])
        if left is not None and self.left == 0:
            raise ConnectionAbortedError


class Proxy:
    """Listens on a port of its own and passes everything on to the server of `url`, until it is told to lose something."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._cuts: list[Cut] = []
        self._lock = threading.Lock()
        self._wires: list[_Wire] = []
        self._threads: list[threading.Thread] = []
        self._swallowed: list[socket.socket] = []
        self._swallows = self._drips = False
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

    def lose_request(self, words: bytes, *, unnoticed: bool = False) -> Cut:
        """Cut the connection instead of passing on the next request with these words; the server may not notice."""
        return self._plan(Cut(words, "request", unnoticed=unnoticed))

    def lose_reply(self, words: bytes, then: Callable[[], Any] | None = None) -> Cut:
        """Pass on the next request with these words, wait until the server has done it, do `then`, and cut."""
        return self._plan(Cut(words, "reply", then))

    def fall_silent(self) -> None:
        """Pass nothing on any more on the connections there are, and leave them open; new ones work."""
        with self._lock:
            for wire in self._wires:
                wire.silent = True

    def reset(self) -> None:
        """Reset every connection there is (RST, to both sides); new ones work."""
        for wire in self._all():
            wire.reset()

    def swallow(self) -> None:
        """From now on connections are accepted, and nothing that is said on any is ever answered, until `heal`."""
        self._swallows = True
        self.fall_silent()

    def lose_side(self, side: Literal["client", "server"]) -> None:
        """One side of every connection there is has gone without a word, and the other one does not know; new ones work."""
        for wire in self._all():
            wire.silent = True
            wire.kept = wire.server if side == "client" else wire.client
            with contextlib.suppress(OSError):
                (wire.client if side == "client" else wire.server).shutdown(socket.SHUT_RDWR)

    def drip(self) -> None:
        """From now on everything passes byte by byte, with a pause after each, until `heal`."""
        self._drips = True
        for wire in self._all():
            wire.drips = True

    def end_after(self, count: int, of: Literal["requests", "replies"] = "replies") -> None:
        """Every connection there is ends once so many more bytes have passed on it in one direction; new ones work."""
        for wire in self._all():
            wire.left, wire.ends_at = count, wire.server if of == "requests" else wire.client

    def heal(self) -> None:
        """New connections work, and what drips flows again; what is silent stays so."""
        self._swallows = self._drips = False
        for wire in self._all():
            wire.drips = False

    @property
    def alive(self) -> int:
        """How many connections it has that still pass anything on."""
        return sum(not wire.silent and wire.client.fileno() != -1 for wire in self._all())

    def close(self) -> None:
        """Cut every connection and stop listening."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for wire in self._all():
            wire.kept = None
            wire.close()
        for swallowed in self._swallowed:
            swallowed.close()
        for thread in self._threads:
            thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _all(self) -> list[_Wire]:
        with self._lock:
            return list(self._wires)

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
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._swallows:
                    self._swallowed.append(client)
                    continue
                server = socket.create_connection((self._target.hostname, self._target.port or 5432))
            except OSError:
                return
            wire = _Wire(client, server, drips=self._drips)
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
                    wire.kept = wire.server if cut.unnoticed else None
                    cut.happened.set()
                    break
                wire.cut = wire.cut or cut
                wire.pass_on(wire.server, data)
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
                    wire.pass_on(wire.client, data)
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
