"""The site that is crawled: a small manga library on this machine, the same whenever and wherever it runs.

    GET  /                           which manga there are
    GET  /manga/<slug>               one manga
    GET  /manga/<slug>/chapters      its chapters
    GET  /manga/<slug>/<n>           one chapter: where its pages are
    GET  /image/<slug>/<n>/<p>.png   one page
    POST /login                      a session, good for a number of requests; then every answer is 401

Editions differ in their chapters: from the second on, some are new and some have vanished.
"""

from __future__ import annotations

import json
import struct
import threading
import time
import zlib
from collections import Counter
from contextlib import suppress
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast
from uuid import uuid4

__all__ = ["MANGA", "PAGES", "Site", "chapters_of", "image"]

MANGA = {
    "lantern-street": "Lantern Street",
    "the-glass-tide": "The Glass Tide",
    "nine-paper-foxes": "Nine Paper Foxes",
    "clockwork-orchard": "Clockwork Orchard",
    "a-moth-named-winter": "A Moth Named Winter",
    "salt-and-signal": "Salt and Signal",
}
PAGES = 3
"""Pages of a chapter."""
_CHAPTERS = 8


def chapters_of(slug: str, edition: int) -> list[int]:
    """The chapters of a manga: each edition adds one and lets some of the old ones vanish."""
    place = list(MANGA).index(slug)
    return [n for n in range(1, _CHAPTERS + edition) if edition == 1 or (n + place + edition) % 7]


def image(slug: str, chapter: int, page: int) -> bytes:
    """A page: a PNG of stripes, of no other page's colours."""
    seed = blake2b(f"{slug}/{chapter}/{page}".encode(), digest_size=36).digest()
    colours = [seed[n : n + 3] for n in range(0, 36, 3)]
    rows = b"".join(b"\0" + colours[y // 8] * 64 for y in range(96))
    head = struct.pack(">IIBBBBB", 64, 96, 8, 2, 0, 0, 0)
    parts = [_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class Site:
    """The site, served from a thread. `with Site() as site: …site.url…`"""

    def __init__(self, *, edition: int = 1, session: int = 40, delay: float = 0.0) -> None:
        self.edition, self.session, self.delay = edition, session, delay
        self.requests: Counter[str] = Counter()
        """How often each path was answered."""
        self.logins = self.refused = 0
        self._left: dict[str, int] = {}
        self._lock = threading.Lock()
        self._open, self._images_left = threading.Event(), 0
        self._open.set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.site = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, name="site", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()
        self._server.shutdown()
        self._server.server_close()

    def hold(self, *, after: int) -> None:
        """Answer this many more requests for pages; let the others wait for `let_go()`."""
        with self._lock:
            self._images_left = after
            self._open.clear()

    def let_go(self) -> None:
        """Answer everybody again."""
        self._open.set()

    def log_in(self) -> dict[str, str]:
        """A new session."""
        with self._lock:
            self.logins += 1
            token = uuid4().hex
            self._left[token] = self.session
            return {"session": token}

    def admit(self, session: str) -> bool:
        """Whether this session is still good for one more request."""
        with self._lock:
            left = self._left.get(session, 0)
            self._left[session] = left - 1
            self.refused += left <= 0
            return left > 0

    def answer(self, path: str) -> bytes | None:
        """What is at this path; None if nothing is."""
        found = self._image(path) if path.startswith("/image/") else self._page(path)
        if found is not None:
            with self._lock:
                self.requests[path] += 1
        return found

    def _image(self, path: str) -> bytes | None:
        with self._lock:
            self._images_left -= 1
            waits = self._images_left < 0
        if waits:
            self._open.wait()
        slug, chapter, page = path.removeprefix("/image/").removesuffix(".png").split("/")
        return image(slug, int(chapter), int(page)) if self._has(slug, chapter) else None

    def _page(self, path: str) -> bytes | None:
        found: Any = None
        match path.strip("/").split("/"):
            case [""]:
                found = {"manga": list(MANGA)}
            case ["manga", slug] if slug in MANGA:
                found = {"title": MANGA[slug]}
            case ["manga", slug, "chapters"] if slug in MANGA:
                found = {"chapters": chapters_of(slug, self.edition)}
            case ["manga", slug, chapter] if self._has(slug, chapter):
                found = {"pages": [f"/image/{slug}/{chapter}/{page}.png" for page in range(1, PAGES + 1)]}
            case _:
                pass
        return None if found is None else json.dumps(found).encode()

    def _has(self, slug: str, chapter: str) -> bool:
        return slug in MANGA and chapter.isdecimal() and int(chapter) in chapters_of(slug, self.edition)


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    site: Site


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site = cast("_Server", self.server).site
        time.sleep(site.delay)
        if not site.admit(self.headers.get("Cookie", "").removeprefix("session=")):
            return self._send(401, b'{"error": "log in first"}')
        found = site.answer(self.path)
        return self._send(404, b'{"error": "not here"}') if found is None else self._send(200, found)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._send(200, json.dumps(cast("_Server", self.server).site.log_in()).encode())

    def _send(self, status: int, body: bytes) -> None:
        with suppress(ConnectionError):  # whoever asked may have been killed meanwhile
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quietly."""
