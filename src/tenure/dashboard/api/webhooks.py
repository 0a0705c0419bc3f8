"""The gateway's sources, where one is served by the same process: /api/webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenure.dashboard.desk import Asked

if TYPE_CHECKING:
    from tenure.gateway.asgi import Gateway

__all__ = ["webhooks"]


async def webhooks(asked: Asked) -> dict[str, Any]:
    """Each source, and what it was asked and answered since the gateway started."""
    gateway = asked.desk.gateway
    if gateway is None:
        return {"served": False, "sources": []}
    return {"served": True, "sources": [_source(gateway, slug) for slug in gateway.registry.routes]}


def _source(gateway: Gateway, slug: str) -> dict[str, Any]:
    route, counters = gateway.registry.routes[slug], gateway.counters
    settings, acks = route.settings, counters.acks.get(slug)
    return {
        "slug": slug,
        "path": f"{gateway.registry.settings.prefix}/{slug}",
        "type": settings.type,
        "handler": settings.handler,
        "async": settings.is_async,
        "kind": route.kind if settings.is_async else None,
        "queue": settings.queue if settings.is_async else None,
        "requests": {str(status): n for (source, status), n in counters.requests.items() if source == slug},
        "rejects": {reason: n for (source, reason), n in counters.rejects.items() if source == slug},
        "duplicates": counters.duplicates[slug],
        "mean_seconds": acks.sum / acks.count if acks is not None and acks.count else None,
    }
