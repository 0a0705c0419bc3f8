"""What a gateway answers: a status, JSON, the headers beside it, and for the counters, why it is not 200."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from tenure.gateway.limits import Refused

__all__ = ["STOPPING", "UNEXPECTED", "Answer", "encode", "headers_of", "refusal"]

encode = msgspec.json.Encoder().encode


class Answer(NamedTuple):
    """One answer."""

    content: Any
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    reason: str | None = None


STOPPING = Answer({"ok": False, "error": "stopping"}, 503, (("retry-after", "5"),), "stopping")
UNEXPECTED = Answer({"ok": False, "error": "unavailable"}, 503, (("retry-after", "5"),), "unexpected")


def refusal(refused: Refused) -> Answer:
    """What who is refused is told."""
    content = {"ok": False, "error": refused.reason}
    return Answer(content, refused.status, tuple(refused.headers.items()), refused.reason)


def headers_of(headers: Iterable[tuple[str, str]], length: int) -> list[tuple[bytes, bytes]]:
    """The headers of an answer whose body is this long."""
    own = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
    return own + [(name.encode(), value.encode()) for name, value in headers]
