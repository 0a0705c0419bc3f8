"""`tenure gateway [APP]`."""

from __future__ import annotations

import json

import click

from tenure.cli.gateway.options import Refused, config_option, make_gateway, serving_options
from tenure.cli.metering import metered, metrics_option
from tenure.logs import FORMAT, FORMATS, LEVEL, LEVELS, set_up

__all__ = ["command"]


@click.command("serve")
@click.argument("app", required=False)
@config_option
@serving_options
@click.option("--no-store", is_flag=True, help="Work without a store, if no source is async.")
@click.option("--json", "as_json", is_flag=True, help="Tell where it listens, and its sources, as one line of JSON.")  # fmt: skip
@metrics_option
@click.option("--log", "log_format", type=click.Choice(FORMATS), envvar=FORMAT, default="human", help="How log lines look.  [default: $TENURE_LOG or human]")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), envvar=LEVEL, default="info", help="The least that is logged.  [default: $TENURE_LOG_LEVEL or info]")  # fmt: skip
def command(
    app: str | None,
    config: str,
    host: str,
    port: int,
    certfile: str | None,
    keyfile: str | None,
    grace: str,
    no_store: bool,
    as_json: bool,
    metrics: tuple[str, int] | None,
    log_format: str,
    log_level: str,
) -> None:
    """Take webhooks: answer each once it is stored as a job, which a worker handles.

    \b
    tenure gateway bot:app                      serve the sources of gateway.toml, for the app in bot.py
    tenure gateway -f hooks.toml --port 8080    other settings; no APP where no handler is python:…
    tenure gateway check bot:app                tell what is served and all that is wrong, and leave
    tenure gateway telegram --help              tell Telegram where a bot's updates go
    tenure up bot:app                           the gateway and a worker in one process

    It listens on this machine alone unless --host says otherwise; put a proxy with a certificate before it, or give it
    one. The first Ctrl-C or SIGTERM answers what is under way, the second waits for nobody.
    """
    from tenure.cli.gateway.sources import table, told
    from tenure.cli.serving import bind, serve, server_config
    from tenure.worker.settings import positive_span

    set_up(log_format, log_level)
    seconds = positive_span(grace, "grace").total_seconds()
    gateway = make_gateway(app, config, store=not no_store)
    made = server_config(gateway, grace=seconds, certfile=certfile, keyfile=keyfile)
    bound = bind(host, port, tls=certfile is not None)
    settings = gateway.registry.settings

    def ready() -> None:
        if as_json:
            click.echo(json.dumps({"url": bound.url, "sources": told(settings)}))
            return
        click.echo(f"the gateway listens on {bound.url}")
        for line in table(settings):
            click.echo(f"  {line}")

    with metered(gateway.app, metrics, gateway, store=not no_store):
        try:
            serve(made, bound, grace=seconds, ready=ready)
        except click.ClickException:
            if gateway.refused is None:
                raise
            raise Refused([gateway.refused]) from None
