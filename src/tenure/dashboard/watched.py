"""What goes wrong over more than a moment: schedules that missed their time or failed last, and jobs that crash their workers.

It costs a few looks, so it is asked for seldom, and told to every page from what was found last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.desk import LOOK, Desk
from tenure.dashboard.rows import ended_before
from tenure.dashboard.series import now
from tenure.dashboard.snoozed import snoozed
from tenure.figures import ErrorGroup
from tenure.filters import Filter
from tenure.job import JobId, JobSeen, State
from tenure.patterns import escape
from tenure.schedule import ScheduleSeen

__all__ = ["FOLLOWED", "Watched", "failed_last", "is_late", "last_jobs", "watched"]

FOLLOWED: Final = 25
"""How many schedules are told with their last jobs, and looked at at a time: each costs a look."""
_PATIENCE: Final = 0.05
"""For how many seconds schedules are looked at, so many at a time, before the others have to wait for the next time."""
_RUNS: Final = 5
_LISTED: Final = 50
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
    found, groups, asleep = await asyncio.gather(
        queue.schedules(), queue.error_groups(moment - _LATELY, limit=_GROUPS), snoozed(queue, moment)
    )
    awake = [group for group in groups if group.fingerprint not in asleep]
    return Watched(
        [one.name for one in found if is_late(one, moment)],
        [one.name for one in found if one.problem is not None],
        await _failed(desk, found),
        [group for group in awake if group.error_kind == "Crash" and group.last_seen > moment - _LATELY],
    )


async def _failed(desk: Desk, found: Sequence[ScheduleSeen]) -> list[str]:
    """Those that failed when last run: some are looked at, in turn, and what was seen of the others last is remembered."""
    place = {name: at for at, name in enumerate(desk.failed)}
    turn = sorted(found, key=lambda one: place.get(one.name, -1))
    known = {one.name: desk.failed[one.name] for one in turn if one.name in place}
    until = time.monotonic() + _PATIENCE
    for at in range(0, len(turn), FOLLOWED):
        if at and time.monotonic() > until:
            break
        for name, jobs in (await last_jobs(desk, turn[at : at + FOLLOWED])).items():
            known.pop(name, None)
            known[name] = failed_last(jobs)
    desk.failed = known
    return [one.name for one in found if known.get(one.name)]


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


async def last_jobs(desk: Desk, schedules: Sequence[ScheduleSeen]) -> dict[str, list[JobSeen]]:
    """The last jobs that each of these made, newest first."""
    queue = await desk.queue()
    made = await asyncio.gather(*(_runs(queue, one) for one in schedules))
    return {one.name: jobs for one, jobs in zip(schedules, made, strict=True)}


async def _runs(queue: AsyncQueue, one: ScheduleSeen) -> list[JobSeen]:
    """The last jobs that a schedule made: among the newest of all, and among those made when it last fired."""
    found: dict[str, JobSeen] = {}
    which = Filter(kinds=[escape(one.kind)], queues=[escape(one.options.get("queue", "default"))])
    fired = None if one.fired_at is None else JobId(ended_before(one.fired_at + _MADE))
    for before in (None, fired) if fired is not None else (None,):
        jobs = await queue.list(which, limit=_LISTED, before=before, look=LOOK)
        found.update({job.id: job for job in jobs if job.meta.get("schedule") == one.name})
        if len(found) >= _RUNS:
            break
    return sorted(found.values(), key=lambda job: job.id, reverse=True)[:_RUNS]
