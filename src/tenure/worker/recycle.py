"""When a worker makes room for a fresh one: after so many jobs, and not one more, or above so much memory."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tenure.client.queue import Queue
from tenure.job import Claim
from tenure.worker.settings import WorkerSettings

__all__ = ["memory", "rationed", "used_up"]

log = logging.getLogger("tenure")


def used_up(settings: WorkerSettings, ended: int, worker: str) -> bool:
    """Whether a worker that has ended so many jobs should stop."""
    if settings.max_jobs is not None and ended >= settings.max_jobs:
        log.info("worker %s has run %d jobs and makes room for a fresh one", worker, ended)
        return True
    if settings.max_memory is not None and (used := memory()) > settings.max_memory:
        log.info("worker %s uses %d bytes and makes room for a fresh one", worker, used)
        return True
    return False


def rationed(queue: Queue, left: Callable[[], int]) -> Queue:
    """The same queue for who claims from it: never more jobs than are `left`."""
    return cast("Queue", _Rationed(queue, left))


class _Rationed:
    """A queue with one verb of its own."""

    def __init__(self, queue: Queue, left: Callable[[], int]) -> None:
        self._queue, self._left = queue, left

    def claim(self, limit: int, **terms: Any) -> list[Claim]:
        """As many as are left at most."""
        most = min(limit, self._left())
        return self._queue.claim(most, **terms) if most > 0 else []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


def memory() -> int:
    """Resident memory of this process, in bytes; 0 where that cannot be known."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
