"""What one request may cost: its body's size and time, how deep its JSON goes and how long its numbers are.

Whatever breaks a limit raises `Refused`, with the answer that the sender gets. The deadline for headers is the server's
to keep (`tenure.gateway.server`): an ASGI app is called when they have arrived.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from tenure.gateway.deadline import Deadline

__all__ = ["HungUp", "Refused", "body_of", "json_of"]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""Texts, one that never ends too: each byte is looked at once, whatever was sent."""
_BUT_BRACKETS = bytes(c for c in range(256) if chr(c) not in "[]{}")
_SQUARE = bytes.maketrans(b"{}", b"[]")
_DIGITS = bytes(0x30 if chr(c) in "0123456789" else 0x20 for c in range(256))
_decode = msgspec.json.Decoder().decode


class Refused(Exception):
    """A request that is answered with something else than 200."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class HungUp(Exception):
    """The sender is gone; nobody is there to be answered."""


async def body_of(receive: Receive, length: str | None, most: int, deadline: Deadline) -> bytes:
    """The whole body: 413 as soon as it is known to be too long, 408 if it takes too long."""
    if length is not None and length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise Refused(413, "body too long", connection="close")
    try:
        return await deadline.within(_gathered(receive, most))
    except TimeoutError:
        raise Refused(408, "slow body", connection="close") from None


async def _gathered(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        piece = await receive()
        if piece["type"] == "http.disconnect":
            raise HungUp
        part: bytes = piece.get("body", b"")
        size += len(part)
        if size > most:
            raise Refused(413, "body too long", connection="close")
        if not piece.get("more_body"):
            return b"".join((*parts, part))
        parts.append(part)


def json_of(body: bytes, depth: int, digits: int) -> Any:
    """The body's JSON; 400 if it is none, or is nested too deep or holds numbers too long.

    Counting brackets and looking for digits in the raw bytes clears nearly every body at once; only what that leaves in
    doubt is looked at without its texts.
    """
    too_long = b"0" * (digits + 1)
    many = body.count(b"{") + body.count(b"[") > depth
    if many or too_long in body.translate(_DIGITS):
        bare = _STRINGS.sub(b"", body)
        if many and _too_deep(bare, depth):
            raise Refused(400, "too deep")
        if too_long in bare.translate(_DIGITS):
            raise Refused(400, "number too long")
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError):
        raise Refused(400, "not JSON") from None


def _too_deep(bare: bytes, depth: int) -> bool:
    """Whether brackets are left when the innermost pairs were taken away so many times."""
    left = bare.translate(_SQUARE, _BUT_BRACKETS)
    for _ in range(depth):
        left = left.replace(b"[]", b"")
    return bool(left)
