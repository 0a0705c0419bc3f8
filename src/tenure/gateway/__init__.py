"""The gateway: webhooks answered after COMMIT, handled as jobs.

    gateway = tenure.gateway.asgi(app, "gateway.toml")      # an ASGI app: serve it, or mount it in your own

Nothing here is imported by `import tenure`; write `import tenure.gateway`.
"""

from __future__ import annotations

from tenure.gateway.asgi import Gateway, asgi
from tenure.gateway.counters import BUCKETS, Counters, Histogram
from tenure.gateway.delivery import Delivery
from tenure.gateway.jobs import attach
from tenure.gateway.registry import GatewayRefused, Registry, Route, look
from tenure.gateway.settings import Check, GatewaySettings, SourceSettings

__all__ = [
    "BUCKETS",
    "Check",
    "Counters",
    "Delivery",
    "Gateway",
    "GatewayRefused",
    "GatewaySettings",
    "Histogram",
    "Registry",
    "Route",
    "SourceSettings",
    "asgi",
    "attach",
    "look",
]
