"""Jobs that match a filter: /api/jobs?q=…&before=…&limit=100&action=…, and what may be written next: /api/complete?q=…&at=…"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tenure.dashboard.desk import CAP, LOOK, Asked
from tenure.dashboard.orders import touched
from tenure.dashboard.present import picture
from tenure.dashboard.rows import row_of
from tenure.errors import FieldError
from tenure.filters import Filter, expand_states
from tenure.query import complete as completed
from tenure.query import format as written
from tenure.query import parse
from tenure.store.search import Page

__all__ = ["complete", "filter_of", "jobs"]

_FRESH = 1.0
_MOST = 500
_PICTURED = frozenset(("ready", "running", "scheduled", "waiting", "dead"))


def filter_of(asked: Asked, text: str) -> Filter:
    """The filter that a text says; viewers cannot ask for what is hidden from them."""
    which = parse(text)
    asked.mask.check(which)
    return which


async def jobs(asked: Asked) -> dict[str, Any]:
    """A page of rows, newest first, and how many match as far as was counted; of those that an `action` can change, where one is named."""
    text, before, action = asked.said("q"), asked.said("before") or None, asked.said("action")
    which, limit = filter_of(asked, text), _limit(asked.said("limit", "100"))
    if action:
        which = touched(which, action)
        text = written(which)
    queue = await asked.desk.queue()
    page, counted = await asyncio.gather(
        queue.list(which, limit=limit, before=before, look=LOOK), _count(asked, which, text)
    )
    if counted["total"] < len(page):
        counted = _shown(page, more=counted["more"] or page.before is not None or before is not None)
    return {"jobs": [row_of(job) for job in page], "before": page.before, "count": counted, "q": text}


def _shown(page: Page, *, more: bool) -> dict[str, Any]:
    """So many at least: it is counted from the oldest on, and listed from the newest."""
    return {"total": len(page), "more": more, "states": dict(Counter(job.state.value for job in page))}


async def _count(asked: Asked, which: Filter, text: str) -> dict[str, Any]:
    """How many match: by the picture of now where it knows, else by looking, as far as one looks."""
    known = None
    if replace(which, states=None, queues=None) == Filter():
        seen = await picture(asked.desk)
        known = _known_total(seen) if which == Filter() else _known_states(which, seen)
        if known is not None and not _is_short(which, seen):
            return known
    queue = await asked.desk.queue()
    counted = await asked.desk.kept(("count", text), _FRESH, lambda: queue.count(which, cap=CAP, look=LOOK))
    if known is not None and counted.more and known["total"] > counted.total:
        return known
    return {"total": counted.total, "more": counted.more, "states": counted.states}


def _known_total(seen: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of all jobs, where those that are counted for the picture of now are more than anybody would count."""
    found = {state: seen["now"][state] for state in sorted(_PICTURED)}
    total = sum(found.values())
    return {"total": total, "more": True, "states": found} if total >= CAP else None


def _known_states(which: Filter, seen: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the picture of now says of a filter that names states, and queues perhaps; None where it does not know."""
    states = expand_states(which.states)
    queues = None if which.queues is None else list(which.queues)
    if not states or not _PICTURED.issuperset(states) or any("*" in name for name in queues or ()):
        return None
    rows = [row for row in seen["queues"] if queues is None or row["name"] in queues]
    found = {state: total for state in states if (total := sum(row[state] for row in rows))}
    more = _is_short(which, seen) or any(state in row["capped"] for state in states for row in rows)
    return {"total": sum(found.values()), "more": more, "states": found}


def _is_short(which: Filter, seen: Mapping[str, Any]) -> bool:
    """Whether queues are named, and the picture counted no further in all queues together: of these it may know too little."""
    states = expand_states(which.states) or ()
    return which.queues is not None and any(s in seen["now"]["capped"] for s in states if s != "ready")


async def complete(asked: Asked) -> dict[str, Any]:
    """What may stand at the cursor."""
    text, at = asked.said("q"), asked.said("at")
    known = await asked.desk.kept("known", 10.0, lambda: _known(asked))
    found = completed(text, int(at) if at.isdecimal() and len(at) < 9 else None, known)
    return {
        "start": found.start,
        "end": found.end,
        "candidates": [{"text": one.text, "means": one.means} for one in found.candidates],
    }


async def _known(asked: Asked) -> dict[str, list[str]]:
    """Names of queues and kinds, as far as they are met at once."""
    queue = await asked.desk.queue()
    seen, newest = await asyncio.gather(picture(asked.desk), queue.list(limit=500))
    kinds = {*asked.desk.app.kinds, *(job.kind for job in newest)}
    kinds.update(kind for worker in seen["workers"] for kind in worker.kinds or ())
    return {
        "queue": sorted({*(row["name"] for row in seen["queues"]), *(job.queue for job in newest)}),
        "kind": sorted(kinds),
        "tag": sorted({t for j in newest for t in j.tags}),
    }


def _limit(text: str) -> int:
    if not text.isdecimal() or len(text) > len(str(_MOST)) or not 1 <= int(text) <= _MOST:
        raise FieldError("limit", f"must be a number from 1 to {_MOST}", text)
    return int(text)
