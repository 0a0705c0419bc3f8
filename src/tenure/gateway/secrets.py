"""Secrets: looked up where a reference points to, compared in constant time, and never shown.

A reference is `env:NAME`, `file:/path` (its text, without the last line break) or, where that is allowed, `inline:text`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hmac import compare_digest
from pathlib import Path

from tenure.payload import clean_error

__all__ = ["Masker", "any_equal", "resolve"]

_SHORTEST_MASKED = 4


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


class Masker:
    """Makes texts fit to be logged: known secrets and what looks like one are blotted out."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({s for s in secrets if len(s) >= _SHORTEST_MASKED}, key=len, reverse=True)

    def __call__(self, text: object, limit: int = 500) -> str:
        """The text, masked and short."""
        try:
            shown = text if isinstance(text, str) else f"{type(text).__name__}: {text}"
        except Exception:
            shown = f"<{type(text).__name__} whose text could not be read>"
        for secret in self._secrets:
            shown = shown.replace(secret, "***")
        return clean_error(shown, limit)
