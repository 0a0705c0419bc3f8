"""The sender: keep-alive connections that post Telegram updates of 1 KB, each with a number of its own.

Run in a process of its own. Plain sockets and a selector, so that what it costs is the kernel's work and little more; its own
CPU is part of the answer, which is one line of JSON. Without `--rate` a connection sends as soon as it was answered; with it,
updates are due at even intervals whatever the answers take, and each answer is timed from when its update was due.
"""

from __future__ import annotations

import argparse
import json
import re
import selectors
import socket
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass

__all__ = ["SECRET", "SLUG", "Sent", "update"]

SLUG, SECRET = "bot", "secret-token_of-a-bot"
CHATS = 5_000
SIZE = 1_024
_UPDATE = (
    b'{"update_id":%d,"message":{"message_id":%d,"from":{"id":%d,"is_bot":false,"first_name":"Ann","last_name":"Example",'
    b'"username":"ann_example","language_code":"en"},"chat":{"id":%d,"first_name":"Ann","last_name":"Example",'
    b'"username":"ann_example","type":"private"},"date":%d,"text":"%s"}}'
)
_FIRST, _CHAT = 1_000_000_000, 1_000_000
_TEXT = b"a message of some length, " * 60
_NOW = int(time.time())
"""An update is of now; an old one would be stored as expired."""
_TEXT = _TEXT[: SIZE - len(_UPDATE % (_FIRST, _FIRST, _CHAT, _CHAT, _NOW, b""))]
_HEAD = (
    f"POST /{SLUG} HTTP/1.1\r\nHost: hooks.example.org\r\nContent-Type: application/json\r\nContent-Length: {SIZE}\r\n"
    "Connection: keep-alive\r\nAccept-Encoding: gzip, deflate\r\nX-Forwarded-For: 149.154.167.220\r\n"
    f"X-Telegram-Bot-Api-Secret-Token: {SECRET}\r\n\r\n"
).encode()
_LENGTH = re.compile(rb"content-length: (\d+)")


def update(n: int) -> bytes:
    """The n-th request, of one of 5,000 chats."""
    number, chat = _FIRST + n, _CHAT + n * 7_919 % CHATS
    return _HEAD + _UPDATE % (number, number, chat, chat, _NOW, _TEXT)


@dataclass
class Sent:
    """What came of it: answers within the measured time, and all of them; what was no 200; the client's share of a core."""

    acked: int
    seconds: float
    answered: int
    refused: int
    cpu: float
    p50: float = 0.0
    p99: float = 0.0


class Sender:
    """Connections, and what each waits for."""

    def __init__(self, port: int, connections: int, first: int) -> None:
        self._next, self.answered, self.refused = first, 0, 0
        self._selector = selectors.DefaultSelector()
        self.idle: deque[socket.socket] = deque()
        self._due: dict[socket.socket, float] = {}
        self._pending: dict[socket.socket, bytes] = {}
        for _ in range(connections):
            made = socket.create_connection(("127.0.0.1", port))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.setblocking(False)
            self._selector.register(made, selectors.EVENT_READ)
            self._pending[made] = b""
            self.idle.append(made)

    def send(self, due: float) -> None:
        """The next update, on a connection that is idle."""
        connection = self.idle.popleft()
        request = update(self._next)
        self._next += 1
        if connection.send(request) != len(request):
            raise SystemExit("a request did not fit into its connection")
        self._due[connection] = due

    @property
    def waiting(self) -> bool:
        return bool(self._due)

    def answers(self, timeout: float | None) -> list[float]:
        """What was answered meanwhile: for each answer, when its update was due."""
        found = []
        for key, _ in self._selector.select(timeout):
            connection: socket.socket = key.fileobj  # type: ignore[assignment]
            data = connection.recv(65_536)
            if not data:
                raise SystemExit("the server hung up")
            if self._pending[connection]:
                data = self._pending[connection] + data
            head = data.find(b"\r\n\r\n")
            length = _LENGTH.search(data) if head > 0 else None
            if length is None or len(data) < head + 4 + int(length[1]):
                self._pending[connection] = data
                continue
            self._pending[connection] = b""
            self.answered += 1
            self.refused += data[9:12] != b"200"
            found.append(self._due.pop(connection))
            self.idle.append(connection)
        return found


def at_will(sender: Sender, warm: float, seconds: float) -> Sent:
    """As fast as answers come; counted after a while."""
    began = time.perf_counter() + warm
    ends, counting = began + seconds, False
    acked, cpu = 0, 0.0
    while (now := time.perf_counter()) < ends:
        if not counting and now >= began:
            counting, began, cpu = True, now, time.process_time()
        while sender.idle:
            sender.send(now)
        acked += len(sender.answers(1.0)) * counting
    spent, took = time.process_time() - cpu, time.perf_counter() - began
    while sender.waiting:
        sender.answers(None)
    return Sent(acked, took, sender.answered, sender.refused, spent / took)


def in_time(sender: Sender, warm: float, seconds: float, rate: float) -> Sent:
    """At even intervals; an update that finds no idle connection waits, and its time runs."""
    start = time.perf_counter()
    began, total = start + warm, int((warm + seconds) * rate)
    number, spans, cpu = 0, list[float](), time.process_time()
    while number < total or sender.waiting:
        now = time.perf_counter()
        while number < total and sender.idle and start + number / rate <= now:
            sender.send(start + number / rate)
            number += 1
        rest = start + number / rate - now if number < total and sender.idle else None
        answered = sender.answers(rest)
        now = time.perf_counter()
        spans += [now - due for due in answered if due >= began]
    took = time.perf_counter() - start
    spans.sort()
    return Sent(
        acked=len(spans),
        seconds=seconds,
        answered=sender.answered,
        refused=sender.refused,
        cpu=(time.process_time() - cpu) / took,
        p50=spans[len(spans) // 2],
        p99=spans[int(len(spans) * 0.99)],
    )


def main() -> None:
    """Send, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--warm", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=0.0)
    given = parser.parse_args()
    sender = Sender(given.port, given.connections, given.first)
    if given.rate:
        sent = in_time(sender, given.warm, given.seconds, given.rate)
    else:
        sent = at_will(sender, given.warm, given.seconds)
    json.dump(asdict(sent), sys.stdout)


if __name__ == "__main__":
    main()
