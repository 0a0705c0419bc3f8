"""Figures over time, from the store's rollups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from tenure.client.queue import AsyncQueue
from tenure.clock import from_micros, machine_micros
from tenure.errors import FieldError
from tenure.figures import Histogram

__all__ = ["SPANS", "Span", "now", "rates", "series", "span_of"]


class Span(NamedTuple):
    """How far back one looks, and in what steps, in seconds."""

    seconds: int
    step: int


SPANS: Final[Mapping[str, Span]] = {
    "5m": Span(300, 60),
    "1h": Span(3_600, 60),
    "6h": Span(21_600, 300),
    "24h": Span(86_400, 900),
    "7d": Span(604_800, 7_200),
}
_SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def span_of(name: str) -> Span:
    """The span that is meant."""
    if name not in SPANS:
        raise FieldError("span", f"must be one of {', '.join(SPANS)}", name)
    return SPANS[name]


def now() -> datetime:
    """This machine's time; figures are a minute wide, and a small difference to the store's is no matter."""
    return from_micros(machine_micros())


async def series(queue: AsyncQueue, span: Span) -> dict[str, Any]:
    """Everything that is drawn over time."""
    last = int(now().timestamp()) // span.step * span.step
    first = last - span.seconds + span.step
    times = list(range(first, last + 1, span.step))
    found = await queue.rollups(_moment(first), _moment(last + span.step), step=span.step)
    drawn: dict[str, list[Any]] = {name: [0] * len(times) for name in ("done", "failed", "dead")}
    spans: dict[str, dict[int, Histogram]] = {"wait": {}, "run": {}}
    for row in found:
        at = (int(row.at.timestamp()) - first) // span.step
        if not 0 <= at < len(times):
            continue
        for name, line in drawn.items():
            line[at] += getattr(row, name)
        for name, histogram in (("wait", row.waited), ("run", row.ran)):
            spans[name].setdefault(at, Histogram()).merge(histogram)
    for name, merged in spans.items():
        for share, wanted in _SHARES.items():
            drawn[f"{name}_{share}"] = [merged[at].quantile(wanted) if at in merged else None for at in range(len(times))]  # fmt: skip
    return {"step": span.step, "times": times, "series": drawn}


async def rates(queue: AsyncQueue) -> dict[str, Any]:
    """Jobs a second by queue and in all over the last minute or two, and the share of attempts that failed lately."""
    moment = now()
    minute = moment.replace(second=0, microsecond=0)
    found = await queue.rollups(minute - timedelta(minutes=4), minute + timedelta(minutes=1))
    long = (moment - minute).total_seconds() + 60
    by: dict[str, float] = defaultdict(float)
    done = failed = 0
    for row in found:
        done, failed = done + row.done, failed + row.failed
        if row.at >= minute - timedelta(minutes=1):
            by[row.queue] += row.done / long
    share = failed / (done + failed) if done + failed else 0.0
    return {"rate": round(sum(by.values()), 2), "error_rate": round(share, 4), "queues": {q: round(r, 2) for q, r in by.items()}}  # fmt: skip


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
