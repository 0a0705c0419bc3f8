"""The jobs that async sources make: one kind per source, `gateway.<slug>`, which reads its request back and handles it.
A Telegram source has another, `gateway.<slug>.notice`, whose jobs tell people of what finally failed.

`attach` gives an app these kinds. Whoever runs them needs it, so call it where the app is defined; secrets are not needed
there, but for the token of a bot that sends, when it does. Opening nothing, it may be called again with the same settings.
"""

from __future__ import annotations

from typing import Any

from tenure.app import App
from tenure.context import Context
from tenure.gateway.delivery import Delivery
from tenure.gateway.handlers import Misfit
from tenure.gateway.handlers.replies import has_replies, register_replies, reply_kind
from tenure.gateway.masking import masking
from tenure.gateway.registry import Config, Registry, Route, build
from tenure.gateway.telegram.notice import register_notice
from tenure.kinds import Kind
from tenure.outcome import Bury
from tenure.retry import Ladder

__all__ = ["attach", "register"]


def attach(app: App, config: Config, *, store: bool = True) -> Registry:
    """Give the app the kinds of its async sources; raises GatewayRefused with every problem but missing secrets."""
    registry = build(app, config, store=store, secrets=False)
    register(app, registry)
    return registry


def register(app: App, registry: Registry) -> None:
    """Make each async source a kind of the app's; what their failures say is masked."""
    mask = masking(registry.settings, registry.mask)
    for route in registry.routes.values():
        if route.settings.is_async:
            for name in (route.kind, f"{route.kind}.notice"):
                app.kinds.pop(name, None)  # the same source, attached before
            _register(app, route, _notice(app, route, inline=registry.settings.inline_secrets))
            if has_replies(route.settings):
                _register_replies(app, registry, route)
            for name in (route.kind, f"{route.kind}.notice", reply_kind(route.settings.slug)):
                if name in app.kinds:
                    app.kinds[name].mask = mask


def _notice(app: App, route: Route, *, inline: bool) -> Kind[Any, Any, Any] | None:
    """The kind that is told of its deaths, if one is."""
    if route.settings.type != "telegram":
        return None
    return register_notice(app, route.kind, route.settings, route.handler, inline=inline)


def _register_replies(app: App, registry: Registry, route: Route) -> None:
    app.kinds.pop(reply_kind(route.settings.slug), None)
    register_replies(app, route.settings, route.timeout, inline=registry.settings.inline_secrets)


def _register(app: App, route: Route, on_dead: Kind[Any, Any, Any] | None) -> None:
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
        on_dead=on_dead,
    )(run)
