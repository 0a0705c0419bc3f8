"""An answer is sent whole at once, whoever bound the socket."""

from __future__ import annotations

import socket
import types
from typing import Any

from tenure.gateway.server import _send_at_once


def over(connection: Any) -> Any:
    return types.SimpleNamespace(get_extra_info=lambda _name: connection)


def test_a_connection_of_any_socket_sends_small_writes_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        _send_at_once(over(accepted))
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_is_no_tcp_or_is_gone_is_left_alone() -> None:
    one, other = socket.socketpair()
    with one, other:
        _send_at_once(over(one))
    closed = socket.create_server(("127.0.0.1", 0))
    closed.close()
    _send_at_once(over(closed))
    _send_at_once(over(None))
