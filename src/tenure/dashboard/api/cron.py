"""The schedules: /api/cron."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from tenure.cron import Cron
from tenure.dashboard.desk import Asked
from tenure.dashboard.rows import row_of, when
from tenure.dashboard.series import now
from tenure.dashboard.watched import FOLLOWED, failed_last, is_late, last_jobs, watched
from tenure.errors import FieldError
from tenure.schedule import ScheduleSeen

__all__ = ["cron"]

_NEXT: Final = 5
_FRESH: Final = 2.0


async def cron(asked: Asked) -> dict[str, Any]:
    """Each in English, with its next five fires; some, those that failed before all, with the last jobs they made (else None), and how many of these are gone."""
    found, moment, mask = await (await asked.desk.queue()).schedules(), now(), asked.mask
    seen = await watched(asked.desk)
    failed, untaken = set(seen.failed), set(seen.untaken)
    followed = sorted(found, key=lambda one: one.name not in failed)[:FOLLOWED]
    key = ("runs", *(one.name for one in followed))
    made = await asked.desk.kept(key, _FRESH, lambda: last_jobs(asked.desk, followed))
    rows = [
        {
            "name": one.name,
            "cron": one.cron,
            "tz": one.tz,
            "text": _text(one),
            "kind": one.kind,
            "queue": one.queue,
            "payload": mask.text(one.payload_text),
            "missed": one.missed,
            "source": one.source,
            "fired_at": when(one.fired_at),
            "paused_at": when(one.paused_at),
            "next_at": when(one.next_at),
            "next": [when(at) for at in _next(one, moment)],
            "runs": [row_of(job) for job in made[one.name]] if one.name in made else None,
            "gone": len(one.made) - len(made[one.name]) if one.name in made else 0,
            "problem": one.problem,
            "late": is_late(one, moment),
            "untaken": one.name in untaken,
            "failed": failed_last(one, made[one.name]) if one.name in made else one.name in failed,
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
