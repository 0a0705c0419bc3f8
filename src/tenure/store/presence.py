"""beat, leave: how a worker says that it lives, so that a lost lease can be told from a crash."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tenure.store.plan import Plan, Statement

__all__ = ["beat", "leave"]


def beat(
    worker: str,
    *,
    queues: Sequence[str] | None,
    kinds: Sequence[str] | None,
    about: str | None,
    now: int | None,
) -> Plan[None]:
    """A worker lives, and says what it takes (None: anything)."""
    params = {
        "worker": worker,
        "queues": None if queues is None else json.dumps(list(queues)),
        "kinds": None if kinds is None else json.dumps(list(kinds)),
        "about": about,
        "now": now,
    }
    yield Statement("beat", params, alone=True)


def leave(worker: str) -> Plan[None]:
    """A worker stops in good order."""
    yield Statement("leave", {"worker": worker}, alone=True)
