"""A child process: imports the app, then runs one claim after the other as its worker says.

It leaves when its worker does: the wire between them closes, or (where the system can) it is killed with its parent.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from typing import Any

from tenure.events import Listeners
from tenure.job import Claim
from tenure.logs import set_up_as_told
from tenure.outcome import Outcome
from tenure.worker.address import load
from tenure.worker.run import Runner
from tenure.worker.threads import Crew
from tenure.worker.wire import (
    LENGTH,
    Begun,
    End,
    Message,
    Ready,
    Refused,
    Start,
    Stop,
    Told,
    packed,
    plain_outcome,
    unpack,
)

__all__ = ["main"]


class _Nowhere:
    """A child leaves no marks: its worker knows what it runs."""

    def start(self, place: int, claim: Claim, *, apart: bool = False) -> None:
        """Nothing to do."""


class _Owner:
    """Settles claims in handlers' own transactions; the store is opened only for those who ask."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def settle_in(self, claim: Claim, connection: object, outcome: Outcome) -> Any:
        """Settle inside the caller's transaction."""
        return self._app.claim_owner.settle_in(claim, connection, outcome)


class _Wire:
    """The worker's end of things, read in a thread and written from anywhere."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._writing = threading.Lock()

    def send(self, message: Message) -> None:
        with self._writing:
            self._socket.sendall(packed(message))

    def receive(self) -> Message:
        """The next message; leaves the process when the worker is gone."""
        length = int.from_bytes(self._exactly(LENGTH), "big")
        return unpack(self._exactly(length))

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._socket.recv(count - len(found))
            if not part:
                os._exit(0)
            found += part
        return found


async def _serve(app: Any, wire: _Wire) -> None:
    loop = asyncio.get_running_loop()
    line: asyncio.Queue[Start] = asyncio.Queue()
    runner = Runner(
        app.kinds, worker="", crew=Crew(1, loop), apart=None, marks=_Nowhere(), listeners=Listeners(),
        middleware=app.middlewares, timeouts=False,
    )  # fmt: skip

    def stop(why: str) -> None:
        for run in list(runner.runs.values()):
            {"cancel": run.ask, "lost": run.lose, "timeout": run.time_out, "leave": run.leave}[why]()

    def listen() -> None:
        while True:
            match wire.receive():
                case Start() as start:
                    loop.call_soon_threadsafe(line.put_nowait, start)
                case Stop(why=why):
                    loop.call_soon_threadsafe(stop, why)
                case _:
                    pass

    threading.Thread(target=listen, name="tenure-wire", daemon=True).start()
    wire.send(Ready())
    while True:
        start = await line.get()
        wire.send(Begun())
        claim = Claim(start.row, start.worker, _Owner(app))
        runner.progress = lambda context: wire.send(Told(*context.told))
        outcome: Outcome | None = await runner.run(claim, 0)
        wire.send(End(plain_outcome(outcome), plain_outcome(claim.settled_as), claim.unawaited))


def main(address: str, descriptor: int) -> None:
    """Serve until the worker leaves."""
    _die_with_parent()
    set_up_as_told()
    _leave_signals_to_the_worker()
    os.set_inheritable(descriptor, False)
    wire = _Wire(descriptor)
    try:
        app = load(address)
    except BaseException as error:
        wire.send(Refused(f"{type(error).__name__}: {error}"))
        raise SystemExit(1) from error
    asyncio.run(_serve(app, wire))


def _leave_signals_to_the_worker() -> None:
    """The worker says when to stop. Not so for what a handler starts: a signal that is ignored would be ignored there too."""
    usual = {number: signal.signal(number, _unheard) for number in (signal.SIGINT, signal.SIGTERM)}
    here = threading.local()

    def wait() -> None:
        here.mask = signal.pthread_sigmask(signal.SIG_BLOCK, usual)

    def go_on() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, here.mask)

    def hear_again() -> None:
        for number, handler in usual.items():
            if signal.getsignal(number) is _unheard:
                signal.signal(number, handler)
        go_on()

    # A fork may be told to end before it has run a line of its own: that waits until it can hear it.
    os.register_at_fork(before=wait, after_in_parent=go_on, after_in_child=hear_again)


def _unheard(_number: int, _frame: object) -> None:
    """What a signal does that is not for us."""


def _die_with_parent() -> None:
    """Linux: be killed when the worker dies, even while a handler holds the interpreter."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
