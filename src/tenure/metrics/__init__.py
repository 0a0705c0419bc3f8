"""Numbers for Prometheus, spans for OpenTelemetry: asked for by name, and nothing is imported or counted before.

    tenure.metrics.asgi(app)                       an ASGI app that answers GET /metrics
    tenure.metrics.prometheus.collect(app)         the same numbers in a registry of yours
    tenure.metrics.otel.instrument(app)            producer and consumer spans around the app's jobs

docs/metrics.md tells every metric, and what listening costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from tenure.app import App
    from tenure.gateway.asgi import Gateway
    from tenure.metrics.exposition import Exposition

__all__ = ["asgi"]


def asgi(app: App, gateway: Gateway | None = None, registry: CollectorRegistry | None = None) -> Exposition:
    """An ASGI app that answers GET /metrics, to be served or mounted: the store's numbers, this process's, the gateway's.

    Made before the worker starts: what a worker does before somebody listens is not counted.
    """
    from tenure.metrics.exposition import Exposition
    from tenure.metrics.prometheus import collect

    return Exposition(collect(app, registry, gateway=gateway))
