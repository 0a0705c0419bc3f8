"""What workers say of themselves: a JSON text of their own making, of which nothing need be there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from tenure.store.views import WorkerSeen

__all__ = ["Said", "said_by", "size"]

_UNITS: Final = (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000))


class Said(NamedTuple):
    """What is known of a worker; None: it does not say."""

    running: int | None
    slots: int | None
    memory: int | None
    version: str | None
    told: Mapping[str, Any]

    @property
    def busy(self) -> str:
        """How many of its slots are taken."""
        if self.running is None:
            return "-"
        return str(self.running) if self.slots is None else f"{self.running}/{self.slots}"


def said_by(worker: WorkerSeen) -> Said:
    """What it says, as far as it can be read."""
    try:
        told = json.loads(worker.about or "{}")
    except ValueError:
        told = {}
    if not isinstance(told, dict):
        told = {}
    version = told.get("version")
    return Said(
        running=_whole(told.get("running")),
        slots=_slots(told.get("lines")),
        memory=_whole(told.get("rss")),
        version=version if isinstance(version, str) else None,
        told=told,
    )


def size(count: int | None) -> str:
    """Bytes as people read them."""
    if count is None:
        return "-"
    for unit, length in _UNITS:
        if count >= length:
            return f"{count / length:.0f} {unit}" if count >= 10 * length else f"{count / length:.1f} {unit}"
    return f"{count} B"


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _slots(lines: object) -> int | None:
    """How many jobs at a time: the sum of its lines, `mail:10` and the like."""
    if not isinstance(lines, list):
        return None
    counts = [line.rpartition(":")[2] for line in lines if isinstance(line, str)]
    return sum(int(count) for count in counts if count.isdecimal())
