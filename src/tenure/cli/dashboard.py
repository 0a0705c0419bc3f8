"""`tenure dashboard [APP]`, and `tenure dashboard hash`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from tenure.cli.access import access_options, settings_of
from tenure.cli.metering import metered, metrics_option
from tenure.cli.showing import PORT
from tenure.logs import FORMAT, FORMATS, LEVEL, LEVELS, set_up

__all__ = ["command"]


class _Dashboard(click.Group):
    """Serves, unless the first word is `hash`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`tenure dashboard shop.jobs:app` serves: an app has a colon, no command has."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["serve", *args])


@click.group("dashboard", cls=_Dashboard)
def command() -> None:
    """Serve the dashboard; `tenure dashboard --help` tells how."""


@command.command("serve")
@click.argument("app", required=False)
@click.option("--url", metavar="URL", help="Where the jobs are, those of an app too.  [default: the app's own place, else $TENURE_URL, …]")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; another one needs a token or a password.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="The port to listen on; 0 for any that is free.")  # fmt: skip
@access_options
@click.option("--grace", default="5s", show_default=True, help="How long stopping may take.")
@click.option("--json", "as_json", is_flag=True, help="Tell where it listens as one line of JSON.")
@metrics_option
@click.option("--log", "log_format", type=click.Choice(FORMATS), envvar=FORMAT, default="human", help="How log lines look.  [default: $TENURE_LOG or human]")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), envvar=LEVEL, default="info", help="The least that is logged.  [default: $TENURE_LOG_LEVEL or info]")  # fmt: skip
def serve_(
    app: str | None,
    url: str | None,
    host: str,
    port: int,
    grace: str,
    as_json: bool,
    metrics: tuple[str, int] | None,
    log_format: str,
    log_level: str,
    **access: Any,
) -> None:
    """Serve a page on which the jobs are seen and seen to.

    \b
    tenure dashboard                                for the store in $TENURE_URL, on this machine alone
    tenure dashboard shop.jobs:app --port 9000      for the app's own, whose kinds it then knows
    tenure dashboard --host 0.0.0.0 --allow-host desk.example --password-hash file:desk.hash
    tenure dashboard hash > desk.hash               asks for a password

    Anywhere but on this machine one must log in: with a password or a token, as an operator or as a viewer. It speaks
    plain http; put a proxy with a certificate before it.
    """
    from tenure.cli.desk.opening import must_be_there, place_of
    from tenure.cli.serving import bind, serve
    from tenure.cli.showing import dashboard_config, desk_of, send_at_once
    from tenure.config import locate
    from tenure.worker.address import load
    from tenure.worker.settings import positive_span

    set_up(log_format, log_level)
    seconds = positive_span(grace, "grace").total_seconds()
    named = None if app is None else load(app)
    place = place_of(url, None) if url is not None or named is None else str(named.url)
    locate(place)  # what is no URL is told before anything starts; a store that is away may come back
    try:
        from tenure.dashboard import asgi
    except ImportError as cause:
        raise click.ClickException(f"the dashboard needs starlette and uvicorn ({cause}); pip install 'tenure[dashboard]'") from None  # fmt: skip

    settings = settings_of(**access)
    settings.check_address(host)
    must_be_there(
        place, "say where the jobs are with --url, an app or $TENURE_URL; `tenure migrate` makes the file"
    )
    bound = bind(host, port)
    send_at_once(bound.listening)
    desk = desk_of(place, named)
    config = dashboard_config(asgi(desk, settings, close=True), grace=seconds)

    def ready() -> None:
        told = {"url": f"{bound.url}/", "login": settings.guarded}
        click.echo(json.dumps(told) if as_json else f"the dashboard is on {bound.url}/")

    with metered(desk, metrics):
        serve(config, bound, grace=seconds, ready=ready, what="dashboard")


@command.command("hash")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the password from the first line of the input.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Tell it as JSON.")
def hash_(from_stdin: bool, as_json: bool) -> None:
    """Ask for a password, and tell its hash, for --password-hash.

    \b
    tenure dashboard hash > desk.hash
    tenure dashboard hash --stdin < password.txt
    """
    from tenure.dashboard.passwords import hash_password

    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    made = hash_password(password)
    click.echo(json.dumps({"hash": made}) if as_json else made)
