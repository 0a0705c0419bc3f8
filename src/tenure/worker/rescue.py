"""What a worker holds, given back from outside its event loop: a handler blocks that, and the process is to leave.

The services have threads of their own, so the store can be told all the same. Whoever calls this ends the process next;
what the handler does after it is released counts for nothing, as for any job that is given back while it runs.
"""

from __future__ import annotations

import time

from tenure.outcome import Release
from tenure.worker.drain import Parts

__all__ = ["give_back"]

_LEAST = 0.05


def give_back(parts: Parts, deadline: float) -> bool:
    """Settle what has ended, release whatever else is held, say goodbye; whether the store has heard all of it in time."""
    parts.claimer.stop()
    if parts.janitor is not None:
        parts.janitor.stop()
    for line in parts.lines:
        line.closed = True  # should the loop come back meanwhile, it starts nothing more
        line.buffer.clear()
        line.aside.clear()
    parts.claimer.join(_left(deadline))
    for claim in list(parts.held):
        if not parts.settler.has(claim):
            parts.settler.add(claim, Release())
    parts.settler.stop()
    settled = parts.settler.join(_left(deadline))
    parts.keeper.stop()
    parts.keeper.join(_left(deadline))
    if settled and not parts.held:
        parts.marks.close()
        return True
    parts.marks.clear()
    return False


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), _LEAST)
