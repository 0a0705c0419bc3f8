"""A look at the store as lines of text that fit a terminal: what `tenure top` draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from tenure.cli.desk.screen import number, plain
from tenure.cli.desk.workers import size
from tenure.duration import spell

__all__ = ["Line", "lines"]

_ENDLESS: Final = 1_000_000
_QUEUES: Final = ("QUEUE", "READY", "RUNNING", "SCHEDULED", "WAITING", "OLDEST", "DONE/S", "FAILED/S", "WAIT P95", "RUN P95")  # fmt: skip
_WORKERS: Final = ("WORKER", "BUSY", "MEMORY", "VERSION", "UP", "SEEN", "QUEUES")
_RUNNING: Final = ("JOB", "KIND", "QUEUE", "TRY", "FOR", "PROGRESS")
_ERRORS: Final = ("ERRORS", "DEAD", "LAST", "KIND", "LATELY")
_LEFT: Final = frozenset({"QUEUE", "JOB", "WORKER", "VERSION", "QUEUES", "KIND", "PROGRESS", "LATELY"})


class Line(NamedTuple):
    """One line: its text, and how it is painted ("": as it comes)."""

    text: str
    paint: str = ""


class _Part(NamedTuple):
    header: Sequence[str]
    rows: list[tuple[list[str], str]]
    share: int
    """It may have one line in so many of the screen."""


def lines(told: dict[str, Any], place: str, height: int | None) -> list[Line]:
    """The picture; `height` None: all of it."""
    at = datetime.fromisoformat(told["at"])
    parts = [
        _Part(_QUEUES, list(_queues(told)), 3),
        _Part(_WORKERS, list(_workers(told, at)), 6),
        _Part(_RUNNING, list(_running(told)), 5),
        _Part(_ERRORS, list(_errors(told, at)), 4),
    ]
    drawn = [*_head(told, place, at)]
    for part in parts:
        if not part.rows and part.header is not _QUEUES:
            continue
        most = _ENDLESS if height is None else max(height // part.share - 2, 1)
        drawn += [Line(""), *_table(part, most)]
    return drawn if height is None else drawn[:height]


def _head(told: dict[str, Any], place: str, at: datetime) -> Iterator[Line]:
    totals, workers = told["totals"], told["workers"]
    more = told["capped"]
    states = [f"{number(totals[state], more=more and totals[state] > 0)} {state}" for state in ("ready", "running", "scheduled", "waiting")]  # fmt: skip
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
    for one in told["queues"]:
        name = f"{one['name']} (paused)" if one["paused"] else one["name"]
        counts = [number(one[state]) for state in ("ready", "running", "scheduled", "waiting")]
        times = [_span(one["oldest_ready"]), _rate(one["done_per_second"]), _rate(one["failed_per_second"])]
        yield [name, *counts, *times, _span(one["wait_p95"]), _span(one["run_p95"])], "yellow" if one["paused"] else ""  # fmt: skip


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
        words = f"{one['error_kind']}: {one['message']}"
        yield (
            [number(one["count"]), number(one["dead"]), last, one["kind"], words],
            "red" if one["dead"] else "",
        )


def _table(part: _Part, most: int) -> Iterator[Line]:
    """Its header and as many rows as it may have; numbers stand to the right."""
    rows = [([plain(cell) for cell in cells], paint) for cells, paint in part.rows]
    shown, left = rows[:most], len(rows) - most
    widths = [
        max(len(cells[n]) for cells in ([*part.header], *(row for row, _ in shown)))
        for n in range(len(part.header))
    ]
    yield Line(_row(part.header, part.header, widths), "bold")
    for cells, paint in shown:
        yield Line(_row(cells, part.header, widths), paint)
    if not rows:
        yield Line("there are no jobs")
    if left > 0:
        yield Line(f"… and {left} more")


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
