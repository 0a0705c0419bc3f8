"""What stands in for time, threads and chance inside the package while a simulation runs.

The package's modules name `time`, `threading`, `random` and `SimpleQueue` as globals of their own, looked up at every call:
these are exchanged for the run, in the package only. The machine's own are left alone.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.proof.simulation.hub import Hub, Thread

__all__ = ["Mailbox", "installed"]

_REAL: dict[int, str] = {
    id(time): "time",
    id(threading): "threading",
    id(random): "random",
    id(SimpleQueue): "mailbox",
}


class Flag:
    """threading.Event."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self._set = hub, False
        self._waiting: list[tuple[Thread, int]] = []

    def set(self) -> None:
        self._set = True
        for thread, turn in self._waiting:
            self._hub.wake(thread, turn)
        self._waiting.clear()

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            me = self._hub.current
            assert me is not None
            self._waiting.append((me, me.turn))
            self._hub.wait(timeout)
        return self._set


class Mailbox:
    """queue.SimpleQueue."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self._flag = hub, Flag(hub)
        self._things: deque[Any] = deque()

    def put(self, thing: Any) -> None:
        self._things.append(thing)
        self._flag.set()

    def get(self) -> Any:
        while not self._things:
            self._flag.clear()
            self._flag.wait()
        return self._things.popleft()


class Threads:
    """threading.Thread."""

    def __init__(
        self, hub: Hub, *, target: Callable[[], object], name: str = "", daemon: bool = True
    ) -> None:
        self._hub, self._target, self.name, self.daemon = hub, target, name, daemon
        self._ended = Flag(hub)
        self.ident: int | None = None

    def start(self) -> None:
        me = self._hub.current
        assert me is not None
        self.ident = 1
        self._hub.spawn(me.process, self._run)

    def join(self, timeout: float | None = None) -> None:
        if timeout is None or timeout > 0:
            self._ended.wait(timeout)

    def is_alive(self) -> bool:
        return self.ident is not None and not self._ended.is_set()

    def _run(self) -> None:
        try:
            self._target()
        finally:
            self._ended.set()


@cache
def _places() -> list[tuple[ModuleType, str, str]]:
    """Where the package names what is exchanged: module, name there, and what it is."""
    found = []
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] == "tenure" and module is not None:
            found += [(module, attr, _REAL[id(v)]) for attr, v in vars(module).items() if id(v) in _REAL]
    return found


@contextmanager
def installed(hub: Hub, wall: Callable[[], float], chance: random.Random) -> Iterator[None]:
    """The package lives by this hub's time; `wall` is what the machine's clock shows."""
    doubles: dict[str, Any] = {
        "time": SimpleNamespace(
            monotonic=lambda: hub.now, perf_counter=lambda: hub.now, sleep=hub.sleep, time=wall,
            time_ns=lambda: round(wall() * 1_000_000) * 1_000,
        ),
        "threading": SimpleNamespace(
            Event=lambda: Flag(hub), Thread=lambda **given: Threads(hub, **given), Lock=threading.Lock,
            RLock=threading.RLock, local=threading.local, get_ident=threading.get_ident,
        ),
        "random": chance,
        "mailbox": lambda: Mailbox(hub),
    }  # fmt: skip
    before = [(module, attr, getattr(module, attr)) for module, attr, _ in _places()]
    for module, attr, what in _places():
        setattr(module, attr, doubles[what])
    try:
        yield
    finally:
        for module, attr, real in before:
            setattr(module, attr, real)
