"""Passwords, kept as scrypt hashes: `scrypt$n$r$p$salt$hash`, salt and hash in base64."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from typing import Final

from tenure.errors import FieldError

__all__ = ["check_password", "hash_password", "is_hash"]

_N, _R, _P = 2**15, 8, 1
_LEAST: Final = 8
_HASH: Final = re.compile(r"scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9+/=]{16,64})\$([A-Za-z0-9+/=]{24,128})\Z")  # fmt: skip
_MEMORY: Final = 256 * 1024 * 1024


def hash_password(password: str) -> str:
    """A hash to be kept in settings."""
    if len(password) < _LEAST:
        raise FieldError("password", f"must have at least {_LEAST} characters", "***")
    salt = secrets.token_bytes(16)
    made = _scrypt(password, salt, _N, _R, _P)
    return f"scrypt${_N}${_R}${_P}${b64encode(salt).decode()}${b64encode(made).decode()}"


def is_hash(text: object) -> bool:
    """Whether it is one that can be checked here."""
    found = _HASH.match(text) if isinstance(text, str) else None
    if found is None:
        return False
    n, r, p = (int(found[i]) for i in (1, 2, 3))
    return n >= 2**14 and n & (n - 1) == 0 and r >= 1 and 1 <= p <= 16 and 128 * n * r < _MEMORY


def check_password(password: str, kept: str) -> bool:
    """Whether this is the password; takes about as long whether or not it is."""
    found = _HASH.match(kept)
    if found is None:
        return False
    n, r, p = (int(found[i]) for i in (1, 2, 3))
    made = _scrypt(password, b64decode(found[4]), n, r, p)
    return hmac.compare_digest(made, b64decode(found[5]))


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "replace"), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=32
    )
