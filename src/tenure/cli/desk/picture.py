"""A look at the store as lines of text that fit a terminal: what `tenure top` draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from tenure.cli.desk.screen import number, plain
from tenure.cli.desk.workers import size
from tenure.duration import spell

__all__ = ["Line", "lines"]

_QUEUES: Final = ("QUEUE", "READY", "RUNNING", "SCHEDULED", "WAITING", "OLDEST", "DONE/S", "FAIL/S", "WAIT95", "RUN95")  # fmt: skip
_WORKERS: Final = ("WORKER", "BUSY", "MEMORY", "VERSION", "UP", "SEEN", "QUEUES")
_RUNNING: Final = ("JOB", "KIND", "QUEUE", "TRY", "FOR", "PROGRESS")
_ERRORS: Final = ("ERRORS", "DEAD", "LAST", "KIND", "LATELY")
_STATES: Final = ("ready", "running", "scheduled", "waiting")
_LEFT: Final = frozenset({"QUEUE", "JOB", "WORKER", "VERSION", "QUEUES", "KIND", "PROGRESS", "LATELY"})


class Line(NamedTuple):
    """One line: its text, and how it is painted ("": as it comes)."""

    text: str
    paint: str = ""


class _Part(NamedTuple):
    header: Sequence[str]
    rows: list[tuple[list[str], str]]
    left: int = 0
    """How many more there are that nobody told of."""


def lines(told: dict[str, Any], place: str, height: int | None) -> list[Line]:
    """The picture; `height` None: all of it."""
    at = datetime.fromisoformat(told["at"])
    head = list(_head(told, place, at))
    parts = [
        _Part(_QUEUES, list(_queues(told)) or [(["there are no jobs"], "")]),
        _Part(_WORKERS, list(_workers(told, at))),
        _Part(_RUNNING, list(_running(told)), told.get("running_left", 0)),
        _Part(_ERRORS, list(_errors(told, at))),
    ]
    parts = [part for part in parts if part.rows]
    counts = [len(part.rows) + (part.left > 0) for part in parts]
    room = counts if height is None else _shared(counts, height - len(head) - 2 * len(parts))
    drawn = head
    for part, most in zip(parts, room, strict=True):
        drawn += [Line(""), *_table(part, most)]
    return drawn if height is None else drawn[:height]


def _shared(counts: Sequence[int], room: int) -> list[int]:
    """So many lines of the room for each: all it wants, where that leaves as many for the others."""
    given = [0] * len(counts)
    while room > 0 and given != [*counts]:
        for n, count in enumerate(counts):
            if room > 0 and given[n] < count:
                given[n], room = given[n] + 1, room - 1
    return given


def _head(told: dict[str, Any], place: str, at: datetime) -> Iterator[Line]:
    totals, workers = told["totals"], told["workers"]
    states = [f"{number(totals[state], more=state in totals['capped'])} {state}" for state in _STATES]
    busy = sum(one["running"] or 0 for one in workers)
    slots = sum(one["slots"] or 0 for one in workers)
    yield Line(f"tenure top  {plain(place)}  {at.astimezone():%H:%M:%S}", "bold")
    yield Line(f"{len(workers)} worker{'' if len(workers) == 1 else 's'}, {busy} of {slots} slots busy; {', '.join(states)}")  # fmt: skip
    yield Line(f"{_rate(totals['done_per_second'])} done a second, {_rate(totals['failed_per_second'])} failed, over the last minute or two")  # fmt: skip
    if totals["ready"] and not workers:
        yield Line("jobs are ready, and no worker lives", "red")
    if totals["overdue_leases"]:
        yield Line(f"{number(totals['overdue_leases'])} jobs should have been taken back from workers that are gone", "red")  # fmt: skip


def _queues(told: dict[str, Any]) -> Iterator[tuple[list[str], str]]:
    """The fullest first: where there is no room for all, these are wanted."""
    fullest = sorted(told["queues"], key=lambda one: (-one["ready"], -one["done_per_second"]))
    for one in fullest:
        counts = [number(one[state], more=state in one["capped"]) for state in _STATES]
        oldest = "paused" if one["paused"] else _span(one["oldest_ready"])
        times = [oldest, _rate(one["done_per_second"]), _rate(one["failed_per_second"])]
        yield [one["name"], *counts, *times, _span(one["wait_p95"]), _span(one["run_p95"])], "yellow" if one["paused"] else ""  # fmt: skip


def _workers(told: dict[str, Any], at: datetime) -> Iterator[tuple[list[str], str]]:
    for one in told["workers"]:
        busy = "-" if one["running"] is None else f"{one['running']}/{one['slots']}" if one["slots"] else str(one["running"])  # fmt: skip
        up, seen = (_span((at - datetime.fromisoformat(one[name])).total_seconds()) for name in ("started_at", "seen_at"))  # fmt: skip
        queues = "any" if one["queues"] is None else ", ".join(one["queues"])
        yield [one["id"], busy, size(one["memory"]), one["version"] or "-", up, seen, queues], ""


def _running(told: dict[str, Any]) -> Iterator[tuple[list[str], str]]:
    for one in told["running"]:
        far = "" if one["progress"] is None else f"{one['progress']:.0%} {one['note'] or ''}"
        yield [one["id"], one["kind"], one["queue"], str(one["attempt"]), _span(one["seconds"]), far], ""


def _errors(told: dict[str, Any], at: datetime) -> Iterator[tuple[list[str], str]]:
    for one in told["errors"]:
        last = _span((at - datetime.fromisoformat(one["last_seen"])).total_seconds())
        words = f"{one['error_kind']}: {one['message']}{'  at ' if one['frame'] else ''}{one['frame']}"
        yield (
            [number(one["count"]), number(one["dead"]), last, one["kind"], words],
            "red" if one["dead"] else "",
        )


def _table(part: _Part, most: int) -> Iterator[Line]:
    """Its header and as many lines as it may have; numbers stand to the right."""
    rows = [([plain(cell) for cell in cells], paint) for cells, paint in part.rows]
    shown = rows if len(rows) + (part.left > 0) <= most else rows[: max(most - 1, 0)]
    whole = [cells for cells, _ in shown if len(cells) == len(part.header)]
    widths = [max(len(cells[n]) for cells in (part.header, *whole)) for n in range(len(part.header))]
    yield Line(_row(part.header, part.header, widths), "bold")
    for cells, paint in shown:
        yield Line(_row(cells, part.header, widths) if cells in whole else cells[0], paint)
    left = len(rows) - len(shown) + part.left
    if left and most > 0:
        yield Line(f"… and {number(left)} more")


def _row(cells: Iterable[str], header: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) if name in _LEFT else cell.rjust(width) for cell, name, width in zip(cells, header, widths, strict=True)]  # fmt: skip
    return "  ".join(padded).rstrip()


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _span(seconds: float | None) -> str:
    """A length of time in a few characters."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f}ms"
    return spell(timedelta(seconds=round(seconds))) if seconds >= 10 else f"{seconds:.1f}s"
