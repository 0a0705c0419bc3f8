"""Secrets: looked up where a reference points to, compared in constant time, and never shown.

A reference is `env:NAME`, `file:/path` (its text, without the last line break) or, where that is allowed, `inline:text`.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hmac import compare_digest
from pathlib import Path
from urllib.parse import quote

from tenure.payload import clean_error

__all__ = ["Masker", "any_equal", "is_secret_header", "resolve"]

_SHORTEST_MASKED = 3
_SECRET_HEADER = re.compile(
    r"(?:|.*-)(?:authorization|cookie2?|signature(?:-\d+)?|token|secret|password|auth|api-?key)\Z",
    re.IGNORECASE,
)


def resolve(
    reference: str, *, inline: bool, environ: Mapping[str, str] | None = None
) -> tuple[str | None, str | None]:
    """The secret, or why there is none; the why never tells any part of one."""
    how, found, place = reference.partition(":")
    if not found or how not in ("env", "file", "inline"):
        return None, "a secret must be written env:NAME or file:/path"
    if how == "inline":
        if not inline:
            return None, "a secret is written inline; name it env:… or file:…, or set inline_secrets = true"
        return (place, None) if place else (None, "an inline secret is empty")
    if how == "env":
        value = (os.environ if environ is None else environ).get(place, "")
        return (value, None) if value else (None, f"the secret env:{place} is not set")
    try:
        value = Path(place).read_text("utf-8").rstrip("\r\n")
    except (OSError, ValueError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else "it is not text"
        return None, f"the secret file:{place} cannot be read ({why})"
    return (value, None) if value else (None, f"the secret file:{place} is empty")


def any_equal(given: bytes, wanted: Iterable[bytes]) -> bool:
    """Whether it is one of these, in a time that tells nothing about which or how nearly."""
    equal = False
    for one in wanted:
        equal |= compare_digest(given, one)
    return equal


def is_secret_header(name: str) -> bool:
    """Whether a header of this name carries a secret or a proof: Authorization, Cookie, …-Token, …-Signature."""
    return _SECRET_HEADER.match(name) is not None


class Masker:
    """Makes texts fit to be logged: known secrets and what looks like one are blotted out."""

    def __init__(self, secrets: Iterable[str]) -> None:
        shapes = {shape for secret in secrets for shape in _shapes(secret) if len(shape) >= _SHORTEST_MASKED}
        self._secrets = sorted(shapes, key=len, reverse=True)

    def __call__(self, text: object, limit: int = 500) -> str:
        """The text, masked and short."""
        try:
            shown = text if isinstance(text, str) else f"{type(text).__name__}: {text}"
        except Exception:
            shown = f"<{type(text).__name__} whose text could not be read>"
        return clean_error(self.blot(shown), limit)

    def blot(self, text: str) -> str:
        """The text without the known secrets, as long as it is."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _shapes(secret: str) -> Iterator[str]:
    """A secret, and the parts and spellings of it that are as good: a bot's token or a password behind its colon, what follows
    "Bearer", a key without whsec_, a password as Basic sends it."""
    yield from (secret, secret.removeprefix("whsec_"), quote(secret, safe=""))
    scheme, _, bearer = secret.partition(" ")
    if scheme.lower() in ("basic", "bearer", "token"):
        yield bearer
    _, colon, behind = secret.partition(":")
    if colon:
        yield from (behind, b64encode(secret.encode("utf-8", "replace")).decode())
