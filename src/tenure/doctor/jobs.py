"""Jobs that do not move: leases that ran out, due jobs that stand scheduled, missed fires; and those that crashed or died."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tenure.clock import to_micros
from tenure.doctor.finding import Finding, Level, count, listed, span
from tenure.doctor.patient import Patient
from tenure.filters import Filter
from tenure.job import State
from tenure.store import health

__all__ = ["crashed", "cron", "dead", "leases", "scheduled"]

_CAP: Final = 10_000
_LOOK: Final = 50_000
_DAY: Final = 86_400_000_000
_CHORES: Final = "start a worker or `tenure janitor`: either does the chores, and none does just now"


def leases(patient: Patient) -> Iterator[Finding]:
    """Leases that ran out: there are to be none."""
    limits = patient.limits
    late = patient.ask(lambda: health.late(patience=round(limits.scheduled * 1e6), cap=_CAP))
    if not late.overdue or late.lease_until is None:
        yield Finding("ok", "leases", "0 leases are overdue")
        return
    age = late.now - late.lease_until
    seen = f"{count(late.overdue, 'lease', more=late.overdue >= _CAP)} overdue, the first for {span(age)}"
    if age < limits.lease * 1e6:
        yield Finding("note", "leases", seen, "ask again: they are taken back within seconds")
    else:
        yield Finding("error", "leases", seen, _CHORES)


def scheduled(patient: Patient) -> Iterator[Finding]:
    """Jobs whose time came, and which nobody promoted."""
    patience = round(patient.limits.scheduled * 1e6)
    late = patient.ask(lambda: health.late(patience=patience, cap=_CAP))
    if not late.stuck or late.run_at is None:
        yield Finding("ok", "scheduled", f"0 scheduled jobs are due for more than {span(patience)}")
        return
    seen = f"{count(late.stuck, 'job', more=late.stuck >= _CAP)} still scheduled though due, the first for {span(late.now - late.run_at)}"
    yield Finding("warning", "scheduled", seen, _CHORES)


def cron(patient: Patient) -> Iterator[Finding]:
    """Schedules that should have fired, or cannot."""
    schedules, now = patient.queue.schedules(), patient.ask(health.clock)
    broken = [schedule for schedule in schedules if schedule.problem is not None]
    for schedule in broken[:5]:
        yield Finding(
            "error", "cron", f"schedule {schedule.name!r} cannot fire: {schedule.problem}", "schedule it anew"
        )
    late = {
        schedule.name: now - to_micros(due, "due_at")
        for schedule in schedules
        if (due := schedule.due_at) is not None and now - to_micros(due, "due_at") > patient.limits.fire * 1e6
    }
    if late:
        seen = f"{count(len(late), 'schedule')} overdue ({listed(sorted(late))}), the first for {span(max(late.values()))}"
        yield Finding("warning", "cron", seen, _CHORES)
    elif not broken:
        yield Finding("ok", "cron", f"{count(len(schedules), 'schedule')}, none overdue")


def crashed(patient: Patient) -> Iterator[Finding]:
    """Jobs whose process went away under them in the last day."""
    seen, now = patient.ask(lambda: health.crashes(age=_DAY)), patient.ask(health.clock)
    if seen.last is None:
        yield Finding("ok", "crashes", "0 crashes in the last day")
        return
    ago = now - seen.last
    level: Level = "warning" if ago < patient.limits.crashed * 1e6 else "note"
    found = f"{count(seen.crashes, 'crash').replace('crashs', 'crashes')} of {count(seen.jobs, 'job')} in the last day, the last {span(ago)} ago"
    fix = "see what ended the process (out of memory?); `tenure workers` and the worker's log tell who it was"
    yield Finding(level, "crashes", found, fix)


def dead(patient: Patient) -> Iterator[Finding]:
    """Jobs that died in the last day."""
    which = Filter(states=[State.DEAD], newer_than="1d")
    counted = patient.queue.count(which, cap=_CAP, look=_LOOK)
    number = sum(counted.states.values())
    if not number:
        among = f", among the newest {_LOOK:,}" if counted.more else ""
        yield Finding("ok", "dead", f"0 jobs died in the last day{among}")
        return
    level: Level = "warning" if number >= patient.limits.dead else "note"
    fix = "`tenure list 'state:dead age:<1d'` shows them, `tenure retry` starts them anew"
    yield Finding(level, "dead", f"{count(number, 'job', more=counted.more)} died in the last day", fix)
