"""Stopping in good order, within the grace period: finish what runs, give back what waits, settle everything, leave.

The grace period begins when somebody says that the worker is to stop. One that makes room for a fresh one waits for what it runs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from tenure.events import Listeners, WorkerStopped, WorkerStopping
from tenure.job import Claim
from tenure.logs import job_fields
from tenure.outcome import Release
from tenure.service import Service
from tenure.worker.claim import Claimer
from tenure.worker.isolate import Children
from tenure.worker.lease import Keeper
from tenure.worker.line import Line
from tenure.worker.marks import Marks, NoMarks
from tenure.worker.run import Runner
from tenure.worker.settle import Settler
from tenure.worker.threads import Crew

__all__ = ["Parts", "drain"]

log = logging.getLogger("tenure")
_LEAST, _LOOK = 0.05, 0.01
_LOOK_AGAIN = 0.25


class Parts(Struct, frozen=True):
    """What a worker is made of."""

    name: str
    lines: Sequence[Line]
    runner: Runner
    held: set[Claim]
    claimer: Claimer
    settler: Settler
    keeper: Keeper
    janitor: Service | None
    children: Children
    crew: Crew
    marks: Marks | NoMarks
    listeners: Listeners


async def drain(
    parts: Parts,
    slots: list[asyncio.Task[None]],
    told: asyncio.Event,
    leaving: asyncio.Event,
    grace: Callable[[], float],
) -> float:
    """Stop it; when it had to be over by.

    `told` says that somebody wants it to stop, `leaving` that what runs is to be given back rather than waited for.
    """
    running = len(parts.runner.runs)
    parts.listeners.tell(WorkerStopping(parts.name, running))
    log.info("worker %s stops: %d jobs are running", parts.name, running)
    parts.claimer.stop()
    for line in parts.lines:
        for claim in line.close():
            parts.settler.add(claim, Release())
    await _unhurried(parts, slots, told)
    deadline = time.monotonic() + grace()
    await _finish(parts, slots, leaving, deadline, reserve=grace() / 5)
    if parts.janitor is not None:
        parts.janitor.stop()
    await _join([parts.claimer], deadline)
    await asyncio.sleep(0)  # what the claimer delivered last has been given back
    parts.settler.stop()
    settled = await _join([parts.settler], deadline)
    if not settled:
        parts.settler.give_up()
    parts.keeper.stop()
    gone = await _join([parts.keeper, *([] if parts.janitor is None else [parts.janitor])], deadline)
    await parts.children.close()
    parts.crew.close()
    if settled and not parts.held:
        parts.marks.close()
    else:
        parts.marks.clear()
    if not (settled and gone):
        log.error("worker %s: the database did not answer before the grace period ended", parts.name)
    parts.listeners.tell(WorkerStopped(parts.name))
    log.info("worker %s has stopped", parts.name)
    return deadline


async def _unhurried(parts: Parts, slots: list[asyncio.Task[None]], told: asyncio.Event) -> None:
    """Until somebody is in a hurry: wait for all that runs, but for what was told to stop and does not."""
    word = asyncio.ensure_future(told.wait())
    pending = {s for s in slots if not s.done()}
    while pending and not told.is_set():
        runs = parts.runner.runs.values()
        if runs and all(run in parts.runner.stuck for run in runs):
            break
        await asyncio.wait({*pending, word}, timeout=_LOOK_AGAIN, return_when=asyncio.FIRST_COMPLETED)
        pending = {s for s in pending if not s.done()}
    word.cancel()


async def _finish(
    parts: Parts, slots: list[asyncio.Task[None]], leaving: asyncio.Event, deadline: float, *, reserve: float
) -> None:
    """Let what runs finish; past most of the grace period, or told twice, give it back."""
    told = asyncio.ensure_future(leaving.wait())
    pending = {s for s in slots if not s.done()}
    while pending:
        left = deadline - reserve - time.monotonic()
        if left <= 0 or leaving.is_set():
            break
        await asyncio.wait({*pending, told}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        pending = {s for s in pending if not s.done()}
    told.cancel()
    for run in list(parts.runner.runs.values()):
        run.leave()
    if pending:
        await asyncio.wait(pending, timeout=max(min(reserve / 2, deadline - time.monotonic()), 0.1))
    for run in list(parts.runner.runs.values()):
        log.warning("job %s did not stop when it was told to; it is given back", run.claim.id, extra=job_fields(run.claim))  # fmt: skip
        parts.settler.add(run.claim, Release())
    for slot in slots:
        slot.cancel()


async def _join(services: Sequence[Service], deadline: float) -> bool:
    """Wait until these have stopped; whether they have. Needs no thread, which might not be free in time."""
    deadline = max(deadline, time.monotonic() + _LEAST)
    while not (gone := all(s.join(0) for s in services)) and time.monotonic() < deadline:  # noqa: ASYNC110 - of OS threads
        await asyncio.sleep(_LOOK)
    return gone
