"""What is wrong now, in words, each with a link to where one looks further; nothing wrong is an empty list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

from tenure.duration import spell
from tenure.query.words import quoted

__all__ = ["wrong"]

_LATE: Final = 60
_FAILING: Final = 0.1


def wrong(picture: Mapping[str, Any]) -> list[dict[str, str]]:
    """The worst first."""
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(_found(picture), key=lambda one: order[one["level"]])


def _found(picture: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    now, workers = picture["now"], picture["workers"]
    if picture["overdue_leases"]:
        yield _say("error", f"{_jobs(picture['overdue_leases'])} should have been taken back from workers that are gone", _link("state:running"))  # fmt: skip
    if picture["overdue_scheduled"]:
        yield _say("warning", f"{_jobs(picture['overdue_scheduled'])} should have been made ready, and nobody did", _link("state:scheduled"))  # fmt: skip
    if now["ready"] and not workers:
        more = "ready" in now["capped"]
        yield _say(
            "error", f"{_jobs(now['ready'], more=more)} ready to run, and no worker lives", "#/workers"
        )
    for queue in picture["queues"]:
        name, late = queue["name"], queue["oldest_ready"]
        if queue["paused"] and queue["ready"]:
            yield _say(
                "warning", f"queue {name} is paused, and {_jobs(queue['ready'])} wait in it", "#/queues"
            )
        elif workers and late is not None and late > _LATE:
            yield _say("warning", f"in queue {name} a job has been ready for {spell(timedelta(seconds=round(late)))}", _link(f"state:ready queue:{quoted(name)}"))  # fmt: skip
    if now["error_rate"] > _FAILING:
        yield _say(
            "warning", f"{now['error_rate']:.0%} of the attempts of the last minutes failed", "#/errors"
        )
    if now["dead"]:
        more = "dead" in now["capped"]
        yield _say("warning", f"{_jobs(now['dead'], more=more)} dead", _link("state:dead"))


def _jobs(count: int, *, more: bool = False) -> str:
    return f"{count:,}{'+' if more else ''} job{'' if count == 1 else 's'}"


def _link(which: str) -> str:
    return f"#/jobs?q={quote(which, safe=':')}"


def _say(level: str, text: str, link: str) -> dict[str, str]:
    return {"level": level, "text": text, "link": link}
