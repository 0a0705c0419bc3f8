"""What every store does the same way: run plans, and try again when the database went away.

Every plan that may be tried again is made anew (`make(again)`): ids come from the client and settles are fenced, so asking
twice is safe. `again` tells a plan that an earlier try may have been committed although its answer was lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from tenure.errors import StoreUnavailable
from tenure.newjob import BareParams
from tenure.store.dialect import Dialect
from tenure.store.lanes import LaneMemory
from tenure.store.plan import Plan

__all__ = ["HELD", "Broken", "LockBusy", "Make", "Pid", "Store", "Watch", "with_patience"]

T = TypeVar("T")
Make = Callable[[bool], Plan[T]]
# Said by all who give up waiting for a lock.
HELD = "somebody's transaction holds what is needed here; find the long transaction"


class Broken(Exception):
    """The database went away or asked for another try; `asked` tells whether it may have done what it was asked."""

    def __init__(self, cause: BaseException, why: str, *, asked: bool) -> None:
        self.cause, self.why, self.asked = cause, why, asked
        super().__init__(why)


class LockBusy(Exception):
    """An impatient plan met a row that somebody's transaction holds; nothing was changed."""


class Watch(Protocol):
    """How an idle worker hears of new jobs at once: a hint, which may be spurious or missed, so look now and then anyway.

    One thread waits at a time. A lost database is never an error here: it is found again by the waits that follow.
    """

    @property
    def hears(self) -> bool:
        """Whether commits are heard of right now; else only looking helps."""
        ...

    def wait(self, timeout: float) -> bool:
        """Sleep up to `timeout` seconds. True: look, something may be new, or somebody interrupted or closed the watch."""
        ...

    def interrupt(self) -> None:
        """Make the wait under way, or else the next one, return True at once; from any thread or signal handler."""
        ...

    def close(self) -> None:
        """Let go, from any thread; a wait under way returns."""
        ...


class Store(Protocol):
    """A database that keeps jobs."""

    dialect: Dialect
    memory: LaneMemory

    @property
    def on_loop(self) -> bool:
        """Whether an event loop can hear from it without a thread, so that `begin` is worth trying."""
        ...

    def run(
        self,
        make: Make[T],
        *,
        reads: bool = False,
        repeatable: bool = True,
        patient: bool = True,
        promises: bool = True,
        asked: bool = False,
    ) -> T:
        """Run a plan to its end, in a transaction of its own; an impatient one raises LockBusy rather than wait.

        One that promises nothing may be forgotten in a power cut that also ends everybody who could know of it. `asked`: it
        was begun before, and may have taken effect.
        """
        ...

    def begin(
        self, make: Make[T], tell: Callable[[T | BaseException], None], *, patient: bool = True
    ) -> bool:
        """Run a plan to its end on this thread's event loop, without a thread, and once: `tell` hears its answer or its error there,
        maybe before this returns. False: not now; nothing was asked, so `run` it in a thread.
        """
        ...

    def insert(self, job: BareParams) -> bool:
        """Store one job without options by the shortest way; False: it may not be stored, so ask `run`, which knows how."""
        ...

    def check_foreign(self) -> None:
        """Raise where callers' own transactions cannot take part."""
        ...

    def watch(self) -> Watch:
        """A new ear for commits; it does nothing until it is waited on, and is closed with the store."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


def with_patience(once: Callable[[bool], T], *, patience: float, repeatable: bool, asked: bool = False) -> T:
    """Try until it works, at most for `patience` seconds; `once(again)` raises Broken when it is worth another try.

    `asked`: it was asked elsewhere before, and may have taken effect.
    """
    deadline = time.monotonic() + patience
    rest = 0.0
    while True:
        try:
            return once(asked)
        except Broken as broken:
            if broken.asked and not repeatable:
                raise StoreUnavailable(
                    f"{broken.why}; whether the call took effect is not known: look before you repeat it"
                ) from broken.cause
            asked = asked or broken.asked
            if time.monotonic() + rest > deadline:
                raise StoreUnavailable(broken.why) from broken.cause
        except LockBusy as busy:
            # Who holds it may be the very try whose end is not known: asked afresh, it would be made twice.
            if not asked:
                raise
            if time.monotonic() + rest > deadline:
                raise StoreUnavailable(
                    "the database went away, and what it may have begun still holds locks"
                ) from busy
        time.sleep(rest)
        rest = min(max(rest * 2, 0.05), 1.0)


class Pid:
    """Tells a forked child that what it holds is its parent's."""

    __slots__ = ("_pid",)

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def mine(self) -> bool:
        """Whether this is still the process that opened it."""
        return os.getpid() == self._pid
