"""TLS handshakes: a connection counts from the moment it is there, and its handshake has as long as a head.

asyncio tells of a connection once its handshake is over, leaves that a minute, and counts none. Here a listening socket speaks no
TLS; each connection of it is greeted, and handed on as what it is when the handshake is over. Where there are too many, the
oldest handshake gives way: who means it is done in a moment, who does not will never be.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["Handshakes"]

_GOODBYE = 2.0
"""How long whoever is hung up on has to say goodbye in turn, in seconds; by itself asyncio would wait for 30."""


class Handshakes:
    """Those of one server, oldest first."""

    def __init__(self, within: float, most: int | None) -> None:
        self.within, self.most = within, most
        """How many seconds one may take; how many connections there may be, handshakes among them."""
        self.under_way: dict[_Greeter, asyncio.Task[None]] = {}

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the servers of this event loop greet those who come."""
        create = loop.create_server

        def listening(protocol: Callable[[], Any], *where: Any, ssl: Any = None, **more: Any) -> Any:
            return create(protocol if ssl is None else partial(_Greeter, self, protocol, ssl), *where, **more)

        loop.create_server = listening  # type: ignore[method-assign, assignment]

    def greet(self, greeter: _Greeter, connections: int) -> None:
        """One more, beside so many whose handshake is over."""
        task = asyncio.get_running_loop().create_task(greeter.shake(self.within))
        self.under_way[greeter] = task
        task.add_done_callback(lambda _: self.under_way.pop(greeter, None))
        while self.most is not None and self.under_way and len(self.under_way) + connections > self.most:
            oldest = next(iter(self.under_way))
            del self.under_way[oldest]  # its task ends a moment later, and many may come before
            oldest.transport.abort()


class _Greeter(asyncio.Protocol):
    """A connection until its handshake is over."""

    transport: asyncio.Transport

    def __init__(self, all_: Handshakes, protocol: Callable[[], Any], context: ssl.SSLContext) -> None:
        self._all, self._context, self._protocol = all_, context, protocol()
        self._early = b""

    def connection_made(self, transport: Any) -> None:
        """There it is."""
        self.transport = transport
        self._all.greet(self, len(self._protocol.connections))

    def data_received(self, data: bytes) -> None:
        """What came with the end of the handshake."""
        self._early += data

    async def shake(self, within: float) -> None:
        """Have it done, and hand the connection on; who makes none has hung up, or is hung up on."""
        loop = asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(
                self.transport, self, self._context, server_side=True, ssl_handshake_timeout=within,
                ssl_shutdown_timeout=_GOODBYE,
            )  # fmt: skip
        except OSError:  # it took too long, or was no handshake
            return
        if secured is None:  # whoever it was hung up in the middle
            return
        secured.set_protocol(self._protocol)
        self._protocol.connection_made(secured)
        if self._early:
            self._protocol.data_received(self._early)
