"""Payloads, results and error texts on their way into the store, and back.

A payload is JSON kept as ASCII text on every database, so it comes back exactly as it went in: no NaN, no silent change
of keys, at most 1 MiB and 100 levels. What cannot be kept is refused with the path inside it. Error texts are never
refused: they are cleaned, masked and cut, because a failure must always be recordable.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

import msgspec

from tenure.errors import PayloadError

__all__ = ["MAX_DEPTH", "MAX_ERROR", "MAX_PAYLOAD", "MAX_RESULT", "clean_error", "encode", "is_share", "mask"]

MAX_PAYLOAD = 1_048_576
MAX_RESULT = 65_536
MAX_DEPTH = 100
MAX_ERROR = 4_096
MAX_TRACEBACK = 16_384

_PLAIN = (str, int, float, bool, type(None))
_SAFE = frozenset({str, int, bool, type(None)})
_quick = msgspec.json.Encoder().encode
_FIX_TYPE = "use JSON values: dict, list, str, int, float, bool, None (or what msgspec can turn into them)"


def encode(value: Any, field: str = "payload", limit: int = MAX_PAYLOAD) -> str:
    """`value` as ASCII JSON text; PayloadError with the path inside it where that cannot be."""
    text = _encode_simple(value) or _encode_any(value, field)
    if len(text) > limit:
        raise PayloadError(
            field,
            "",
            f"must be at most {limit} bytes of JSON, this is {len(text)}",
            text[:40],
            "store the bulk elsewhere and pass a reference to it",
        )
    return text


def _encode_simple(value: Any) -> str | None:
    """The fast way, for what most payloads are: plain values, text keys, ASCII; None for anything else."""
    if not _is_simple(value, 0):
        return None
    try:
        text = _quick(value)
    except (OverflowError, UnicodeError, ValueError):
        return None
    return text.decode() if text.isascii() else None


def _is_simple(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind in (dict, list) and depth >= MAX_DEPTH:
        return False
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str or (type(inner) not in _SAFE and not _is_simple(inner, depth + 1)):
                return False
        return True
    if kind is list:
        return all(type(inner) in _SAFE or _is_simple(inner, depth + 1) for inner in value)
    return kind in _SAFE or (kind is float and isfinite(value))


def _encode_any(value: Any, field: str) -> str:
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError, UnicodeError) as cause:
        _find_fault(value, field, "", 0)
        raise PayloadError(field, "", f"must be JSON ({cause})", value, _FIX_TYPE) from None
    _find_fault(value, field, "", 0)
    return text


def _builtins(value: Any) -> Any:
    return msgspec.to_builtins(value, str_keys=True)


_encode = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_builtins, check_circular=True
).encode


def _find_fault(value: Any, field: str, path: str, depth: int) -> None:
    if depth > MAX_DEPTH or (depth == MAX_DEPTH and isinstance(value, (dict, list, tuple)) and not value):
        raise PayloadError(field, path, f"must be nested at most {MAX_DEPTH} deep", "…", "flatten it")
    if isinstance(value, float) and not isfinite(value):
        raise PayloadError(field, path, "must be a finite number", value, "use None or text")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise PayloadError(field, f"{path}[{key!r}]", "must have text keys", key, "use str(key)")
            _find_fault(inner, field, f"{path}.{key}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            _find_fault(inner, field, f"{path}[{index}]", depth + 1)
    elif not isinstance(value, _PLAIN):
        try:
            plain = _builtins(value)
        except (TypeError, ValueError) as cause:
            raise PayloadError(field, path, f"must be JSON-able ({cause})", value, _FIX_TYPE) from None
        _find_fault(plain, field, path, depth + 1)


_SECRETS = (
    ((":",), re.compile(r"\d(?<!\d\d)\d{5,11}:[A-Za-z0-9_-]{30,}"), "[bot token]"),
    (("://",), re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{0,30}://[^\s:/@]{0,200}:)[^\s@/]+(@)"), r"\1***\2"),
    (("authorization",), re.compile(r"(?i)(\bauthorization['\"]?\s{0,9}[:=]\s{0,9}['\"]?)[^\r\n'\",]+"), r"\1***"),
    (("passw", "pwd", "secret", "api", "access"), re.compile(r"(?i)((?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token)['\"]?\s{0,9}[:=]\s{0,9})['\"]?[^\s'\",&]+"), r"\1***"),
)  # fmt: skip
"""What is masked, each with words one of which stands in whatever it finds: to look for a word costs a hundredth."""


_LAST_WORD = re.compile(r"\S{1,300}\Z")


def mask(text: str) -> str:
    """`text` with what looks like a secret made unreadable: tokens, passwords in URLs, Authorization headers."""
    # Beyond ASCII a pattern takes more letters for alike than `lower` makes alike.
    plain = text.lower() if text.isascii() else None
    for words, pattern, instead in _SECRETS:
        if plain is None or any(word in plain for word in words):
            text = pattern.sub(instead, text)
    return text


def clean_error(text: object, limit: int = MAX_ERROR) -> str:
    """Error text that every store can keep: no NUL, no lone surrogates, secrets masked, cut at `limit` characters."""
    try:
        body = text if isinstance(text, str) else str(text)
    except Exception:
        body = f"<{type(text).__name__} whose text could not be read>"
    if len(body) > limit * 4:
        # What the cut may have halved is dropped whole: half a secret would not be known as one.
        body = _LAST_WORD.sub("", body[: limit * 4])
    body = body.replace("\x00", "\ufffd")
    body = mask(body.encode("utf-8", "replace").decode("utf-8"))
    return body if len(body) <= limit else body[: limit - 1] + "…"


def is_share(value: object) -> bool:
    """Whether it is a number from 0 to 1."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
