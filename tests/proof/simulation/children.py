"""Child processes of a simulated worker: the real child's code in a process of the hub's, behind the real messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tenure.worker import child as child_code
from tenure.worker.wire import LENGTH, Begun, End, Message, Ready, Start, packed, unpack
from tests.proof.simulation.doubles import Mailbox
from tests.proof.simulation.hub import Hub, Killed, Process
from tests.proof.simulation.loop import run_loop

__all__ = ["child_class"]


class _Wire:
    """The child's end."""

    def __init__(self, child: Any, hub: Hub) -> None:
        self._child, self._box = child, Mailbox(hub)

    def send(self, message: Message) -> None:
        if isinstance(message, Begun):
            self._child.flies = self._child.given
        elif isinstance(message, End):
            self._child.flies = None
        self._child.deliver(packed(message))

    def receive(self) -> Message:
        """The next message; leaves the process when the worker has let go of it."""
        data = self._box.get()
        if data is None:
            self._child.leave()
        return unpack(data[LENGTH:])

    def give(self, data: bytes | None) -> None:
        self._box.put(data)


def child_class(hub: Hub, app: Any, crashed: Callable[[tuple[int, int]], object]) -> type:
    """tenure.worker.process.Child, for children of this hub's processes; `crashed` is told which claim one died of."""

    class Child:
        """One child process, as its worker sees it."""

        def __init__(self, process: Process, parent: Process) -> None:
            self._parent, self._number = parent, len(parent.children)
            self.given: tuple[int, int] | None = None
            self.flies: tuple[int, int] | None = None
            self.waits = False
            """Whether its worker has heard that it is ready, and has given it nothing since."""
            self._loop = asyncio.get_running_loop()
            self._process, self.process = process, self
            self.pid, self.jobs, self.doomed = 0, 0, False
            self.returncode: int | None = None
            self._heard: asyncio.Queue[bytes | None] = asyncio.Queue()
            self._gone = asyncio.Event()
            self._wire = _Wire(self, hub)
            process.at_death.append(self._died)
            hub.spawn(process, lambda: run_loop(hub, process, child_code._serve(app, self._wire)))  # type: ignore[arg-type]

        def __hash__(self) -> int:
            return self._number  # sets of children are in the same order in every run

        @classmethod
        async def start(cls, address: str) -> Child:
            assert hub.current is not None
            parent = hub.current.process
            await asyncio.sleep(hub.random.uniform(0.05, 0.4))
            if parent.dead:
                raise Killed  # by another task, in this very turn of its loop
            process = Process(f"{parent.name}/{len(parent.children)}")
            parent.children.append(process)
            hub.tell(f"starts {process.name}")
            return cls(process, parent)

        async def receive(self) -> Message | None:
            data = await self._heard.get()
            message = None if data is None else unpack(data[LENGTH:])
            self.waits = self.waits or isinstance(message, (Ready, End))
            return message

        def send(self, message: Message) -> None:
            if isinstance(message, Start):
                self.given, self.waits = (message.row[1], message.row[2]), False
            self._wire.give(packed(message))

        @property
        def gone(self) -> bool:
            return self._process.dead

        def kill_while(self, true: Callable[[], bool]) -> None:
            if true():
                self.kill()

        def kill(self) -> None:
            self.doomed = True
            hub.kill(self._process)

        def close(self) -> None:
            self._wire.give(None)

        async def wait(self) -> int:
            await self._gone.wait()
            return self.returncode or 0

        async def story(self) -> str:
            await self.wait()
            return "its process was killed by SIGKILL" if self.returncode else "its process left"

        def deliver(self, data: bytes | None) -> None:
            self._loop.call_soon_threadsafe(self._heard.put_nowait, data)

        def leave(self) -> None:
            self.returncode = 0
            hub.over(self._process)
            hub.wait(0.0)

        def _died(self) -> None:
            if self.flies is not None and not self._parent.dead:
                crashed(self.flies)
            if self._loop.is_closed():
                return
            if self.returncode is None:
                self.returncode = -9
            self._loop.call_soon_threadsafe(self._gone.set)
            self.deliver(None)

    return Child
