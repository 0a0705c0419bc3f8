"""Senders on an event loop: one that is as patient as Telegram, and one that is as slow as it dares."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.gateway.ledger import SECRET

__all__ = ["Line", "Telegram", "drip", "update_of"]

_TOKEN = {"X-Telegram-Bot-Api-Secret-Token": SECRET, "Content-Type": "application/json"}
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n")


def update_of(number: int, chat: int, text: str = "hi") -> bytes:
    """An update as Telegram sends it."""
    message = {"message_id": number, "chat": {"id": chat, "type": "private"}, "text": text}
    return json.dumps({"update_id": number, "message": message}).encode()


class Line:
    """One connection, kept from request to request for as long as it lasts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(
        self, body: bytes, headers: Mapping[str, str] = _TOKEN, path: str = "/bot"
    ) -> tuple[int, Any]:
        """Status and JSON of the answer; status 0: there was none."""
        try:
            async with asyncio.timeout(60):
                return await self._post(body, headers, path)
        except (OSError, EOFError):
            self.close()
            return 0, None

    async def _post(self, body: bytes, headers: Mapping[str, str], path: str) -> tuple[int, Any]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"POST {path} HTTP/1.1\r\nHost: bot\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(answer)
        assert length is not None, answer
        told = await reader.readexactly(int(length[1]))
        if b"\r\nconnection: close\r\n" in answer:
            self.close()
        return int(answer[9:12]), json.loads(told)

    def close(self) -> None:
        """Let go of the connection; the next request has a new one."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class Telegram:
    """Sends each chat's updates one after another, each until it was acknowledged: a 2xx, and nothing else."""

    def __init__(self, port: int, connections: int = 100) -> None:
        self._port = port
        self._connections = asyncio.Semaphore(connections)
        self.acks: dict[int, str] = {}
        """The job that each update was told it is."""
        self.answers: Counter[int] = Counter()
        """By status; 0: a connection that was refused or broke."""

    async def chat(self, chat: int, numbers: list[int]) -> None:
        """Send these updates of a chat; one that was acknowledged before is told the same, and that it is a duplicate."""
        line, told = Line(self._port), set[int]()
        try:
            for number in numbers:
                async with self._connections:
                    answer = await self._deliver(line, update_of(number, chat))
                known = self.acks.setdefault(number, answer["id"])
                if number in told:
                    assert answer == {"ok": True, "id": known, "duplicate": True}
                told.add(number)
        finally:
            line.close()

    async def _deliver(self, line: Line, body: bytes) -> Any:
        wait = 0.01
        while True:
            status, answer = await line.post(body)
            self.answers[status] += 1
            if 200 <= status < 300:
                return answer
            await asyncio.sleep(wait)
            wait = min(2 * wait, 0.3)


async def drip(port: int, head: bytes, every: float = 0.1) -> bytes:
    """Send this at once and then byte by byte, for ever; what the other side said before it hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    listening = asyncio.create_task(_heard(reader))
    try:
        writer.write(head)
        while not (await asyncio.wait([listening], timeout=every))[0]:
            writer.write(b"x")
        return listening.result()
    finally:
        listening.cancel()
        writer.transport.abort()


async def _heard(reader: asyncio.StreamReader) -> bytes:
    """Everything that was said until the end, however it ended."""
    said = b""
    try:
        while piece := await reader.read(4_096):
            said += piece
    except ConnectionError:
        pass
    return said
