"""The page's files: right types, ETags, and nothing from outside their folder. What the page is made of is no secret."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from tenure.dashboard.access import Refused

__all__ = ["FOLDER", "file"]

FOLDER: Final = Path(__file__).with_name("static")
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".map": "application/json",
    ".txt": "text/plain; charset=utf-8",
}


def file(request: Request, name: str) -> Response:
    """One of them; 304 where it is known already. All are asked for anew each time: they change with the version."""
    try:
        found = (FOLDER / name).resolve()
        there = found.is_relative_to(FOLDER.resolve()) and found.is_file()
    except (OSError, ValueError):  # no file can have such a name
        there = False
    if not there or (kind := _TYPES.get(found.suffix)) is None:
        raise Refused(404, "there is no such file")
    body, etag = _read(found, found.stat().st_mtime_ns)
    headers = {"etag": etag, "cache-control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers={**headers, "content-type": kind})


@lru_cache(maxsize=256)
def _read(found: Path, _changed: int) -> tuple[bytes, str]:
    body = found.read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
