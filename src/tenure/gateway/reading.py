"""Reading one HTTP/1.1 answer from a connection, as it comes: its head, then its body by length, by chunks or until the end.

A protocol rather than a stream: a server may answer and hang up before it has read the whole request, and what it said is
still heard then. Needs httptools (the extra `gateway`), so it is imported when something is first sent.
"""

from __future__ import annotations

import asyncio
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

__all__ = ["Broken", "Reading"]

_LONGEST_HEAD = 65_536
_FRAMING = 8
"""How much longer than its body an answer may be on the wire, for chunks and what stands around them."""


class Broken(Exception):
    """What came back is no answer; the text says why. `status`: the answer's, if it is only too long."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


class Reading(asyncio.Protocol):
    """One answer; `ended` is done when it is whole, and raises Broken if it never will be.

    `written`: all of the request has left this process; over TLS, all is encrypted and on its way, which tells less.
    """

    def __init__(self, most: int) -> None:
        self.written = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.status = 0
        self.headers: dict[str, str] = {}
        self._most = most
        self._parts: list[bytes] = []
        self._size = self._received = 0
        self._head = False
        """Whether the head of the answer itself, not of one that only announces it, is whole."""
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self._parts)

    # What the connection tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There it is."""
        self._transport = cast("asyncio.Transport", transport)

    def write(self, request: bytes) -> None:
        """Write the request that is to be answered."""
        transport = cast("asyncio.Transport", self._transport)
        # Whatever the kernel does not take at once is told of; over TLS a limit of 0 would count nothing as too much.
        tls = transport.get_extra_info("sslcontext") is not None
        transport.set_write_buffer_limits(high=int(tls), low=0)
        transport.write(request)
        # A lost connection forgets what it had not written, so its length then would tell nothing.
        self.written = not transport.is_closing() and not transport.get_write_buffer_size()

    def resume_writing(self) -> None:
        """The kernel has taken the rest."""
        self.written = True

    def data_received(self, data: bytes) -> None:
        """More of the answer."""
        if self.ended.done():
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._fail("what came back is not HTTP")
        if not self._head and self._received > _LONGEST_HEAD:
            self._fail("the answer's head is too long")
        if self._received > self._most * _FRAMING + _LONGEST_HEAD:
            self._too_long()

    def connection_lost(self, exc: Exception | None) -> None:
        """No more will come: the end of an answer that tells no length, the loss of any other."""
        if self._head and self._until_end and exc is None:
            self._whole()
        elif self._received:
            self._fail("the connection was lost in the middle of the answer")
        else:
            self._fail("the connection was closed without an answer")

    # What the parser tells. Nothing here may raise.

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or a trailer, which nobody asked for."""
        if self._head:
            return
        known, given = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        self.headers[known] = f"{self.headers[known]}, {given}" if known in self.headers else given

    def on_headers_complete(self) -> None:
        """A head is whole."""
        status = self._parser.get_status_code()
        if self.ended.done() or status < 200:
            return
        self._head, self.status = True, status
        length = self.headers.get("content-length", "")
        if length.isdecimal() and int(length[:18]) > self._most:
            self._too_long()

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        if self.ended.done():
            return
        self._size += len(part)
        if self._size > self._most:
            self._too_long()
        else:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        """An answer is whole; one below 200 only says that another is to come."""
        if self._head:
            self._whole()
        else:
            self.headers.clear()

    # How it ends.

    @property
    def _until_end(self) -> bool:
        chunked = self.headers.get("transfer-encoding", "").lower().endswith("chunked")
        return not chunked and "content-length" not in self.headers

    def _whole(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _too_long(self) -> None:
        self._fail("the answer is too long", self.status)

    def _fail(self, why: str, status: int | None = None) -> None:
        if not self.ended.done():
            self.ended.set_exception(Broken(why, status))
            self.ended.exception()  # whoever gave up waiting need not hear of it
            self._parts.clear()
        if self._transport is not None:
            self._transport.abort()
