"""A child process as its worker sees it: messages over a wire, and how it ended.

That it has ended is known from the system: what a handler forked may live on, and keep the wire open.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

from tenure.worker.address import surroundings
from tenure.worker.wire import LENGTH, Message, packed, unpack

__all__ = ["Child"]


class Child:
    """One child process."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        theirs: socket.socket,
    ) -> None:
        self.process, self._reader, self._writer, self._theirs = process, reader, writer, theirs
        self._ended = asyncio.ensure_future(self._watch())
        self.jobs = 0
        """How many it has run."""
        self.doomed = False
        """Whether it was killed, or is to be at once: the next job would be killed in place of its last."""

    @classmethod
    async def start(cls, address: str) -> Child:
        """A new one, which imports the app and says when it has."""
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tenure.worker.child", address, str(theirs.fileno()),
                pass_fds=[theirs.fileno()], stdin=asyncio.subprocess.DEVNULL, env=surroundings(),
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            ours.close()
            theirs.close()
            raise
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer, theirs)

    async def receive(self) -> Message | None:
        """The next message; None once the child is gone and all that it said has been heard."""
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH), "big")
            return unpack(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):
            return None

    def send(self, message: Message) -> None:
        """Say something, if it still listens."""
        if not self._writer.is_closing():
            self._writer.write(packed(message))

    @property
    def gone(self) -> bool:
        """Whether it has ended, or is about to."""
        return self.process.returncode is not None or self._reader.at_eof()

    def kill_while(self, true: Callable[[], bool]) -> None:
        """Kill it, if it still runs what it should not."""
        if true():
            self.kill()

    def kill(self) -> None:
        """Kill it, and whatever it has started."""
        self.doomed = True
        if self.process.returncode is None:
            self._kill_group()

    def close(self) -> None:
        """Let it go: it leaves when the wire closes."""
        self._writer.close()

    async def wait(self) -> int:
        """Its exit code, once it has ended and nothing of it is left."""
        return await asyncio.shield(self._ended)

    async def story(self) -> str:
        """How it ended."""
        code = await self.wait()
        self._writer.close()
        if code >= 0:
            return f"its process {self.process.pid} left with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"its process {self.process.pid} was killed by {name}"

    async def _watch(self) -> int:
        """Wait for its end; what it has started ends with it, and nothing more comes over the wire than what is on it."""
        with self._theirs:
            code = await self.process.wait()
            self._kill_group()
            with suppress(OSError):  # the worker has let go of it before
                self._theirs.shutdown(socket.SHUT_WR)
        return code

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
