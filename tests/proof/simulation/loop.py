"""An event loop by the hub's time: it waits where a selector would, and is woken as by a pipe to itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from tests.proof.simulation.hub import Hub, Killed, Process

__all__ = ["Loop", "run_loop"]

_YIELDS = 0.1
"""How often a loop that has more to do lets others go first."""


class _Selector:
    """Sees no files, only the time and who rings."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self._rung = hub, False
        self._waiting: tuple[Any, int] | None = None

    def ring(self) -> None:
        self._rung = True
        if self._waiting is not None:
            self._hub.wake(*self._waiting)
            self._waiting = None

    def select(self, timeout: float | None) -> list[Any]:
        hub = self._hub
        me = hub.current
        assert me is not None
        if timeout is not None and timeout <= 0:
            if hub.random.random() < _YIELDS or me.process.dead:
                hub.wait(0.0)
        elif not self._rung:
            self._waiting = (me, me.turn)
            try:
                hub.wait(timeout)
            finally:
                self._waiting = None
        self._rung = False
        return []


class Loop(asyncio.BaseEventLoop):
    """One process's event loop. The process may die at any step of it: what follows an await is not done then."""

    def __init__(self, hub: Hub, process: Process) -> None:
        super().__init__()
        self._hub, self._process = hub, process
        self._selector = _Selector(hub)
        self._undone: list[Callable[..., object]] = []
        """What the dead would have done next: kept, so that it can be put away in order."""

    def _call_soon(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> Any:
        return super()._call_soon(self._step, (callback, *args), context)  # type: ignore[misc]

    def _step(self, callback: Callable[..., object], *args: Any) -> None:
        if not self._process.dead and self._hub.strikes():
            with contextlib.suppress(Killed):
                self._hub.kill(self._process)
        if self._process.dead:
            self._undone.append(callback)
        else:
            callback(*args)

    def time(self) -> float:
        return self._hub.now

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        self._selector.ring()


def run_loop(hub: Hub, process: Process, work: Coroutine[Any, Any, object]) -> None:
    """Run this to its end in the thread that calls; if the process is killed, nothing of it is left."""
    loop = Loop(hub, process)
    process.after_death.append(lambda: _leave_nothing(loop))
    loop.run_until_complete(work)


def _leave_nothing(loop: Loop) -> None:
    """What the tasks of a process that is gone would have done next is not done, and not complained about."""
    closed: set[asyncio.Task[Any]] = set()
    # What is closed may begin something on its way out: on this loop, and then that is closed as well.
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(loop)
    try:
        while tasks := asyncio.all_tasks(loop) - closed:
            for task in tasks:
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                coroutine: Any = task.get_coro()
                with contextlib.suppress(BaseException):
                    coroutine.close()
            closed |= tasks
    finally:
        asyncio._set_running_loop(running)
    loop.close()
