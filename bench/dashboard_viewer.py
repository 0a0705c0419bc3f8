"""One page, opened and closed by who started it: listens to the live stream and asks for what it shows, as the page in a browser does.

A process of its own: who looks at a dashboard does it elsewhere, and their browser's work is not the store's. It is told "open" or
"close" by lines, and says what came of each look: how often it heard that something changed, and how many answers it was given.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import sys
import threading
import time

PAGES = {"overview": ("/api/overview?span=1h", 2.0), "jobs": ("/api/jobs?limit=100", 1.0)}
"""What each asks for, and after how many seconds at the soonest again."""


def main() -> None:
    """`python -m bench.dashboard_viewer PORT PAGE`."""
    port, page = int(sys.argv[1]), None
    threading.excepthook = _give_up
    for line in sys.stdin:
        if page is not None:
            page.close()
            print(page.heard, page.given, flush=True)
        page = Page(port, *PAGES[sys.argv[2]]) if line.strip() == "open" else None


def _give_up(failed: threading.ExceptHookArgs) -> None:
    print(f"the page failed: {failed.exc_value!r}", file=sys.stderr, flush=True)
    os._exit(1)


class Page:
    """One that is open."""

    def __init__(self, port: int, path: str, every: float) -> None:
        self._path, self._every = path, every
        self._port, self._changed, self._closed = port, threading.Event(), threading.Event()
        self.heard = self.given = 0
        self._streaming: http.client.HTTPConnection | None = None
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._look)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Look no more."""
        self._closed.set()
        self._changed.set()
        while any(thread.is_alive() for thread in self._threads):
            if self._streaming is not None and (line := self._streaming.sock) is not None:
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
            self._threads[0].join(0.01)

    def _look(self) -> None:
        """What it shows, when something has changed, and no sooner than the page would."""
        while not self._closed.is_set():
            began = time.monotonic()
            ask(self._port, self._path)
            self.given += 1
            self._closed.wait(max(began + self._every - time.monotonic(), 0))
            self._changed.wait(10)
            self._changed.clear()

    def _listen(self) -> None:
        """The live stream, opened again whenever it ends."""
        while not self._closed.is_set():
            connection = self._streaming = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            try:
                connection.request("GET", "/api/stream")
                answer = connection.getresponse()
                while line := answer.readline():
                    if line.startswith(b"event: now"):
                        self.heard += 1
                        self._changed.set()
            except (OSError, http.client.HTTPException):
                if not self._closed.is_set():
                    raise
            connection.close()
            self._closed.wait(0.5)


def ask(port: int, path: str) -> None:
    """One request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise AssertionError(f"{path} was answered {answer.status}")


if __name__ == "__main__":
    main()
