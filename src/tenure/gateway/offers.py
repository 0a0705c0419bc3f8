"""Offers to speak another protocol (`Upgrade: h2c`), which are not taken up: a request is served as if it had made none.

The parser leaves off behind the head of such a request, and does not read its body. So another one is given the head without
the offer, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from httptools import HttpRequestParser

__all__ = ["head_without", "is_offer", "parser_of"]


def is_offer(parser: HttpRequestParser) -> bool:
    """Whether the request whose head is whole makes one. (CONNECT asks for nothing else, and has no body.)"""
    return parser.should_upgrade() and parser.get_method() != b"CONNECT"


def head_without(parser: HttpRequestParser, url: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The head that was parsed, but for the offer."""
    first = b"%s %s HTTP/%s\r\n" % (parser.get_method(), url, parser.get_http_version().encode())
    lines = [b"%s: %s\r\n" % (name, value) for name, value in headers if name != b"upgrade"]
    return b"".join([first, *lines, b"\r\n"])


def parser_of(connection: object) -> HttpRequestParser:
    """A parser as uvicorn makes them."""
    parser = HttpRequestParser(connection)
    with suppress(AttributeError):  # httptools below 0.6.3 has none
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser
