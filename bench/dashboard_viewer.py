"""One page that is open: listens to the live stream and asks for the overview as the page does, until it is killed.

A process of its own: who looks at a dashboard does it elsewhere, and their browser's work is not the store's.
"""

from __future__ import annotations

import http.client
import sys
import threading
import time

EVERY = 2.0


def main() -> None:
    """`python -m bench.dashboard_viewer PORT`."""
    port = int(sys.argv[1])
    changed = threading.Event()
    threading.Thread(target=listen, args=(port, changed), daemon=True).start()
    while True:
        began = time.monotonic()
        ask(port, "/api/overview?span=1h")
        time.sleep(max(began + EVERY - time.monotonic(), 0))
        changed.wait(10)
        changed.clear()


def listen(port: int, changed: threading.Event) -> None:
    """The live stream, opened again whenever it ends."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/api/stream")
        answer = connection.getresponse()
        while line := answer.readline():
            if line.startswith(b"event: now"):
                changed.set()
        connection.close()
        time.sleep(0.5)


def ask(port: int, path: str) -> None:
    """One request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"{path} was answered {answer.status}")


if __name__ == "__main__":
    main()
