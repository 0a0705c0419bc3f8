"""How many connections fit among the files that this process may have open: more are asked for, and fewer served where they are
not to be had.

Beside the connections that are served there may be a backlog of others that are told to come back, and another that the event
loop takes at once before it looks at any. What the process opens by itself (the store, a worker's files, handlers) comes on top.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Final, NamedTuple

__all__ = ["BACKLOG", "MAX_CONNECTIONS", "Room", "fitting", "make_room"]

log = logging.getLogger("tenure.gateway")
MAX_CONNECTIONS: Final = 2_000
BACKLOG: Final = 512
_OWN: Final = 1_024
"""Files that are no connections."""
_WANTED: Final = MAX_CONNECTIONS + 2 * BACKLOG + _OWN


class Room(NamedTuple):
    """How many connections are served, and how many wait or are told to come back."""

    connections: int = MAX_CONNECTIONS
    backlog: int = BACKLOG


def make_room() -> Room:
    """Have more open files allowed if all connections need them; what fits, which is told where it is less than is meant."""
    allowed = _allowed(_WANTED)
    room = fitting(allowed)
    if room.connections < MAX_CONNECTIONS:
        log.warning(
            "this process may have %d files open: at most %d connections are served, not %d; `ulimit -n %d` allows all",
            allowed, room.connections, MAX_CONNECTIONS, _WANTED,
        )  # fmt: skip
    return room


def fitting(files: int) -> Room:
    """What fits among so many files."""
    if files >= _WANTED:
        return Room()
    ours = files - min(_OWN, files // 2)
    backlog = max(1, ours // 8)
    return Room(max(1, min(MAX_CONNECTIONS, ours - 2 * backlog)), backlog)


def _allowed(wanted: int) -> int:
    """How many files may be open, now that so many were asked for; at most that."""
    if sys.platform == "win32":  # there is no such limit
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):  # macOS has limits beyond the one that it tells
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
