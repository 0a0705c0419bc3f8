"""What the gateway is compared with, served by uvicorn in a process of its own; tells its port, and ends on SIGTERM.

bare  parses the JSON and answers
row   the same, and commits one row for each request with the plain driver
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import apsw
import msgspec
import psycopg
import uvicorn

WAYS = ("bare", "row")
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
_ANSWER = b'{"ok":true,"id":"0190a8c0-0000-7000-8000-000000000000"}'
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(_ANSWER)).encode())]
_decode = msgspec.json.Decoder().decode


class Rows(Protocol):
    """Somewhere to put a row durably."""

    async def open(self) -> None: ...
    async def keep(self, number: int, body: bytes) -> None: ...
    async def close(self) -> None: ...


class NoRows:
    """Nothing is kept."""

    async def open(self) -> None:
        pass

    async def keep(self, number: int, body: bytes) -> None:
        pass

    async def close(self) -> None:
        pass


class SqliteRows:
    """apsw, WAL, synchronous FULL: one connection, in a thread of its own; a commit each."""

    def __init__(self, url: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._db = apsw.Connection(url.removeprefix("sqlite:///"))

    async def open(self) -> None:
        for text in ("journal_mode = WAL", "synchronous = FULL"):
            self._db.execute(f"PRAGMA {text}").fetchall()
        self._db.execute("CREATE TABLE updates (number INTEGER PRIMARY KEY, body BLOB NOT NULL)")

    async def keep(self, number: int, body: bytes) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._insert, number, body)

    def _insert(self, number: int, body: bytes) -> None:
        self._db.execute("INSERT INTO updates VALUES (?, ?)", (number, body))

    async def close(self) -> None:
        self._thread.shutdown()
        self._db.close()


class PostgresRows:
    """psycopg, async, prepared, binary: some connections in turn; a commit each."""

    def __init__(self, url: str, connections: int) -> None:
        self._conninfo, self._count = url.partition("?")[0], connections
        self._idle: asyncio.LifoQueue[psycopg.AsyncConnection[Any]] = asyncio.LifoQueue()

    async def open(self) -> None:
        for n in range(self._count):
            made = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True, prepare_threshold=0)
            if n == 0:
                await made.execute("DROP TABLE IF EXISTS updates")
                await made.execute("CREATE TABLE updates (number bigint PRIMARY KEY, body bytea NOT NULL)")
            self._idle.put_nowait(made)

    async def keep(self, number: int, body: bytes) -> None:
        connection = await self._idle.get()
        try:
            await connection.execute("INSERT INTO updates VALUES (%s, %b)", (number, body))
        finally:
            self._idle.put_nowait(connection)

    async def close(self) -> None:
        while not self._idle.empty():
            await self._idle.get_nowait().close()


class Plain:
    """An ASGI app as one would first write it."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        await self._rows.keep(_decode(body)["update_id"], body)
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": _ANSWER})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._rows.open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._rows.close()
        await send({"type": "lifespan.shutdown.complete"})


class Told(uvicorn.Server):
    """Tells its port once it serves."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            print(listening.getsockname()[1], flush=True)


def main() -> None:
    """Serve it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("url")
    parser.add_argument("--connections", type=int, default=8)
    given = parser.parse_args()
    rows: Rows = NoRows()
    if given.way == "row":
        sqlite = given.url.startswith("sqlite:")
        rows = SqliteRows(given.url) if sqlite else PostgresRows(given.url, given.connections)
    config = uvicorn.Config(
        Plain(rows), http="httptools", loop="asyncio", ws="none", lifespan="on", access_log=False, log_config=None
    )  # fmt: skip
    # The event loop sends small writes at once on sockets that say they are TCP, and on no others.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(512)
    Told(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
