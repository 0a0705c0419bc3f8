"""What a pool tells the store of its dead: who had been running what, so nothing waits for a lease.

A thread of its own does it: a database that does not answer keeps the pool from nothing, neither from hearing a signal nor from
leaving in time.
"""

from __future__ import annotations

import logging
import signal
from collections import deque
from collections.abc import Callable
from pathlib import Path

from tenure.client.queue import Queue
from tenure.service import Service
from tenure.worker.marks import forget, marks_in, read_marks

__all__ = ["Reports", "told"]

log = logging.getLogger("tenure")
_IDLE = 3_600.0


class Reports(Service):
    """Reports the dead of one pool, in the order in which they died."""

    def __init__(self, open_queue: Callable[[], Queue], marks: Path) -> None:
        super().__init__("report")
        self._open, self._marks = open_queue, marks
        self._dead: deque[tuple[int, int]] = deque()
        self._queue: Queue | None = None

    @property
    def pending(self) -> bool:
        """Whether one of the dead is still to be told of."""
        return bool(self._dead)

    def add(self, pid: int, code: int) -> None:
        """This child is dead."""
        self._dead.append((pid, code))
        self.ring()

    def tick(self) -> float:
        """Tell of all there are."""
        while self._dead:
            try:
                self._report(*self._dead[0])
            finally:
                self._dead.popleft()
        return _IDLE

    def finish(self) -> None:
        """Tell of those that died last, and let go of the store."""
        self.tick()
        if self._queue is not None:
            self._queue.close()

    def _report(self, pid: int, code: int) -> None:
        """Tell the store what the dead child had been running.

        Only by SIGKILL can a job in a child process, or its hunger for memory, have ended the worker.
        """
        for path in marks_in(self._marks, pid):
            left = read_marks(path)
            if left is None:
                continue
            try:
                if self._queue is None:
                    self._queue = self._open()
                taken = self._queue.vanished(
                    left.worker,
                    started=left.started,
                    apart=left.apart if code == -signal.SIGKILL else (),
                    story=f"worker {left.worker} {told(code)} while it ran this job",
                )
                forget(path)
                log.warning("pool: %d jobs of worker %s are taken back", taken, left.worker)
            except Exception:
                # The marks stay: the next start on this machine, or the leases, tell the rest.
                log.exception("pool: what worker %s held could not be taken back", left.worker)


def told(code: int) -> str:
    """How a process ended."""
    if code >= 0:
        return f"left with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
