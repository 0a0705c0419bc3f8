"""Berths: how many jobs of a worker may be in its child processes at a time, counted for all of its lines.

A claim that is to run in a child waits aside in its line until a berth is free, and holds no slot that others could use. The
claimer asks for no more jobs of isolated kinds than can start soon; what could not start here is left to other workers.
Suspects are not known before they are claimed: those that found no berth for a second are put off, so that others get them,
unless they are of a group, which might go on without them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from tenure.job import Claim
from tenure.worker.pace import Pace

if TYPE_CHECKING:
    from tenure.worker.line import Line

__all__ = ["Berths"]

_LEAST, _LONGEST = 1.0, 10.0
"""How long a suspect is put off, in seconds."""


class Berths:
    """Those that are free, and who waits for one."""

    def __init__(self, most: int = 0, *, isolated: Collection[str] = (), able: bool = False) -> None:
        self.isolated = frozenset(isolated)
        """Kinds whose jobs always run in a child."""
        self.free = self._most = most
        self._able, self._ended, self._pace = able, 0, Pace()
        self._lines: list[Line] = []
        self._freed = time.monotonic()
        self.crowded = False
        """Whether suspects were put off since a berth became free."""
        self.sent = self.received = 0
        """Claims for a berth that were sent to lines, counted by the claimer, and those that have arrived."""
        self.on_room: Callable[[], None] | None = None
        """Told that one more could be claimed."""
        self.on_late: Callable[[Claim, timedelta], None] | None = None
        """Told of a suspect that has waited long enough, and how long it is to be put off."""

    def serve(self, lines: Iterable[Line]) -> None:
        """From now on these lines share the berths."""
        self._lines = list(lines)

    def needed_by(self, claims: list[Claim]) -> list[Claim]:
        """Those of them that are to run in a child: suspects too, where a child could import the app."""
        isolated = self.isolated
        if not isolated:
            return [c for c in claims if c.apart] if self._able else []
        return [c for c in claims if c.kind in isolated or (self._able and c.apart)]

    def room(self) -> int:
        """How many more jobs could start in a child soon."""
        # In this order a claim that moves on meanwhile (sent, waiting, running) is counted twice, never not at all.
        coming = self.sent - self.received
        waiting = sum(len(line.aside) for line in self._lines)
        return self.free - waiting - coming + self._pace.ahead(self._ended)

    def take(self) -> None:
        """A job starts in one."""
        self.free -= 1

    def give(self) -> None:
        """It has ended: whoever waits for a berth, and has a slot, starts."""
        self.free += 1
        self._ended += 1
        self._freed, self.crowded = time.monotonic(), False
        for line in self._lines:
            if line.aside and line.wake():
                self._lines.remove(line)  # the others come first the next time
                self._lines.append(line)
                break
        self.tell_room()

    def put_off(self, suspects: list[Claim]) -> None:
        """These found no berth here: the longer none has become free, the longer they are left to other workers."""
        self.crowded = True
        rest = min(max((time.monotonic() - self._freed) / 4, _LEAST), _LONGEST)
        if self.on_late is not None:
            for claim in suspects:
                self.on_late(claim, timedelta(seconds=rest))
        self.tell_room()

    def tell_room(self) -> None:
        """One that held or waited for a berth is gone."""
        if self.on_room is not None:
            self.on_room()
