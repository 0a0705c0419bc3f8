"""collect: an app's numbers in a Prometheus registry.

    from tenure.metrics.prometheus import collect

    collect(app)        # before the worker starts

What the store knows is asked for when the registry is scraped; what the workers of this process do is counted as it happens;
a gateway's numbers are read from the gateway. Saying it twice for one app and registry changes nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

try:
    from prometheus_client import REGISTRY, CollectorRegistry
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )
    from prometheus_client.core import (
        Metric as Family,
    )
    from prometheus_client.registry import Collector
except ImportError as cause:  # pragma: no cover - seen by who has not installed it
    raise ImportError(f"metrics for Prometheus need prometheus_client ({cause}); pip install 'tenure[prometheus]'") from cause  # fmt: skip

from tenure.duration import Duration, parse
from tenure.errors import UsageError
from tenure.metrics.counting import Counting
from tenure.metrics.looking import Look, Looking
from tenure.metrics.names import GATEWAY, STORE, Metric
from tenure.newjob import check_whole

if TYPE_CHECKING:
    from tenure.app import App
    from tenure.gateway.asgi import Gateway
    from tenure.gateway.counters import Counters

__all__ = ["collect", "let_go"]

_FAMILIES: Final = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily, "histogram": HistogramMetricFamily}  # fmt: skip
_collected: weakref.WeakKeyDictionary[CollectorRegistry, _Collected] = weakref.WeakKeyDictionary()


def collect(
    app: App,
    registry: CollectorRegistry | None = None,
    *,
    gateway: Gateway | None = None,
    store: bool = True,
    cap: int = 10_000,
    keep: Duration = "5s",
) -> CollectorRegistry:
    """Put this app's numbers into a registry (Prometheus's own, if none is given), which is returned.

    `store=False`: nothing is asked of the store, as where a gateway works without one. `cap`: how far jobs are counted. `keep`: how long an answer of the store serves whoever scrapes.
    """
    place = REGISTRY if registry is None else registry
    most, span = check_whole(cap, "cap", 1, 1_000_000), parse(keep, "keep").total_seconds()
    found = _collected.get(place)
    if found is None:
        looking = Looking(app.open, cap=most, keep=span) if store else None
        try:
            counting = Counting(place)
        except ValueError as error:
            raise UsageError(f"this registry has metrics of these names already: {error}") from None
        counting.listen(app)
        found = _collected[place] = _Collected(app, looking)
        place.register(found)
    elif found.app is not app:
        raise UsageError("another app is collected in this registry; give each app a registry of its own")
    if gateway is not None:
        found.counters = gateway.counters
    return place


def let_go(registry: CollectorRegistry | None = None) -> None:
    """Close what scrapes have opened; the next one opens it anew."""
    found = _collected.get(REGISTRY if registry is None else registry)
    if found is not None and found.looking is not None:
        found.looking.close()


class _Collected(Collector):
    """What is asked for when the registry is scraped."""

    def __init__(self, app: App, looking: Looking | None) -> None:
        self.app, self.looking = app, looking
        self.counters: Counters | None = None

    def describe(self) -> list[Family]:
        """The names, without asking the store."""
        return [_family(metric) for metric in (*STORE, *GATEWAY)]

    def collect(self) -> Iterator[Family]:
        """The numbers."""
        if self.looking is not None:
            yield from _of_store(self.looking.look())
        if self.counters is not None:
            yield from _of_gateway(self.counters)


def _family(metric: Metric) -> Any:
    return _FAMILIES[metric.type](metric.name, metric.help, labels=metric.labels)


def _of_store(look: Look | None) -> list[Family]:
    families = {metric.name: _family(metric) for metric in STORE}
    families["tenure_store_up"].add_metric((), int(look is not None))
    if look is not None:
        _tell(families, look)
    return [family for family in families.values() if family.samples]


def _tell(families: dict[str, Any], look: Look) -> None:
    pulse = look.pulse
    for queue, states in pulse.counts.items():
        for state, count in states.items():
            families["tenure_queue_jobs"].add_metric((queue, state), count)
        age = pulse.oldest_ready[queue].total_seconds()
        families["tenure_queue_oldest_ready_seconds"].add_metric((queue,), age)
        families["tenure_queue_paused"].add_metric((queue,), int(queue in pulse.paused))
    for queue in sorted({*pulse.counts, *pulse.dead}):
        families["tenure_queue_dead"].add_metric((queue,), pulse.dead.get(queue, 0))
    for name, value in (
        ("tenure_store_look_seconds", look.seconds),
        ("tenure_counts_capped", int(pulse.capped)),
        ("tenure_leases_overdue", pulse.overdue_leases),
        ("tenure_scheduled_overdue", pulse.overdue_scheduled),
        ("tenure_workers", look.workers),
        ("tenure_schedules", len(look.schedules)),
        ("tenure_schedules_overdue", look.schedules_overdue),
        ("tenure_schedules_broken", look.schedules_broken),
    ):
        families[name].add_metric((), value)


def _of_gateway(counters: Counters) -> Iterator[Family]:
    """Copied before they are gone through: the gateway counts on."""
    from tenure.gateway.counters import BUCKETS

    requests, rejects, duplicates, given_up, acks = map(_family, GATEWAY)
    for (source, status), count in dict(counters.requests).items():
        requests.add_metric((source, str(status)), count)
    for (source, reason), count in dict(counters.rejects).items():
        rejects.add_metric((source, reason), count)
    for source, count in dict(counters.duplicates).items():
        duplicates.add_metric((source,), count)
    for source, count in dict(counters.given_up).items():
        given_up.add_metric((source,), count)
    for source, histogram in dict(counters.acks).items():
        total, buckets = 0, []
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), list(histogram.buckets), strict=True):
            total += count
            buckets.append((bound, total))
        acks.add_metric((source,), buckets, sum_value=histogram.sum)
    yield from (requests, rejects, duplicates, given_up, acks)
