"""What every watch does alike: it sleeps on descriptors, and can be interrupted, closed and forked at any moment.

One thread waits at a time. Who closes a watch while a thread waits leaves the descriptors to that thread: a number that is
closed under a sleeper may be somebody else's file a moment later. A forked child starts with descriptors of its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator
from weakref import WeakSet

from tenure.errors import UsageError

__all__ = ["Bell", "Watching"]

_LONGEST = 3_600.0
_watches: WeakSet[Watching] = WeakSet()


class Bell:
    """A pipe that any thread or signal handler can ring, and that can be slept on together with other descriptors.

    It is closed when nobody has it any more, so that a late ring never meets a number that is somebody else's by now.
    """

    def __init__(self) -> None:
        self._hears, self._rings = os.pipe()
        os.set_blocking(self._hears, False)
        os.set_blocking(self._rings, False)

    def ring(self) -> None:
        """Wake who sleeps, or who will; a bell that is full has been rung already."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._rings, b"\0")

    def silence(self) -> bool:
        """Whether it was rung since the last time."""
        try:
            return bool(os.read(self._hears, 4_096))
        except BlockingIOError:
            return False

    def sleep(self, seconds: float, descriptor: int | None = None, events: int = select.POLLIN) -> bool:
        """Sleep until the bell rings, the descriptor stirs or the time is over; whether the descriptor stirs."""
        poll = select.poll()
        poll.register(self._hears, select.POLLIN)
        if descriptor is not None:
            poll.register(descriptor, events)
        ready = poll.poll(min(max(seconds, 0.0), _LONGEST) * 1_000)
        return any(number == descriptor for number, _ in ready)

    def __del__(self) -> None:
        os.close(self._hears)
        os.close(self._rings)


class Watching:
    """A watch without its database: subclasses bring `_wait`, `_let_go` and `_forked`."""

    hears: bool = False

    def __init__(self) -> None:
        self._bell = Bell()
        self._lock = threading.Lock()
        self._inside = self._closed = False
        _watches.add(self)

    def wait(self, timeout: float) -> bool:
        """Sleep up to `timeout` seconds; True: something may be new, or somebody interrupted or closed the watch."""
        with self._entered() as may:
            return not may or self._wait(time.monotonic() + timeout)

    def interrupt(self) -> None:
        """Make the wait under way, or else the next one, return True at once."""
        self._bell.ring()

    def close(self) -> None:
        """Let go; a wait under way returns."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            waited_on = self._inside
        self._bell.ring()
        if not waited_on:
            self._let_go()

    def __del__(self) -> None:
        # At the interpreter's end what is needed for it may be gone.
        with contextlib.suppress(Exception):
            self.close()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[bool]:
        """Keep the descriptors open until the end of the block; False: the watch is closed."""
        with self._lock:
            if self._inside:
                raise UsageError("another thread waits on this watch; ask the queue for one of its own")
            self._inside = may = not self._closed
        try:
            yield may
        finally:
            with self._lock:
                self._inside = False
                left = may and self._closed
            if left:
                self._let_go()

    def after_fork_in_child(self) -> None:
        """Whoever waited is the parent's thread, and the descriptors are shared with it."""
        self._bell, self._lock, self._inside = Bell(), threading.Lock(), False
        self._forked()

    def _wait(self, deadline: float) -> bool:
        raise NotImplementedError

    def _let_go(self) -> None:
        raise NotImplementedError

    def _forked(self) -> None:
        raise NotImplementedError


def _after_fork_in_child() -> None:
    for watch in list(_watches):
        watch.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
