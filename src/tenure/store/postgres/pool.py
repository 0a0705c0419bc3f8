"""A few connections, handed out last in, first out; who finds none idle waits for one.

The usual way through is one append and one pop, which need no lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Pool"]

T = TypeVar("T")


class Pool(Generic[T]):
    """At most `size` things made by `make`."""

    def __init__(self, make: Callable[[], T], size: int) -> None:
        self._make, self._size = make, size
        self._idle: deque[T] = deque()
        self._changed = threading.Condition()
        self._made = 0
        self._waiting = 0

    def take(self) -> T:
        """One that is idle, or a new one, or the next that is given back."""
        try:
            return self._idle.pop()
        except IndexError:
            pass
        with self._changed:
            # Counted as waiting before the last look, so that nobody can give one back unseen.
            self._waiting += 1
            try:
                while True:
                    if self._idle:
                        return self._idle.pop()
                    if self._made < self._size:
                        self._made += 1
                        break
                    self._changed.wait()
            except IndexError:
                return self.take()
            finally:
                self._waiting -= 1
        try:
            return self._make()
        except BaseException:
            self.forget()
            raise

    def give_back(self, thing: T) -> None:
        """It is idle again."""
        self._idle.append(thing)
        if self._waiting:
            with self._changed:
                self._changed.notify()

    def forget(self) -> None:
        """One that was taken is gone for good."""
        with self._changed:
            self._made -= 1
            self._changed.notify()

    def drain(self) -> list[T]:
        """All that are idle, taken out for good."""
        gone = []
        while self._idle:
            try:
                gone.append(self._idle.pop())
            except IndexError:
                break
            self.forget()
        return gone
