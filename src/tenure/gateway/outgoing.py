"""Requests of the gateway's own: one POST over HTTP/1.1, on a connection of its own, within a deadline for all of it.

    answer = await post("https://hooks.example.org/in", body, {"content-type": "application/json"}, timeout=30.0)

No redirects, no proxies, no cookies. It goes to public addresses only, unless `private` says otherwise: every address that the
host's name stands for is judged, and the connection is made to one that was, so a name cannot change its mind in between.
No error tells more of a URL than its host and port, and none tells a header's value or a part of a body.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

from tenure.errors import FieldError
from tenure.gateway.guard import refusal

if TYPE_CHECKING:
    from tenure.gateway.reading import Reading

__all__ = ["Answer", "Forbidden", "TooLong", "Unreachable", "fits", "is_url", "not_public", "post"]

_OURS = frozenset(
    {"host", "content-length", "connection", "transfer-encoding", "expect", "upgrade", "te", "trailer"}
)
"""Headers that say how the request itself is sent."""
_DEFAULTS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "tenure"}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
_ODD = re.compile(r"[\x00-\x20\x7f]")
_PATH = "/%:@!$&'()*+,;=~"
_MOST_TRIED = 8
_Address = tuple[socket.AddressFamily, Any]


class Answer(msgspec.Struct, frozen=True):
    """What came back: header names are in lower case, and one that came twice is joined by commas."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Unreachable(Exception):
    """Nothing usable came back; the text names host and port and what failed.

    `sent`: the whole request had been written by then, so it may have been acted on.
    """

    def __init__(self, text: str, *, sent: bool = False) -> None:
        super().__init__(text)
        self.sent = sent


class TooLong(Unreachable):
    """An answer came, with this `status`, but with a body longer than is read."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text, sent=True)
        self.status = status


class Forbidden(Exception):
    """The host stands for an address that nothing may be sent to."""


class _Target(NamedTuple):
    """Where a URL points, in the spellings that resolver, TLS and HTTP want."""

    tls: bool
    host: str
    port: int
    path: str
    authority: str
    """What the Host header says."""

    @property
    def place(self) -> str:
        """As errors name it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


async def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout: float,  # noqa: ASYNC109 - over all of it, with an error of its own
    private: bool = False,
    most: int = 1_048_576,
) -> Answer:
    """POST the body as it is; Unreachable, or Forbidden, where no answer came. FieldError: it cannot be sent at all."""
    target = _target(url)
    request = _head(target, len(body), headers) + body
    reading: Reading | None = None
    try:
        async with asyncio.timeout(timeout) as deadline:
            addresses = await _addresses(target, private=private)
            transport, reading = await _connected(target, addresses, most, deadline.when() or 0.0)
            return await _exchange(target, transport, reading, request)
    except TimeoutError:
        sent = reading is not None and reading.written
        raise Unreachable(f"{target.place}: no answer within {timeout:g} s", sent=sent) from None


def fits(name: str, value: str) -> bool:
    """Whether this can be a header of a request: no line break or other control character, and none of our own."""
    return bool(_NAME.match(name) and _VALUE.match(value)) and name.lower() not in _OURS


def is_url(url: str) -> bool:
    """Whether something could be sent there, as far as can be told without looking its host up."""
    try:
        _target(url)
    except FieldError:
        return False
    return True


def not_public(url: str) -> str | None:
    """Why it is Forbidden unless `private`, where its host is an address, in any spelling; a name is judged when it is used."""
    host = _target(url).host
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    judged = ((where[0], refusal(_scoped(where))) for _, _, _, _, where in found)
    return next((f"{address}, which is {why}" for address, why in judged if why is not None), None)


def _target(url: str) -> _Target:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        known = host if ":" in host else host.encode("idna").decode("ascii")
        path = quote(parts.path or "/", safe=_PATH)
        if parts.query:
            path += f"?{quote(parts.query, safe=_PATH + '?')}"
    except ValueError:  # UnicodeError too; neither is told, since they quote the URL
        raise FieldError("url", "must be a URL with a host", "something else") from None
    if parts.scheme not in ("http", "https") or not known or _ODD.search(url):
        raise FieldError("url", "must be http:// or https:// with a host, without spaces", parts.scheme)
    if parts.username is not None or parts.password is not None:
        raise FieldError("url", "must hold no user and no password", host)
    tls = parts.scheme == "https"
    usual = 443 if tls else 80
    shown = f"[{known.partition('%')[0]}]" if ":" in known else known
    number = usual if port is None else port
    return _Target(tls, known, number, path, shown if number == usual else f"{shown}:{number}")


def _head(target: _Target, length: int, headers: Mapping[str, str]) -> bytes:
    given = {name.lower(): value for name, value in headers.items()}
    for name, value in given.items():
        if not fits(name, value):
            raise FieldError("headers", "must be plain text on one line, under names that are not ours", name)
    lines = [f"POST {target.path} HTTP/1.1", f"host: {target.authority}"]
    lines += [f"{name}: {value}" for name, value in {**_DEFAULTS, **given}.items()]
    lines += [f"content-length: {length}", "connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


async def _addresses(target: _Target, *, private: bool) -> list[_Address]:
    """What the host stands for, every address judged; one that is refused refuses the host."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(
            target.host, target.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
    except (socket.gaierror, UnicodeError):
        raise Unreachable(f"{target.place}: the name does not resolve") from None
    addresses: list[_Address] = [(family, where) for family, _, _, _, where in found]
    for _, where in addresses:
        why = None if private else refusal(_scoped(where))
        if why is not None:
            raise Forbidden(
                f"{target.place}: {where[0]} is {why}, and private addresses are not allowed here"
            )
    if not addresses:
        raise Unreachable(f"{target.place}: the name has no address")
    return addresses[:_MOST_TRIED]


def _scoped(where: Any) -> str:
    """The address with its link, where it is good on one link only."""
    address, scope = str(where[0]), where[3] if len(where) > 3 else 0
    return f"{address}%{scope}" if scope and "%" not in address else address


async def _exchange(
    target: _Target, transport: asyncio.Transport, reading: Reading, request: bytes
) -> Answer:
    from tenure.gateway.reading import Broken

    try:
        reading.write(request)  # all of it is in memory anyway; who answers before it is sent is heard
        await reading.ended
    except Broken as broken:
        text = f"{target.place}: {broken}"
        raise (
            Unreachable(text, sent=reading.written) if broken.status is None else TooLong(text, broken.status)
        ) from None
    finally:
        transport.abort()
    return Answer(reading.status, reading.headers, reading.body)


async def _connected(
    target: _Target, addresses: list[_Address], most: int, deadline: float
) -> tuple[asyncio.Transport, Reading]:
    """A connection to the first address that takes one; each gets its share of the time that is left."""
    from tenure.gateway.reading import Reading

    loop = asyncio.get_running_loop()
    failed = ""
    for at, address in enumerate(addresses):
        left = len(addresses) - at
        share = None if left == 1 else max(deadline - loop.time(), 0.0) / left
        try:
            async with asyncio.timeout(share):
                return await _connect(target, address, lambda: Reading(most))
        except TimeoutError as cause:
            failed = _told(cause) if cause.errno else "cannot connect (no answer)"
        except OSError as cause:
            failed = _told(cause)
    raise Unreachable(f"{target.place}: {failed}")


async def _connect(
    target: _Target, address: _Address, make: Callable[[], Reading]
) -> tuple[asyncio.Transport, Reading]:
    loop = asyncio.get_running_loop()
    family, where = address
    context = _context() if target.tls else None
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setblocking(False)
        await loop.sock_connect(sock, where)
    except BaseException:
        sock.close()
        raise
    name = target.host.partition("%")[0].rstrip(".") if target.tls else None
    return await loop.create_connection(make, sock=sock, ssl=context, server_hostname=name)


@cache
def _context() -> ssl.SSLContext:
    """Certificates are verified as the machine is set up to; made once, since reading them takes a while."""
    made = ssl.create_default_context()
    made.set_alpn_protocols(["http/1.1"])
    return made


def _told(cause: OSError) -> str:
    """What failed while connecting, in words that hold nothing of ours."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate is refused ({cause.verify_message.rstrip('.')})"
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed ({cause.reason or 'no reason given'})"
    return f"cannot connect ({os.strerror(cause.errno) if cause.errno else 'the connection was closed'})"
