"""The jobs that async sources make: one kind per source, `gateway.<slug>`, which reads its request back and handles it.

`attach` gives an app these kinds. Whoever runs them needs it, so call it where the app is defined; secrets are not needed
there. Opening nothing, it may be called again with the same settings.
"""

from __future__ import annotations

from typing import Any

from tenure.app import App
from tenure.context import Context
from tenure.gateway.delivery import Delivery
from tenure.gateway.handlers import Misfit
from tenure.gateway.registry import Config, Registry, Route, build
from tenure.outcome import Bury
from tenure.retry import Ladder

__all__ = ["attach", "register"]


def attach(app: App, config: Config, *, store: bool = True) -> Registry:
    """Give the app the kinds of its async sources; raises GatewayRefused with every problem but missing secrets."""
    registry = build(app, config, store=store, secrets=False)
    register(app, registry)
    return registry


def register(app: App, registry: Registry) -> None:
    """Make each async source a kind of the app's."""
    for route in registry.routes.values():
        if route.settings.is_async:
            app.kinds.pop(route.kind, None)  # the same source, attached before
            _register(app, route)


def _register(app: App, route: Route) -> None:
    async def run(ctx: Context) -> Any:
        request = await (await app.aqueue()).request(ctx.id)
        if request is None:
            raise Bury("no request", "the request that this job was made from is gone")
        delivery = Delivery(
            source=route.settings.slug,
            type=route.settings.type,
            body=request.body,
            headers=request.headers,
        )
        try:
            return await route.handler.handle(delivery, ctx)
        except Misfit as cause:
            raise Bury("bad arguments", str(cause)) from cause

    settings = route.settings
    app.job(
        kind=route.kind,
        queue=settings.queue,
        priority=settings.priority,
        max_attempts=settings.max_attempts,
        retry=Ladder(*settings.retry),
        timeout=route.timeout,
    )(run)
