"""A form with files in it (multipart/form-data), as the Bot API takes them. What is no text is written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_hex
from typing import Any

import msgspec

__all__ = ["form_of"]


def form_of(params: Mapping[str, Any], files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The content type and the body. Names are the caller's own words; values may hold anything."""
    boundary = f"tenure-{token_hex(16)}"  # nothing that was there before can hold it
    parts = [_part(boundary, f'name="{name}"', _written(value)) for name, value in params.items()]
    parts += [_part(boundary, f'name="{name}"; filename="{name}"', held) for name, held in files.items()]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode()


def _part(boundary: str, named: str, held: bytes) -> bytes:
    return f"--{boundary}\r\ncontent-disposition: form-data; {named}\r\n\r\n".encode() + held + b"\r\n"


def _written(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)
