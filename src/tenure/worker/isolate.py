"""Jobs in child processes: warm, one job at a time, and killed when they must stop.

`isolate=True` kinds run here, and so does every suspect (a job that was in flight when a worker crashed), one suspect at a
time: if it kills its process again, only that process dies, and nobody else is blamed. Before a suspect starts, the store
is told that it does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable

from tenure.errors import UsageError
from tenure.events import ChildCrashed, Listeners
from tenure.job import Claim
from tenure.outcome import Crashed, Outcome
from tenure.worker.address import surroundings
from tenure.worker.run import Run
from tenure.worker.wire import (
    LENGTH,
    End,
    Message,
    Ready,
    Refused,
    Start,
    Stop,
    Told,
    outcome_from,
    packed,
    unpack,
)

__all__ = ["Children"]

log = logging.getLogger("tenure")
_PATIENCE = {"cancel": 5.0, "leave": 1.0}
"""How long a child may take to stop by itself, by why it should; otherwise it is killed at once."""


class Child:
    """One child process."""

    def __init__(self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:  # fmt: skip
        self.process, self._reader, self._writer = process, reader, writer

    async def receive(self) -> Message | None:
        """The next message; None once the child is gone."""
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH), "big")
            return unpack(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):
            return None

    def send(self, message: Message) -> None:
        """Say something, if it still listens."""
        if not self._writer.is_closing():
            self._writer.write(packed(message))

    def kill_while(self, true: Callable[[], bool]) -> None:
        """Kill it, if it still runs what it should not."""
        if true() and self.process.returncode is None:
            self.process.kill()

    def close(self) -> None:
        """Let it go: it leaves when the wire closes."""
        self._writer.close()

    async def story(self) -> str:
        """How it ended."""
        code = await self.process.wait()
        self._writer.close()
        if code >= 0:
            return f"its process {self.process.pid} left with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"its process {self.process.pid} was killed by {name}"


class Children:
    """A worker's child processes."""

    def __init__(
        self,
        address: str | None,
        *,
        most: int,
        marking: Callable[[Claim], bool],
        listeners: Listeners,
        worker: str,
    ) -> None:
        self._address, self._marking = address, marking
        self._listeners, self._worker = listeners, worker
        self._idle: list[Child] = []
        self._free = asyncio.Semaphore(most or os.cpu_count() or 1)
        self._suspects = asyncio.Lock()

    @property
    def able(self) -> bool:
        """Whether a child could import the app."""
        return self._address is not None

    async def run(self, run: Run, *, suspect: bool) -> Outcome | None:
        """Run it in a child; never raises for what becomes of it there."""
        try:
            if not suspect:
                async with self._free:
                    return await self._run(run)
            async with self._suspects:
                loop = asyncio.get_running_loop()
                if not await loop.run_in_executor(None, self._marking, run.claim):
                    return None
                return await self._run(run)
        except asyncio.CancelledError:
            return run.stopped()

    def close(self) -> None:
        """Let all idle ones go."""
        while self._idle:
            self._idle.pop().close()

    async def _run(self, run: Run) -> Outcome | None:
        child = self._idle.pop() if self._idle else await self._spawn()
        killed: list[str] = []
        loop = asyncio.get_running_loop()

        def stop(why: str) -> None:
            killed.append(why)
            child.send(Stop(why))
            loop.call_later(_PATIENCE.get(why, 0.0), child.kill_while, lambda: run.active)

        run.apart = stop
        child.send(Start(list(run.claim.row), run.claim.worker))
        while True:
            match await child.receive():
                case End(outcome=plain, settled_in_transaction=settled):
                    self._idle.append(child)
                    run.claim.settled_in_transaction = settled
                    return run.stopped() if run.context.lost else outcome_from(plain)
                case Told(done=done, note=note):
                    run.context.progress(done, note)
                case None:
                    return await self._died(run, child, killed)
                case _:
                    pass

    async def _died(self, run: Run, child: Child, killed: list[str]) -> Outcome | None:
        story = await child.story()
        if killed:
            return run.stopped()
        log.warning("job %s (%s): %s", run.claim.id, run.claim.kind, story)
        self._listeners.tell(ChildCrashed(self._worker, run.claim, story))
        return Crashed(f"{story} while it ran this job")

    async def _spawn(self) -> Child:
        if self._address is None:
            raise UsageError("a child process cannot import this app; define it in a module or a script")
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tenure.worker.child", self._address, str(theirs.fileno()),
                pass_fds=[theirs.fileno()], stdin=asyncio.subprocess.DEVNULL, env=surroundings(),
            )  # fmt: skip
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        child = Child(process, reader, writer)
        match await child.receive():
            case Ready():
                return child
            case Refused(why=why):
                child.close()
                raise UsageError(f"a child process could not import {self._address}: {why}")
            case _:
                raise UsageError(f"a child process for {self._address} did not start: {await child.story()}")
