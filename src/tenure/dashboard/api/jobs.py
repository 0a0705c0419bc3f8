"""Jobs that match a filter: /api/jobs?q=…&before=…&limit=100, and what may be written next: /api/complete?q=…&at=…"""

from __future__ import annotations

import asyncio
from typing import Any

from tenure.dashboard.desk import CAP, LOOK, Asked
from tenure.dashboard.rows import row_of
from tenure.errors import FieldError
from tenure.filters import Filter
from tenure.query import complete as completed
from tenure.query import parse

__all__ = ["complete", "filter_of", "jobs"]

_FRESH = 1.0
_MOST = 500


def filter_of(asked: Asked, text: str) -> Filter:
    """The filter that a text says; viewers cannot ask for what is hidden from them."""
    which = parse(text)
    asked.mask.check(which)
    return which


async def jobs(asked: Asked) -> dict[str, Any]:
    """A page of rows, newest first, and how many match as far as was counted."""
    text, before = asked.said("q"), asked.said("before") or None
    which, limit = filter_of(asked, text), _limit(asked.said("limit", "100"))
    queue = await asked.desk.queue()
    page, counted = await asyncio.gather(
        queue.list(which, limit=limit, before=before, look=LOOK),
        asked.desk.kept(("count", text), _FRESH, lambda: queue.count(which, cap=CAP, look=LOOK)),
    )
    return {
        "jobs": [row_of(job) for job in page],
        "before": page.before,
        "count": {"total": counted.total, "more": counted.more, "states": counted.states},
    }


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
    counts, newest, workers = await asyncio.gather(
        queue.counts(cap=CAP), queue.list(limit=500), queue.workers()
    )
    kinds = {*asked.desk.app.kinds, *(job.kind for job in newest)}
    kinds.update(kind for worker in workers for kind in worker.kinds or ())
    return {
        "queue": sorted(counts),
        "kind": sorted(kinds),
        "tag": sorted({t for j in newest for t in j.tags}),
    }


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _MOST:
        raise FieldError("limit", f"must be a number from 1 to {_MOST}", text)
    return int(text)
