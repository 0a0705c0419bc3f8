"""`tenure dashboard [APP]`, and `tenure dashboard hash`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

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
@click.option("--token", metavar="env:NAME|file:PATH", help="Where the token of operators is, who may act.")
@click.option("--viewer-token", metavar="env:NAME|file:PATH", help="Where the token of viewers is, who may look.")  # fmt: skip
@click.option("--password-hash", metavar="HASH|env:NAME|file:PATH", help="The operators' password, as `tenure dashboard hash` makes it.")  # fmt: skip
@click.option("--viewer-password-hash", metavar="HASH|env:NAME|file:PATH", help="The viewers' password.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name that it answers to, beside those of this machine. May be given several times.")  # fmt: skip
@click.option("--mask", multiple=True, metavar="WORD", help="Hide fields with this in their names from viewers, in place of the words that are known. May be given several times.")  # fmt: skip
@click.option("--mask-operators", is_flag=True, help="Hide them from operators, too.")
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
    from tenure.cli.showing import dashboard_config, send_at_once
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
    from tenure.app import App

    settings = _settings(**access)
    settings.check_address(host)
    must_be_there(
        place, "say where the jobs are with --url, an app or $TENURE_URL; `tenure migrate` makes the file"
    )
    bound = bind(host, port)
    send_at_once(bound.listening)
    desk = App(place)
    if named is not None:
        desk.kinds = named.kinds
    config = dashboard_config(asgi(desk, settings, close=True), grace=seconds)

    def ready() -> None:
        told = {"url": f"{bound.url}/", "login": settings.guarded}
        click.echo(json.dumps(told) if as_json else f"the dashboard is on {bound.url}/")

    with metered(desk, metrics):
        serve(config, bound, grace=seconds, ready=ready, what="dashboard")


def _settings(
    token: str | None,
    viewer_token: str | None,
    password_hash: str | None,
    viewer_password_hash: str | None,
    hosts: tuple[str, ...],
    mask: tuple[str, ...],
    mask_operators: bool,
) -> Any:
    from tenure.dashboard.settings import MASKED, DashboardSettings

    return DashboardSettings(
        operator_token=_secret("--token", token),
        viewer_token=_secret("--viewer-token", viewer_token),
        operator_password=_secret("--password-hash", password_hash, bare="scrypt$"),
        viewer_password=_secret("--viewer-password-hash", viewer_password_hash, bare="scrypt$"),
        hosts=hosts,
        mask=mask or MASKED,
        mask_operators=mask_operators,
    )


def _secret(option: str, reference: str | None, bare: str | None = None) -> str | None:
    """What a reference points to; a hash may be given as it is, a token may not: others see the command line."""
    from tenure.gateway.secrets import resolve

    if reference is None or (bare is not None and reference.startswith(bare)):
        return reference
    found, why = resolve(reference, inline=False)
    if found is None:
        raise click.UsageError(f"{option}: {why}")
    return found


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
