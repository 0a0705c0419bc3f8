"""What the workers of this process do, counted as their events tell it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tenure import events
from tenure.job import CLAIM_COLUMNS
from tenure.metrics.names import PROCESS, Metric
from tenure.metrics.results import result_of

if TYPE_CHECKING:
    from tenure.app import App

__all__ = ["Counting"]

BUCKETS: Final = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
    1_800.0,
    7_200.0,
)
_RUN_AT, _CLAIMED_AT = CLAIM_COLUMNS.index("run_at"), CLAIM_COLUMNS.index("started_at")
"""Where a claim's row has them."""


def _made(metric: Metric, registry: CollectorRegistry) -> Any:
    match metric.type:
        case "counter":
            return Counter(metric.name, metric.help, metric.labels, registry=registry)
        case "gauge":
            return Gauge(metric.name, metric.help, metric.labels, registry=registry)
        case "histogram":
            return Histogram(metric.name, metric.help, metric.labels, registry=registry, buckets=BUCKETS)


class Counting:
    """The numbers of this process. A label's counter is looked up once: that is the dearest part of counting."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._of: dict[str, Any] = {m.name.removeprefix("tenure_"): _made(m, registry) for m in PROCESS}
        self._known: dict[tuple[str, ...], Any] = {}

    def listen(self, app: App) -> None:
        """Hear of everything that is counted."""
        told: tuple[tuple[type[events.Event], Callable[[Any], object]], ...] = (
            (events.Started, self._started),
            (events.Ended, self._ended),
            (events.Abandoned, self._abandoned),
            (events.Settled, self._settled),
            (events.SlotStuck, lambda e: self._at("slots_stuck", e.claim.kind).inc()),
            (events.ChildCrashed, lambda e: self._at("children_crashed", e.claim.kind).inc()),
            (events.Outage, lambda e: self._at("outages", e.doing).inc()),
            (events.ChoreDone, self._chore),
            (events.ChoreFailed, lambda e: self._at("chore_failures", e.chore).inc()),
            (events.Fired, lambda e: self._at("fires", e.schedule).inc()),
            (events.WorkerStarted, lambda _: self._of["process_workers"].inc()),
            (events.WorkerStopped, lambda _: self._of["process_workers"].dec()),
        )
        for event, heard in told:
            app.listen(heard, event)

    def _at(self, *key: str) -> Any:
        """The metric of this name with these labels."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._of[key[0]].labels(*key[1:])
        return found

    def _started(self, event: events.Started) -> None:
        claim = event.claim
        row = claim.row
        self._at("jobs_started", claim.kind).inc()
        self._at("job_wait_seconds", claim.queue).observe(max(row[_CLAIMED_AT] - row[_RUN_AT], 0) / 1_000_000)

    def _ended(self, event: events.Ended) -> None:
        claim = event.claim
        self._at("jobs_ended", claim.kind, result_of(claim, event.outcome)).inc()
        self._at("job_run_seconds", claim.kind).observe(event.seconds)

    def _abandoned(self, event: events.Abandoned) -> None:
        self._at("jobs_ended", event.claim.kind, "lost").inc()
        self._of["claims_lost"].inc()

    def _settled(self, event: events.Settled) -> None:
        if event.lost:
            self._of["claims_lost"].inc(event.lost)

    def _chore(self, event: events.ChoreDone) -> None:
        self._at("chore_moved", event.chore).inc(event.moved)
        self._at("chore_seconds", event.chore).inc(event.seconds)
