"""`--metrics [HOST:]PORT`: GET /metrics from a small server in a thread, beside whatever the command runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from tenure.app import App
    from tenure.gateway.asgi import Gateway

__all__ = ["host_and_port", "in_pool", "metered", "metrics_option", "tell_pool"]

_HOST: Final = "127.0.0.1"
_POOL: Final = "TENURE_POOL_METRICS"
"""What a pool's workers are told: where the first of them serves its numbers."""


def host_and_port(text: str) -> tuple[str, int]:
    """Host and port; IPv6 addresses stand in brackets."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise click.BadParameter(f"{text!r} is no [HOST:]PORT; for example 9100, or 0.0.0.0:9100")
    return host.removeprefix("[").removesuffix("]") or _HOST, int(port)


metrics_option = click.option("--metrics", metavar="[HOST:]PORT", callback=lambda _ctx, _param, given: None if given is None else host_and_port(given), help="Serve GET /metrics for Prometheus there; 127.0.0.1 unless a host is given.")  # fmt: skip


@contextmanager
def metered(
    app: App, place: tuple[str, int] | None, gateway: Gateway | None = None, *, store: bool = True
) -> Iterator[None]:
    """Serve the app's numbers there meanwhile; bound before anything starts."""
    if place is None:
        yield
        return
    try:
        from tenure.metrics.exposition import MetricsServer
        from tenure.metrics.prometheus import collect, let_go
    except ImportError as cause:
        raise click.ClickException(f"--metrics: {cause}") from None
    from tenure.cli.serving import bind

    try:
        bound = bind(*place)
    except click.ClickException as error:
        raise click.ClickException(error.message.replace("--port", "--metrics")) from None
    server = MetricsServer(collect(app, gateway=gateway, store=store), bound.listening)
    server.start()
    click.echo(f"metrics  {server.url}", err=True)
    try:
        yield
    finally:
        server.close()
        let_go()


def tell_pool(place: tuple[str, int] | None) -> None:
    """Tell a pool's workers, which are started from here, where the first of them serves its numbers."""
    if place is not None:
        os.environ[_POOL] = f"[{place[0]}]:{place[1]}"


def in_pool(number: int) -> tuple[str, int] | None:
    """Where this one of a pool's workers serves its numbers: each on the port after the one before it."""
    if _POOL not in os.environ:
        return None
    host, port = host_and_port(os.environ[_POOL])
    return host, port + number if port else 0
