"""Serving the dashboard from a command: alone, or beside a worker in a thread of its own, with a queue of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from tenure.cli.metering import host_and_port

if TYPE_CHECKING:
    import uvicorn

    from tenure.app import App
    from tenure.dashboard import Dashboard
    from tenure.gateway.asgi import Gateway

__all__ = ["PORT", "dashboard_config", "dashboard_option", "desk_of", "send_at_once", "shown"]

PORT: Final = 8788
_HOST: Final = "127.0.0.1"
_GRACE: Final = 2

NOWHERE: Final = (_HOST, -1)


def _place(_ctx: click.Context, _param: click.Parameter, given: str | None) -> tuple[str, int] | None:
    return None if given is None else NOWHERE if given == "-1" else host_and_port(given)


dashboard_option = click.option("--dashboard", metavar="[HOST:]PORT", callback=_place, help=f"Where the dashboard is served: 0 for any port that is free, -1 for no dashboard; on {_HOST} unless a host is given, which needs a token or a password.  [default: {PORT}]")  # fmt: skip


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


def desk_of(url: str, app: App | None) -> App:
    """An app for the dashboard, whose jobs are there, with the kinds of the one it is about.

    A store of its own: pages are neither held up by the worker's calls nor closed with them.
    """
    from tenure.app import App

    desk = App(url)
    if app is not None:
        desk.kinds = app.kinds
    return desk


@contextmanager
def shown(
    app: App,
    place: tuple[str, int] | None,
    gateway: Gateway | None = None,
    access: Mapping[str, Any] | None = None,
    *,
    quiet: bool = False,
) -> Iterator[str | None]:
    """Serve the dashboard of this app meanwhile; where. If nobody asked for it by its place, or by saying who may look, that it cannot be is said, and no more."""
    asked = place is not None or any((access or {}).values())
    if place == NOWHERE:
        if any((access or {}).values()):
            raise click.UsageError("--dashboard -1 serves none, so nobody needs to be let in; leave out who may look, or -1")  # fmt: skip
        yield None
        return
    serving: Any = None
    page: str | None = None
    try:
        serving, page = _start(app, place or (_HOST, PORT), gateway, access, quiet=quiet)
    except click.ClickException as error:
        if asked:
            raise
        click.echo(f"dashboard none: {error.message}", err=True)
    try:
        yield page
    finally:
        if serving is not None:
            serving.stop()
            serving.join(_GRACE)


def _start(
    app: App,
    place: tuple[str, int],
    gateway: Gateway | None,
    access: Mapping[str, Any] | None,
    *,
    quiet: bool,
) -> tuple[Any, str]:
    try:
        from tenure.dashboard import asgi
    except ImportError as cause:
        raise click.ClickException(f"it needs starlette ({cause}); pip install 'tenure[dashboard]'") from None
    from tenure.cli.access import settings_of
    from tenure.cli.serving import Serving, bind

    settings = None if access is None else settings_of(**access)
    if settings is not None:
        settings.check_address(place[0])
    try:
        bound = bind(*place)
    except click.ClickException as error:
        raise click.ClickException(error.message.replace("--port", "--dashboard")) from None
    send_at_once(bound.listening)
    config = dashboard_config(
        asgi(desk_of(app.url, app), settings, gateway=gateway, close=True), grace=_GRACE
    )

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
