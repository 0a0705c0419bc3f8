"""What goes wrong over more than a moment: schedules that missed their time or failed last, and jobs that crash their workers.

It costs a few looks, so it is asked for seldom, and told to every page from what was found last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from tenure.dashboard.desk import LOOK, Desk
from tenure.dashboard.rows import ended_before
from tenure.dashboard.series import now
from tenure.figures import ErrorGroup
from tenure.filters import Filter
from tenure.job import JobSeen, State
from tenure.schedule import ScheduleSeen

__all__ = ["FOLLOWED", "Watched", "failed_last", "is_late", "runs", "watched"]

FOLLOWED: Final = 25
"""How many schedules are told with their last jobs: each costs a look."""
_RUNS: Final = 5
_LISTED: Final = 50
_FRESH: Final = 2.0
_SELDOM: Final = 15.0
_MADE: Final = timedelta(minutes=1)
"""Within so long after its fire a job is made."""
_LATE: Final = timedelta(seconds=60)
"""How long ago a schedule should have fired to be called late: who fires may be at a long batch."""
_LATELY: Final = timedelta(hours=1)
_GROUPS: Final = 200


class Watched(NamedTuple):
    """The names of schedules that missed their time, cannot fire or failed last, and the failures that were crashes, of the last hour."""

    late: Sequence[str]
    broken: Sequence[str]
    failed: Sequence[str]
    crashes: Sequence[ErrorGroup]


async def watched(desk: Desk) -> Watched:
    """What was found within the last seconds."""
    found: Watched = await desk.kept("watched", _SELDOM, lambda: _watched(desk))
    return found


async def _watched(desk: Desk) -> Watched:
    queue, moment = await desk.queue(), now()
    found, groups = await asyncio.gather(
        queue.schedules(), queue.error_groups(moment - _LATELY, limit=_GROUPS)
    )
    made = await asyncio.gather(*(runs(desk, one) for one in found[:FOLLOWED]))
    return Watched(
        [one.name for one in found if is_late(one, moment)],
        [one.name for one in found if one.problem is not None],
        [one.name for one, jobs in zip(found, made, strict=False) if failed_last(jobs)],
        [group for group in groups if group.error_kind == "Crash" and group.last_seen > moment - _LATELY],
    )


def is_late(one: ScheduleSeen, moment: datetime) -> bool:
    """Whether it should have fired a while ago."""
    return (due := one.due_at) is not None and due < moment - _LATE


def failed_last(jobs: Sequence[JobSeen]) -> bool:
    """Whether the last of these jobs, newest first, of which anything is known yet went wrong."""
    for job in jobs:
        if job.state == State.DEAD or (job.error is not None and job.state != State.DONE):
            return True
        if job.state == State.DONE:
            return False
    return False


async def runs(desk: Desk, one: ScheduleSeen) -> list[JobSeen]:
    """The last jobs that a schedule made: among the newest of all, and among those made when it last fired."""
    queue, found = await desk.queue(), dict[str, JobSeen]()
    which = Filter(kinds=[one.kind], queues=[one.options.get("queue", "default")])
    fired = None if one.fired_at is None else ended_before(one.fired_at + _MADE)
    for before in (None, fired) if fired is not None else (None,):
        jobs = await desk.kept(
            ("runs", one.kind, one.name, before),
            _FRESH,
            lambda before=before: queue.list(which, limit=_LISTED, before=before, look=LOOK),  # type: ignore[misc]
        )
        found.update({job.id: job for job in jobs if job.meta.get("schedule") == one.name})
        if len(found) >= _RUNS:
            break
    return sorted(found.values(), key=lambda job: job.id, reverse=True)[:_RUNS]
