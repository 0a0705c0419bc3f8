"""The schedules: /api/cron."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Final

from tenure.cron import Cron
from tenure.dashboard.desk import LOOK, Asked
from tenure.dashboard.rows import ended_before, row_of, when
from tenure.dashboard.series import now
from tenure.errors import FieldError
from tenure.filters import Filter
from tenure.job import JobSeen
from tenure.schedule import ScheduleSeen

__all__ = ["cron"]

_NEXT: Final = 5
_RUNS: Final = 5
_LISTED: Final = 50
_FRESH: Final = 2.0
_FOLLOWED: Final = 25
"""How many schedules are told with their last jobs: each costs a look."""
_LATE: Final = timedelta(minutes=1)


async def cron(asked: Asked) -> dict[str, Any]:
    """Each in English, with its next five fires and the last jobs it made."""
    found, moment, mask = await (await asked.desk.queue()).schedules(), now(), asked.mask
    runs = await asyncio.gather(*(_runs(asked, one) for one in found[:_FOLLOWED]))
    made = {one.name: jobs for one, jobs in zip(found, runs, strict=False)}
    rows = [
        {
            "name": one.name,
            "cron": one.cron,
            "tz": one.tz,
            "text": _text(one),
            "kind": one.kind,
            "queue": one.options.get("queue", "default"),
            "payload": mask.text(one.payload_text),
            "missed": one.missed,
            "source": one.source,
            "fired_at": when(one.fired_at),
            "paused_at": when(one.paused_at),
            "next_at": when(one.next_at),
            "next": [when(at) for at in _next(one, moment)],
            "runs": [row_of(job) for job in made.get(one.name, ())],
            "problem": one.problem,
        }
        for one in found
    ]
    return {"schedules": rows}


def _text(one: ScheduleSeen) -> str:
    try:
        return Cron(one.cron, one.tz).text()
    except FieldError:
        return one.cron


def _next(one: ScheduleSeen, moment: datetime) -> list[datetime]:
    """None while it is paused or cannot fire."""
    if one.next_at is None or one.problem:
        return []
    found = [max(one.next_at, moment)] if one.next_at <= moment else [one.next_at]
    try:
        made = Cron(one.cron, one.tz)
        while len(found) < _NEXT:
            found.append(made.next(found[-1]))
    except FieldError:
        pass
    return found


async def _runs(asked: Asked, one: ScheduleSeen) -> list[JobSeen]:
    """The last jobs that a schedule made: among the newest of all, and among those made when it last fired."""
    queue, found = await asked.desk.queue(), dict[str, JobSeen]()
    which = Filter(kinds=[one.kind], queues=[one.options.get("queue", "default")])
    fired = None if one.fired_at is None else ended_before(one.fired_at + _LATE)
    for before in (None, fired) if fired is not None else (None,):
        jobs = await asked.desk.kept(
            ("runs", one.kind, one.name, before),
            _FRESH,
            lambda before=before: queue.list(which, limit=_LISTED, before=before, look=LOOK),  # type: ignore[misc]
        )
        found.update({job.id: job for job in jobs if job.meta.get("schedule") == one.name})
        if len(found) >= _RUNS:
            break
    return sorted(found.values(), key=lambda job: job.id, reverse=True)[:_RUNS]
