"""What is wrong now, in words, each with a link to where one looks further; nothing wrong is an empty list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

from tenure.dashboard.watched import Watched
from tenure.duration import spell
from tenure.query.words import exactly

__all__ = ["wrong"]

_LATE: Final = 60
_FAILING: Final = 0.1
_OVERDUE: Final = "overdue:>10s"
"""As long as the picture of now allows (`q.pulse`)."""
_NAMED: Final = 5
"""How many are told one by one."""


def wrong(picture: Mapping[str, Any], seen: Watched) -> list[dict[str, str]]:
    """The worst first."""
    order = {"error": 0, "warning": 1, "note": 2}
    found = [*_now(picture), *_schedules(seen), *_crashes(seen)]
    return sorted(found, key=lambda one: order[one["level"]])


def _now(picture: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    now, workers = picture["now"], picture["workers"]
    if picture["overdue_leases"]:
        yield _say("error", f"{_jobs(picture['overdue_leases'])} should have been taken back from workers that are gone", _link(f"state:running {_OVERDUE}"))  # fmt: skip
    if picture["overdue_scheduled"]:
        yield _say("warning", f"{_jobs(picture['overdue_scheduled'])} should have been made ready, and nobody did", _link(f"state:scheduled {_OVERDUE}"))  # fmt: skip
    if now["ready"] and not workers:
        more = "ready" in now["capped"]
        yield _say(
            "error", f"{_jobs(now['ready'], more=more)} ready to run, and no worker lives", "#/workers"
        )
    if workers:
        yield from _untaken("warning", picture["untaken"], "ready to run", "state:ready")
        yield from _untaken(
            "note", picture["untaken_later"], "scheduled or waiting", "state:scheduled,waiting"
        )
    for queue in picture["queues"]:
        name, late = queue["name"], queue["oldest_ready"]
        if queue["paused"] and queue["ready"]:
            waits = _jobs(queue["ready"], more="ready" in queue["capped"])
            yield _say("warning", f"queue {name} is paused, and {waits} wait in it", "#/queues")
        elif workers and late is not None and late > _LATE:
            yield _say("warning", f"in queue {name} a job has been ready for {spell(timedelta(seconds=round(late)))}", _link(f"state:ready queue:{exactly(name)}"))  # fmt: skip
    if now["error_rate"] > _FAILING:
        yield _say(
            "warning", f"{now['error_rate']:.0%} of the attempts of the last minutes failed", "#/errors"
        )
    if now["dead"]:
        more = "dead" in now["capped"]
        yield _say("warning", f"{_jobs(now['dead'], more=more)} dead", _link("state:dead"))


def _untaken(level: str, kinds: Mapping[str, int], how: str, which: str) -> Iterator[dict[str, str]]:
    """Kinds with such jobs that no live worker takes."""
    most = sorted(kinds, key=lambda kind: -kinds[kind])
    for kind in most[:_NAMED]:
        yield _say(level, f"{_jobs(kinds[kind])} of kind {kind} {how}, and no live worker takes that kind", _link(f"{which} kind:{exactly(kind)}"))  # fmt: skip
    if rest := most[_NAMED:]:
        yield _say(level, f"{_jobs(sum(kinds[kind] for kind in rest))} of {len(rest)} more kinds {how}, and no live worker takes them", "#/workers")  # fmt: skip


def _schedules(seen: Watched) -> Iterator[dict[str, str]]:
    if seen.broken:
        yield _say("error", f"{_many(seen.broken)} cannot fire: {_listed(seen.broken)}", "#/cron?only=broken")
    if seen.late:
        yield _say("warning", f"{_many(seen.late)} should have fired, and nobody did it: {_listed(seen.late)}", "#/cron?only=late")  # fmt: skip
    if seen.failed:
        yield _say("warning", f"{_many(seen.failed)} failed when last run: {_listed(seen.failed)}", "#/cron?only=failed")  # fmt: skip
    if seen.untaken:
        yield _say("note", f"no live worker takes the jobs of {_many(seen.untaken)}: {_listed(seen.untaken)}", "#/cron?only=untaken")  # fmt: skip


def _crashes(seen: Watched) -> Iterator[dict[str, str]]:
    """Kinds whose jobs take their worker with them; one link leads to each, and those that died of it are among the dead."""
    for group in seen.crashes[:_NAMED]:
        times = "once" if group.count == 1 else f"{group.count:,} times"
        dead = f", and {_jobs(group.dead)} died of it" if group.dead else ""
        yield _say("warning", f"jobs of kind {group.kind} crashed their worker {times} lately{dead}", f"#/errors?fingerprint={quote(group.fingerprint)}")  # fmt: skip


def _many(names: Sequence[str]) -> str:
    return f"{len(names)} schedule{'' if len(names) == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])


def _jobs(count: int, *, more: bool = False) -> str:
    return f"{count:,}{'+' if more else ''} job{'' if count == 1 else 's'}"


def _link(which: str) -> str:
    return f"#/jobs?q={quote(which, safe=':')}"


def _say(level: str, text: str, link: str) -> dict[str, str]:
    return {"level": level, "text": text, "link": link}
