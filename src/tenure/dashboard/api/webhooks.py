"""The gateway's sources: /api/webhooks. Where none is served by this process, what gateways elsewhere told the store of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tenure.clock import from_micros, machine_micros
from tenure.dashboard.desk import Asked, Desk
from tenure.dashboard.rows import when

if TYPE_CHECKING:
    from tenure.gateway.asgi import Gateway

__all__ = ["webhooks"]

_FRESH: Final = 2.0


async def webhooks(asked: Asked) -> dict[str, Any]:
    """Each source, and what it was asked and answered since the gateway started, or as far as the store knows."""
    desk = asked.desk
    gateway = desk.gateway
    if gateway is None:
        return {"served": False, "sources": await desk.kept("webhooks", _FRESH, lambda: _noted(desk))}
    return {"served": True, "sources": [_source(gateway, slug) for slug in gateway.registry.routes]}


async def _noted(desk: Desk) -> list[dict[str, Any]]:
    """What gateways noted of each source: its last request and the answer, the last one that was taken, the last hour's rejects."""
    from tenure.gateway.lately import SOURCES, note_of, rejected, seen_of, sources_of

    queue, found = await desk.queue(), []
    for slug in sorted(sources_of(await queue.note(SOURCES))):
        seen = seen_of(await queue.note(note_of(slug)))
        if seen is not None:
            last = {"slug": slug, "at": _at(seen.at), "status": seen.status, "reason": seen.reason}
            rejects = rejected(seen, machine_micros() / 1_000_000)
            found.append({**last, "taken_at": _at(seen.taken_at), "rejects": rejects})
    return found


def _at(seconds: float | None) -> str | None:
    return None if seconds is None else when(from_micros(int(seconds * 1_000_000)))


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
        "requests": {
            str(status): n for (source, status), n in dict(counters.requests).items() if source == slug
        },
        "rejects": {reason: n for (source, reason), n in dict(counters.rejects).items() if source == slug},
        "duplicates": counters.duplicates[slug],
        "mean_seconds": acks.sum / acks.count if acks is not None and acks.count else None,
    }
