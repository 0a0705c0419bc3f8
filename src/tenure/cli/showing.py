"""Serving the dashboard from a command: alone, or beside a worker in a thread of its own, with a queue of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    import uvicorn

    from tenure.dashboard import Dashboard
    from tenure.gateway.asgi import Gateway

__all__ = ["PORT", "dashboard_config", "dashboard_option", "send_at_once", "shown"]

PORT: Final = 8788
_HOST: Final = "127.0.0.1"
_GRACE: Final = 2

dashboard_option = click.option("--dashboard", type=click.IntRange(-1, 65_535), metavar="PORT", help=f"The port of the dashboard, on this machine alone; 0 for any that is free, -1 for none.  [default: {PORT}]")  # fmt: skip


def dashboard_config(dashboard: Dashboard, *, grace: float) -> uvicorn.Config:
    """The server's settings."""
    import logging

    import uvicorn

    if not logging.getLogger().isEnabledFor(logging.DEBUG):  # that it starts and stops is said in our words
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return uvicorn.Config(
        dashboard, http="httptools", loop="asyncio", ws="none", lifespan="on", log_config=None, access_log=False,
        server_header=False, limit_concurrency=500, timeout_keep_alive=20,
        timeout_graceful_shutdown=max(1, int(grace * 0.8)),
    )  # fmt: skip


@contextmanager
def shown(
    url: str, port: int | None, gateway: Gateway | None = None, *, quiet: bool = False
) -> Iterator[str | None]:
    """Serve the dashboard meanwhile; where. If nobody asked for it by its port, that it cannot be is said, and no more."""
    if port == -1:
        yield None
        return
    serving: Any = None
    page: str | None = None
    try:
        serving, page = _start(url, PORT if port is None else port, gateway, quiet=quiet)
    except click.ClickException as error:
        if port is not None:
            raise
        click.echo(f"dashboard none: {error.message}", err=True)
    try:
        yield page
    finally:
        if serving is not None:
            serving.stop()
            serving.join(_GRACE)


def _start(url: str, port: int, gateway: Gateway | None, *, quiet: bool) -> tuple[Any, str]:
    try:
        from tenure.dashboard import asgi
    except ImportError as cause:
        raise click.ClickException(f"it needs starlette ({cause}); pip install 'tenure[dashboard]'") from None
    from tenure.app import App
    from tenure.cli.serving import Serving, bind

    try:
        bound = bind(_HOST, port)
    except click.ClickException as error:
        raise click.ClickException(error.message.replace("--port", "--dashboard")) from None
    send_at_once(bound.listening)
    # A store of its own: pages are neither held up by the worker's calls nor closed with them.
    config = dashboard_config(asgi(App(url), gateway=gateway, close=True), grace=_GRACE)

    def ready() -> None:
        if not quiet:
            click.echo(f"dashboard {bound.url}/", err=True)

    serving = Serving(config, bound, ready=ready, ended=lambda: None)
    serving.start()
    return serving, f"{bound.url}/"


def send_at_once(listening: socket.socket) -> None:
    """Small answers must not wait for word of the ones before; connections have this from the socket they came to."""
    if listening.family in (socket.AF_INET, socket.AF_INET6):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
