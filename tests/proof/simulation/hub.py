"""The hub: virtual time, and everything that happens in it, one thing after the other.

A process is a set of threads; a thread is a greenlet that runs until it waits. The clock stands still while somebody runs and
jumps to the next thing that is due when all wait. What is due at the same moment happens in an order drawn from the seed.
A process that is killed does nothing any more: whatever its threads wait for raises `Killed` in them.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import random
from asyncio import events
from collections import deque
from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

__all__ = ["Hub", "Killed", "Process", "Thread"]

_swap_task: Any = getattr(asyncio.tasks, "_swap_current_task", None)
_LINES = 60


class Killed(BaseException):
    """The process of whoever hears this is gone."""


class Process:
    """Threads that die together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.stands_still_until = 0.0
        """Stopped by a signal until then, or not at all."""
        self.threads: list[Thread] = []
        self.children: list[Process] = []
        self.at_death: list[Callable[[], object]] = []
        """Told the moment it dies; they must not wait."""
        self.after_death: list[Callable[[], object]] = []
        """Told once none of its threads is left."""


class Thread:
    """One line of execution."""

    def __init__(self, process: Process, work: Callable[[], object], hub: Hub) -> None:
        self.process = process
        self.turn = 0
        """Which wait it is in; who wakes it says which one is meant."""
        self.ended = False
        self.about: Any = None
        """What it is doing, for those it calls."""
        self._work, self._hub = work, hub
        self.greenlet = greenlet(self._run, parent=hub.home)

    def _run(self, *_: object) -> None:
        try:
            self._work()
        except Killed:
            pass
        except BaseException as error:
            self._hub.failed(error)
        finally:
            self.ended = True


class Hub:
    """Who runs when."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.now = 1_000.0
        """Seconds on a clock that only goes forward."""
        self.home = getcurrent()
        self.current: Thread | None = None
        self._due: list[tuple[float, float, int, Callable[[], object]]] = []
        self._count = 0
        self._errors: list[BaseException] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self._lines: deque[str] = deque(maxlen=_LINES)
        self.told = 0
        self.strikes: Callable[[], bool] = lambda: False
        """Asked at every step of an event loop, between two awaits: whether its process dies there."""

    # What happened

    def tell(self, what: str) -> None:
        """One line of the trace."""
        who = "-" if self.current is None else self.current.process.name
        line = f"{self.now:.6f} {who} {what}"
        self._digest.update(line.encode())
        self._lines.append(line)
        self.told += 1

    @property
    def trace(self) -> str:
        """What stands for the whole trace: two runs alike have the same."""
        return self._digest.hexdigest()

    @property
    def last_lines(self) -> str:
        """The end of the trace."""
        return "\n".join(self._lines)

    def failed(self, error: BaseException) -> None:
        """Something is wrong: the run ends with it."""
        self._errors.append(error)

    # Waiting

    def later(self, seconds: float, work: Callable[[], object]) -> None:
        """Do this then; it must not wait."""
        self._count += 1
        heapq.heappush(self._due, (self.now + max(seconds, 0.0), self.random.random(), self._count, work))

    def wait(self, seconds: float | None) -> bool:
        """The thread that runs stands still, for so long at most; whether it was woken."""
        me = self.current
        assert me is not None, "only threads of the simulation can wait"
        self._check(me)
        turn = me.turn
        if seconds is not None:
            if self._undisturbed(me.process, seconds):
                me.turn += 1
                return False
            self.later(seconds, lambda: self._resume(me, turn, woken=False))
        loop = events._get_running_loop()
        task = None if loop is None else asyncio.current_task(loop)
        if task is not None and _swap_task is not None:
            _swap_task(loop, None)
        events._set_running_loop(None)
        try:
            woken = self.home.switch()
        finally:
            events._set_running_loop(loop)
            if task is not None and _swap_task is not None:
                _swap_task(loop, task)
        self._check(me)
        return bool(woken)

    def _undisturbed(self, process: Process, seconds: float) -> bool:
        """Whether nothing is due before so many seconds are over, so that nobody can wake who waits: then they are over now."""
        over = self.now + max(seconds, 0.0)
        if (self._due and self._due[0][0] <= over) or process.stands_still_until > self.now:
            return False
        self.now = over
        return True

    def wake(self, thread: Thread, turn: int, after: float = 0.0) -> None:
        """End this wait of a thread; a wait that has ended is not meant any more."""
        if not thread.ended and thread.turn == turn:
            self.later(after, lambda: self._resume(thread, turn, woken=True))

    def sleep(self, seconds: float) -> None:
        """As time.sleep has it."""
        self.wait(max(seconds, 0.0))

    def _check(self, thread: Thread) -> None:
        if thread.process.dead:
            raise Killed

    def _resume(self, thread: Thread, turn: int, *, woken: bool) -> None:
        if thread.ended or thread.turn != turn:
            return
        if thread.process.stands_still_until > self.now and not thread.process.dead:
            left = thread.process.stands_still_until - self.now
            self.later(left, lambda: self._resume(thread, turn, woken=woken))
            return
        thread.turn += 1
        self._go_on(thread, woken)

    def _go_on(self, thread: Thread, given: object) -> None:
        self.current = thread
        try:
            if thread.process.dead and not thread.greenlet:
                thread.ended = True  # it had not begun
            elif thread.process.dead:
                thread.greenlet.throw(Killed)
            else:
                thread.greenlet.switch(given)
        finally:
            self.current = None

    # Processes

    def spawn(self, process: Process, work: Callable[[], object]) -> Thread:
        """A new thread, which begins in its turn."""
        thread = Thread(process, work, self)
        process.threads.append(thread)
        self.later(0.0, lambda: self._resume(thread, 0, woken=True))
        return thread

    def kill(self, process: Process) -> None:
        """kill -9; raises in who kills itself."""
        if not process.dead:
            self.tell(f"{process.name} is killed")
            self._bury(process)
        if self.current is not None:
            self._check(self.current)

    def over(self, process: Process) -> None:
        """It has left by itself; whatever thread is left in it goes with it."""
        if not process.dead:
            self.tell(f"{process.name} has left")
            self._bury(process)

    def _bury(self, process: Process) -> None:
        process.dead = True
        for tell in process.at_death:
            tell()
        for child in process.children:
            if not child.dead:
                self._bury(child)
        self.later(0.0, lambda: self._reap(process))

    def _reap(self, process: Process) -> None:
        for thread in process.threads:
            while not thread.ended:
                self._go_on(thread, None)
        for tell in process.after_death:
            tell()
        process.after_death.clear()

    def run(self, until: Callable[[], bool]) -> None:
        """Go on until this is so, something fails or nothing is left to happen."""
        while not until():
            if not self._due:
                raise AssertionError("everybody waits, for nothing that could come")
            when, _, _, work = heapq.heappop(self._due)
            self.now = max(self.now, when)
            work()
            if self._errors:
                raise self._errors[0]

    def end(self) -> None:
        """Nothing happens any more."""
        self._due.clear()
