"""A few connections, handed out last in, first out; who finds none idle waits in line for one.

The usual way through is one append and one pop, which need no lock. Where somebody waits, what is given back goes to the
first in line, so that nobody starves behind those who take and give back all the time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Pool"]

T = TypeVar("T")


class _Place(Generic[T]):
    """A place in the line: filled with a thing, or with leave to make one."""

    def __init__(self) -> None:
        self.filled = threading.Event()
        self.thing: T | None = None

    def fill(self, thing: T | None) -> None:
        self.thing = thing
        self.filled.set()


class Pool(Generic[T]):
    """At most `size` things made by `make`."""

    def __init__(self, make: Callable[[], T], size: int) -> None:
        self._make, self._size = make, size
        self._idle: deque[T] = deque()
        self._line: deque[_Place[T]] = deque()
        self._changing = threading.RLock()  # who collects garbage may find a thing that is to be forgotten
        self._made = 0

    def take(self) -> T:
        """One that is idle, or a new one, or the next that is given back."""
        if not self._line:
            try:
                return self._idle.pop()
            except IndexError:
                pass
        place: _Place[T] | None = None
        with self._changing:
            if self._made < self._size:
                self._made += 1
            else:
                place = _Place()
                self._line.append(place)
                self._serve()
        if place is not None:
            try:
                place.filled.wait()
            except BaseException:  # somebody interrupted it: what came meanwhile is for others
                self._leave(place)
                raise
            if place.thing is not None:
                return place.thing
        try:
            return self._make()
        except BaseException:
            self.forget()
            raise

    def _leave(self, place: _Place[T]) -> None:
        with self._changing:
            if place in self._line:
                self._line.remove(place)
                return
        if place.thing is None:
            self.forget()
        else:
            self.give_back(place.thing)

    def spare(self) -> T | None:
        """One that is idle while nobody waits for it; None: there is none now."""
        if self._line:
            return None
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def give_back(self, thing: T) -> None:
        """It is idle again, or goes to the first in line."""
        self._idle.append(thing)
        if self._line:
            with self._changing:
                self._serve()

    def forget(self) -> None:
        """One that was taken is gone for good: the first in line may make another."""
        with self._changing:
            if self._line:
                self._line.popleft().fill(None)
            else:
                self._made -= 1

    def drain(self) -> list[T]:
        """All that are idle, taken out for good."""
        gone: list[T] = []
        while True:
            try:
                gone.append(self._idle.pop())
            except IndexError:
                return gone
            self.forget()

    def _serve(self) -> None:
        """Give what is idle to those who wait; the lock is held. Whoever pops without it leaves nothing to give."""
        while self._line and self._idle:
            try:
                thing = self._idle.popleft()
            except IndexError:
                return
            self._line.popleft().fill(thing)
