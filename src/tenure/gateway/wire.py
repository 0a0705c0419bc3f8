"""What one connection may cost, as far as only a server can see to it: uvicorn's connection, with limits.

A head that is not whole in time ends the connection; that time does not run while requests before it wait for their answers.
Whatever is no HTTP, and whatever is no body and does not end, is answered 400, after everything that came before it. While
`MAX_OWED` requests wait for their answers, nothing more is read. Who does not take an answer in time is hung up on. Offers to
speak another protocol are not taken up (`offers.py`). What ends here without the app having been asked is told to `ended`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tenure.gateway.noise import INVALID
from tenure.gateway.offers import head_without, is_offer, parser_of

__all__ = ["MAX_HEAD", "MAX_OWED", "PIECE", "Wire"]

MAX_HEAD: Final = 65_536
"""How many bytes may come that are no part of a body: a head, or what is between and behind chunks."""
MAX_OWED: Final = 64
"""How many requests may wait for their answers; in what is read last, some more."""
PIECE: Final = 4_096
"""How many bytes are parsed at a time. The parser cannot be stopped inside of them, and a request may be as short as 18."""
_AT_ONCE: Final = 65_536
"""How many bytes are read at a time."""
_buffers: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()
"""One for all connections of an event loop: what was read is done with before the next is."""


class _Flow(FlowControl):
    """uvicorn reads on whenever a request was answered or its body asked for; here it does so only while there is room."""

    def __init__(self, transport: asyncio.Transport, has_room: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._has_room = has_room

    def resume_reading(self) -> None:
        """Read on, if there is room."""
        if self._has_room():
            super().resume_reading()


class Wire(HttpToolsProtocol, asyncio.BufferedProtocol):
    """One connection.

    It reads into a buffer that is there already: memory for what might come at most, asked for and given back with every
    read, takes the kernel longer than all of its other work for a request.
    """

    head_within: float
    """How many seconds a head may take to arrive."""
    taken_within: float
    """How many seconds an answer may take to be taken."""

    owed = 0
    """Requests that are not answered yet."""
    _rest = b""
    """What has arrived and is not parsed yet: there was no room for more requests."""
    _refusal: str | None = None
    """What is to be said of something that is no HTTP, once everything before it is answered."""
    _head_timer: asyncio.TimerHandle | None = None
    _taken_timer: asyncio.TimerHandle | None = None
    _headless = _spread = False
    """Whether a request has begun whose head is not complete; whether that was so before the last piece came."""
    _offer: bytes | None = None
    """The head, without its offer, of a request that the parser has left off at."""
    _beside = 0
    """Bytes since a head or a piece of a body was last complete."""

    # What the transport tells.

    def connection_made(self, transport: Any) -> None:
        """There it is."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self._has_room)
        # Whatever the kernel does not take at once is not taken; over TLS a limit of 0 would count nothing as too much.
        transport.set_write_buffer_limits(high=int(self.scheme == "https"), low=0)
        self._buffer = _buffers.setdefault(self.loop, memoryview(bytearray(_AT_ONCE)))
        self._wait_for_head()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's shape
        """Where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """So many came."""
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """More of a request, or of several."""
        self._rest += data
        self._read_on()

    def pause_writing(self) -> None:
        """An answer is not taken."""
        super().pause_writing()
        self._taken_timer = self.loop.call_later(self.taken_within, self.transport.abort)

    def resume_writing(self) -> None:
        """It is."""
        _cancel(self._taken_timer)
        self._taken_timer = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The sender, or we, hung up."""
        _cancel(self._head_timer)
        _cancel(self._taken_timer)
        super().connection_lost(exc)

    # What the parser tells.

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._headless = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of a head. What comes behind a body in the shape of one is not listened to: proxies do not look at it."""
        if self._headless:  # what follows is uvicorn's, without a call of its own for each of many lines
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """A whole head. What it raises is answered 400, as what is no HTTP."""
        if self._spread and len(self.url) + sum(map(_size, self.headers)) > MAX_HEAD:
            raise ValueError("the head is too long")
        self._beside, self._headless = 0, False
        _cancel(self._head_timer)
        self._head_timer = None
        if is_offer(self.parser):
            self._offer = head_without(self.parser, self.url, self.headers)
        else:
            self.begin()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._beside = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A whole request; or one that the parser has left off at, and that begins anew."""
        if self._offer is None:
            super().on_message_complete()

    def begin(self) -> None:
        """A request whose head is whole: have the app asked, once everything before it is answered."""
        before = self.cycle
        super().on_headers_complete()
        self.owed += self.cycle is not before

    def arrived(self) -> None:
        """All that came is parsed, or all that there is room for."""

    # What is said.

    def on_response_complete(self) -> None:
        """An answer is written: on with what came behind it."""
        self.owed -= 1
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._rest:
            self._read_on()
            self.flow.resume_reading()
        elif self._refusal is not None and not self.owed:
            self._say_400(self._refusal)
        elif self._headless:
            self._wait_for_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, after everything that came before it. Nothing behind it is read."""
        if self.owed and getattr(self.cycle, "more_body", False):  # it is the last one's own body
            self.owed -= 1
        if self.owed:
            self._refusal = msg
        else:
            self._say_400(msg)

    def ended(self, status: int, reason: str) -> None:
        """Something was answered so, 0: hung up on, and the app never heard of it."""

    def _say_400(self, msg: str) -> None:
        if not getattr(self.cycle, "more_body", False):  # else the app has the request, and counts it itself
            self.ended(400, "not HTTP")
        super().send_400_response(msg)

    # How much is read, and how long a head may take.

    def _has_room(self) -> bool:
        return self.owed < MAX_OWED and not self._rest

    def _is_ending(self) -> bool:
        return self._refusal is not None or self.transport.is_closing()

    def _read_on(self) -> None:
        """Parse what has arrived, as far as there is room for requests."""
        data, self._rest, at = self._rest, b"", 0
        while at < len(data) and self.owed < MAX_OWED and not self._is_ending():
            self._parse(data[at : at + PIECE])
            at += PIECE
        if self._is_ending():
            return
        self._rest = data[at:]
        self.arrived()
        if self._rest:
            self.flow.pause_reading()
        self._wait_for_head()  # blank lines begin no request, and would never end

    def _parse(self, piece: bytes) -> None:
        self._beside += len(piece)
        self._spread = self._headless
        self._unset_keepalive_if_required()
        try:
            self._feed(piece)
        except HttpParserError:
            self.logger.warning(INVALID)
            self.send_400_response(INVALID)
        if self._beside > MAX_HEAD and not self._is_ending():
            self.send_400_response(INVALID)

    def _feed(self, piece: bytes) -> None:
        while True:
            try:
                self.parser.feed_data(piece)
            except HttpParserUpgrade as left:
                if self._offer is None:
                    return
                piece, self._offer = self._offer + piece[left.args[0] :], None
                self.parser = parser_of(self)
            else:
                return

    def _wait_for_head(self) -> None:
        """Give it its time, unless that runs already or others have to be answered first."""
        if self._head_timer is None and not self.owed:
            self._head_timer = self.loop.call_later(self.head_within, self._too_slow)

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self.ended(0, "slow head")
            # With TLS a goodbye would be waited for, and who is slow to ask is slow to say goodbye.
            (self.transport.abort if self.scheme == "https" else self.transport.close)()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _size(header: tuple[bytes, bytes]) -> int:
    return len(header[0]) + len(header[1])
