"""Jobs that nobody takes: kinds without a worker, paused queues, and how long the first has waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tenure.clock import to_micros
from tenure.doctor.finding import Finding, Level, count, listed, span
from tenure.doctor.patient import Patient
from tenure.store import health
from tenure.store.health import Backlog
from tenure.store.views import WorkerSeen

__all__ = ["kinds", "paused", "silent", "waiting"]

_DAY: Final = 86_400_000_000
_LATER: Final = 10_000
_NOBODY: Final = (
    "start a worker that knows these kinds and queues; a bare loop of claim and settle does not report itself"
)


def _taken(line: Backlog, workers: Sequence[WorkerSeen]) -> bool:
    return any(worker.knows(line.queue, line.kind) for worker in workers)


def kinds(patient: Patient) -> Iterator[Finding]:
    """Kinds that have jobs, or schedules, and no live worker that knows them: jobs that are not due yet are a note."""
    lines, workers = patient.ask(health.backlog), patient.queue.workers()
    lost = [line for line in lines if not _taken(line, workers)]
    if lost:
        jobs, more = sum(line.jobs for line in lost), any(line.more for line in lost)
        names = sorted({f"{line.kind} in {line.queue}" for line in lost})
        seen = f"{count(jobs, 'ready job', more=more)} that none of {count(len(workers), 'live worker')} takes: {listed(names)}"
        yield Finding("warning", "workers", seen, _NOBODY)
    yet = list(_not_yet(patient, workers))
    if not lost and not yet:
        told = f"{count(len(workers), 'worker')} live; every job that waits and every schedule has one that takes it"
        yield Finding("ok", "workers", told)
    yield from yet


def _not_yet(patient: Patient, workers: Sequence[WorkerSeen]) -> Iterator[Finding]:
    """The same of jobs that are scheduled or wait for their group, and of those that schedules will make."""
    live = count(len(workers), "live worker")
    pulse = patient.queue.pulse(cap=_LATER)
    lost = {pair: jobs for pair, jobs in pulse.later.items() if not any(w.knows(*pair) for w in workers)}
    if lost:
        jobs, more = sum(lost.values()), not pulse.more.isdisjoint(("scheduled", "waiting"))
        names = [f"{kind} in {queue}" for queue, kind in sorted(lost, key=lambda pair: pair[::-1])]
        seen = f"{count(jobs, 'job', more=more)} scheduled or waiting that none of {live} takes when they are due: {listed(names)}"
        yield Finding("note", "workers", seen, _NOBODY)
    schedules = [one for one in patient.queue.schedules() if one.paused_at is None and one.problem is None]
    made = [one for one in schedules if not any(worker.knows(one.queue, one.kind) for worker in workers)]
    if made:
        names = [f"{one.name} ({one.kind} in {one.queue})" for one in made]
        seen = f"{count(len(made), 'schedule')} whose jobs none of {live} takes: {listed(names)}"
        yield Finding(
            "note", "workers", seen, f"{_NOBODY}; or `tenure cron pause` those that are not meant any more"
        )


def paused(patient: Patient) -> Iterator[Finding]:
    """Paused queues in which jobs wait."""
    pauses, lines, now = patient.queue.paused(), patient.ask(health.backlog), patient.ask(health.clock)
    behind = {name: [line for line in lines if line.queue == name] for name in pauses}
    for name, since in sorted(pauses.items()):
        if behind[name]:
            jobs, more = sum(line.jobs for line in behind[name]), any(line.more for line in behind[name])
            seen = f"queue {name!r} is paused for {span(now - to_micros(since, 'since'))}, with {count(jobs, 'ready job', more=more)} behind it"
            yield Finding("warning", "paused", seen, f"`tenure resume {name}`, unless that is meant")
    if not any(behind.values()):
        yield Finding("ok", "paused", f"{count(len(pauses), 'queue')} paused, with no ready job behind")


def waiting(patient: Patient) -> Iterator[Finding]:
    """How long the first ready job has waited; paused queues and kinds without a worker are told of elsewhere."""
    pauses, workers = patient.queue.paused(), patient.queue.workers()
    lines, now = patient.ask(health.backlog), patient.ask(health.clock)
    moving = [line for line in lines if line.queue not in pauses and _taken(line, workers)]
    if not moving:
        yield Finding("ok", "backlog", "no ready job waits for a live worker")
        return
    first = min(moving, key=lambda line: line.run_at)
    age = max(now - first.run_at, 0)
    jobs, more = sum(line.jobs for line in moving), any(line.more for line in moving)
    seen = f"{count(jobs, 'ready job', more=more)}, the first ({first.kind} in {first.queue}) for {span(age)}"
    level: Level = "ok"
    if age >= patient.limits.ready * 1e6:
        level = "warning" if age >= patient.limits.ready_warning * 1e6 else "note"
    fix = (
        ""
        if level == "ok"
        else "run more workers, or raise their concurrency; `tenure stats --watch` shows whether it shrinks"
    )
    yield Finding(level, "backlog", seen, fix)


def silent(patient: Patient) -> Iterator[Finding]:
    """Workers that fell silent without a goodbye."""
    gone, now = patient.ask(lambda: health.silent(age=_DAY)), patient.ask(health.clock)
    if not gone:
        yield Finding("ok", "silent", "no worker fell silent in the last day")
        return
    last = max(gone, key=lambda worker: worker.seen_at)
    ago = now - to_micros(last.seen_at, "seen_at")
    level: Level = "warning" if ago < patient.limits.silent * 1e6 else "note"
    seen = f"{count(len(gone), 'worker')} fell silent in the last day without a goodbye; the last, {last.id}, {span(ago)} ago"
    yield Finding(level, "silent", seen, "see why it went (killed? out of memory? cut off?); its jobs are taken back by others")  # fmt: skip
