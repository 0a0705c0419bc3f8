"""What goes wrong over more than a moment: schedules that missed their time or failed last, and jobs that crash their workers.

It costs a few looks, so it is asked for seldom, and told to every page from what was found last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from tenure.dashboard.desk import Desk
from tenure.dashboard.series import now
from tenure.dashboard.snoozed import snoozed
from tenure.figures import ErrorGroup
from tenure.job import JobSeen, State
from tenure.schedule import ScheduleSeen
from tenure.store.views import WorkerSeen

__all__ = ["FOLLOWED", "Watched", "failed_last", "is_late", "is_untaken", "last_jobs", "watched"]

FOLLOWED: Final = 25
"""How many schedules are told with their last jobs, and looked at at a time: each costs a few looks."""
_PATIENCE: Final = 0.05
"""For how many seconds schedules are looked at, so many at a time, before the others have to wait for the next time."""
_SELDOM: Final = 15.0
_LATE: Final = timedelta(seconds=60)
"""How long ago a schedule should have fired to be called late: who fires may be at a long batch."""
_LATELY: Final = timedelta(hours=1)
_GROUPS: Final = 200


class Watched(NamedTuple):
    """The names of schedules that missed their time, cannot fire, failed last, or make jobs that no live worker takes, though some live; and the failures that were crashes, of the last hour."""

    late: Sequence[str]
    broken: Sequence[str]
    failed: Sequence[str]
    untaken: Sequence[str]
    crashes: Sequence[ErrorGroup]


async def watched(desk: Desk) -> Watched:
    """What was found within the last seconds."""
    found: Watched = await desk.kept("watched", _SELDOM, lambda: _watched(desk))
    return found


async def _watched(desk: Desk) -> Watched:
    queue, moment = await desk.queue(), now()
    found, groups, asleep, workers = await asyncio.gather(
        queue.schedules(),
        queue.error_groups(moment - _LATELY, limit=_GROUPS),
        snoozed(queue, moment),
        queue.workers(),
    )
    awake = [group for group in groups if group.fingerprint not in asleep]
    return Watched(
        [one.name for one in found if is_late(one, moment)],
        [one.name for one in found if one.problem is not None],
        await _failed(desk, found),
        [one.name for one in found if is_untaken(one, workers)],
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
        looked = turn[at : at + FOLLOWED]
        jobs = await last_jobs(desk, looked)
        for one in looked:
            known.pop(one.name, None)
            known[one.name] = failed_last(one, jobs[one.name])
    desk.failed = known
    return [one.name for one in found if known.get(one.name)]


def is_late(one: ScheduleSeen, moment: datetime) -> bool:
    """Whether it should have fired a while ago."""
    return (due := one.due_at) is not None and due < moment - _LATE


def is_untaken(one: ScheduleSeen, workers: Sequence[WorkerSeen]) -> bool:
    """Whether workers live, and none of them takes the jobs that it will make."""
    fires = one.paused_at is None and one.problem is None
    return fires and bool(workers) and not any(worker.knows(one.queue, one.kind) for worker in workers)


def failed_last(one: ScheduleSeen, jobs: Sequence[JobSeen]) -> bool | None:
    """Whether the last job that it made, and of which anything is known yet, went wrong; None: nobody knows, for it is gone."""
    kept = {job.id: job for job in jobs}
    for made in one.made:
        job = kept.get(made)
        if job is None:
            return None
        if job.state == State.DEAD or (job.error is not None and job.state != State.DONE):
            return True
        if job.state == State.DONE:
            return False
    return None


async def last_jobs(desk: Desk, schedules: Sequence[ScheduleSeen]) -> dict[str, list[JobSeen]]:
    """The last jobs that each of these made, newest first, as far as they are kept."""
    queue = await desk.queue()
    wanted = [made for one in schedules for made in one.made]
    found = dict(zip(wanted, await asyncio.gather(*map(queue.get, wanted)), strict=True))
    return {one.name: [job for made in one.made if (job := found[made])] for one in schedules}
