"""The webhooks of the shop in the pictures: a gateway with three sources, and what its senders send there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tenure.gateway
from tests.gateway.house import Served
from tests.gateway.signing import body_of, headers_of, settings_of

__all__ = ["delivered", "gateway_of"]

_MANY = {"telegram": 64, "github": 23, "stripe": 41}


def gateway_of(app: tenure.App) -> tenure.gateway.Gateway:
    """A gateway for this app, which then knows its jobs."""

    @app.job
    async def on_event(event: dict[str, Any]) -> str:
        return f"took {len(event)} fields"

    return tenure.gateway.asgi(app, {"inline_secrets": True, "sources": [settings_of(one) for one in _MANY]})


@contextmanager
def delivered(gateway: tenure.gateway.Gateway) -> Iterator[None]:
    """It is served, and has been sent a little of everything: what comes twice, and what nobody signed."""
    draw = random.Random("hooks")
    served = Served(gateway)
    try:
        for sender, count in _MANY.items():
            for number in range(count):
                once = number if draw.random() < 0.9 else max(number - 1, 0)
                body = body_of(sender, id=f"evt_{once}", update_id=once)
                signed = headers_of(sender, body, id=str(once)) if draw.random() < 0.95 else {}
                served.post(sender, body, signed)
        yield
    finally:
        served.close()
