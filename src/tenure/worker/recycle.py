"""When a worker makes room for a fresh one: after so many jobs, or above so much memory."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from tenure.worker.settings import WorkerSettings

__all__ = ["used_up"]

log = logging.getLogger("tenure")


def used_up(settings: WorkerSettings, ended: int, worker: str) -> bool:
    """Whether a worker that has ended so many jobs should stop."""
    if settings.max_jobs is not None and ended >= settings.max_jobs:
        log.info("worker %s has run %d jobs and makes room for a fresh one", worker, ended)
        return True
    if settings.max_memory is not None and (used := _memory()) > settings.max_memory:
        log.info("worker %s uses %d bytes and makes room for a fresh one", worker, used)
        return True
    return False


def _memory() -> int:
    """Resident memory of this process, in bytes; 0 where that cannot be known."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
