"""`tenure up [APP]`."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.access import access_options
from tenure.cli.gateway.options import CONFIG, make_gateway, serving_options
from tenure.cli.metering import metered, metrics_option
from tenure.cli.showing import NOWHERE, dashboard_option, shown
from tenure.logs import FORMAT, FORMATS, LEVEL, LEVELS, set_up

if TYPE_CHECKING:
    from tenure.app import App
    from tenure.cli.serving import Bound
    from tenure.gateway.asgi import Gateway
    from tenure.worker.settings import WorkerSettings

__all__ = ["command", "run_with_gateway"]

_LEAST = 0.5
"""How long closing may take, whatever is left of the grace period, in seconds."""


@click.command("up")
@click.argument("app", required=False)
@click.option("-f", "--config", help=f"The gateway's settings.  [default: {CONFIG}, where there is one]")
@serving_options
@click.option("-q", "--queue", "queues", multiple=True, metavar="NAME[:N]", help="A queue, and how many of its jobs at a time; '*' is every queue not named. May be given several times.")  # fmt: skip
@click.option("-c", "--concurrency", type=int, help="How many jobs at a time, for queues without a number of their own.  [default: 50]")  # fmt: skip
@click.option("--lease", help="How long a claim lasts unless it is renewed.  [default: $TENURE_LEASE or 30s]")
@dashboard_option
@access_options
@click.option("--json", "as_json", is_flag=True, help="Tell what runs where as one line of JSON.")
@metrics_option
@click.option("--log", "log_format", type=click.Choice(FORMATS), envvar=FORMAT, default="human", help="How log lines look.  [default: $TENURE_LOG or human]")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), envvar=LEVEL, default="info", help="The least that is logged.  [default: $TENURE_LOG_LEVEL or info]")  # fmt: skip
def command(
    app: str | None,
    config: str | None,
    host: str,
    port: int,
    certfile: str | None,
    keyfile: str | None,
    queues: tuple[str, ...],
    concurrency: int | None,
    lease: str | None,
    grace: str,
    dashboard: tuple[str, int] | None,
    as_json: bool,
    metrics: tuple[str, int] | None,
    log_format: str,
    log_level: str,
    **access: Any,
) -> None:
    """Run everything in one process: a worker, its janitor, the dashboard and, where there are settings for one, the gateway.

    \b
    tenure up bot:app                       the jobs of the app in bot.py, and the sources of gateway.toml
    tenure up bot:app -f hooks.toml -c 10   other settings, ten jobs at a time
    tenure up                               gateway.toml alone, where no handler is python:…; without one, dashboard and janitor
    tenure up bot:app --dashboard 0.0.0.0:8788 --allow-host desk.example --password-hash file:desk.hash

    The jobs are where the app says; where it says nothing, in $TENURE_URL, else in the file tenure.db. The first Ctrl-C
    or SIGTERM answers the requests under way, then finishes the jobs that run; the second waits for nobody.
    """
    from tenure.worker.start import worker_settings

    set_up(log_format, log_level)
    settings = worker_settings(queues=list(queues) or None, concurrency=concurrency, lease=lease, grace=grace)
    if config is None and Path(CONFIG).is_file():
        config = CONFIG
    if config is not None:
        from tenure.cli.serving import bind
        from tenure.gateway.registry import has_store

        gateway = make_gateway(app, config)
        # Before anything opens the store: where somebody else listens already, nothing is made.
        bound = bind(host, port, tls=certfile is not None)
        if not has_store(gateway.app):
            _without_store(
                gateway,
                bound,
                settings,
                metrics,
                dashboard,
                access,
                as_json=as_json,
                certfile=certfile,
                keyfile=keyfile,
            )
            return
        with shown(gateway.app, dashboard, gateway, access) as page, metered(gateway.app, metrics, gateway):

            def tell() -> None:
                _tell(gateway.app, settings, page, (gateway, bound), as_json=as_json)

            run_with_gateway(
                gateway, settings, app, config, tell=tell, bound=bound, certfile=certfile, keyfile=keyfile
            )
    elif app is not None:
        _alone(app, settings, metrics, dashboard, access, as_json=as_json)
    elif queues or concurrency is not None or lease is not None:
        raise click.UsageError("-q, -c and --lease are for a worker, and there is no app whose jobs it could run: tenure up module:app")  # fmt: skip
    else:
        _empty(settings, metrics, dashboard, access, as_json=as_json)


def _without_store(
    gateway: Gateway,
    bound: Bound,
    settings: WorkerSettings,
    metrics: tuple[str, int] | None,
    dashboard: tuple[str, int] | None,
    access: dict[str, Any],
    *,
    as_json: bool,
    certfile: str | None,
    keyfile: str | None,
) -> None:
    """Sync sources alone, as the registry has made sure of: there are no jobs to work on, and nothing to show."""
    from tenure.cli.serving import serve, server_config

    if dashboard not in (None, NOWHERE) or any(access.values()):
        raise click.UsageError("the queue is switched off (TENURE_URL is none), so there is nothing that a dashboard could show; leave it out, or give TENURE_URL a store")  # fmt: skip
    grace = settings.grace.total_seconds()
    with metered(gateway.app, metrics, gateway, store=False):
        serve(
            server_config(gateway, grace=grace, certfile=certfile, keyfile=keyfile), bound, grace=grace,
            ready=lambda: _tell(gateway.app, settings, None, (gateway, bound), as_json=as_json, store=False),
        )  # fmt: skip


def _alone(
    address: str,
    settings: WorkerSettings,
    metrics: tuple[str, int] | None,
    dashboard: tuple[str, int] | None,
    access: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """A worker, as `tenure worker` runs it."""
    from tenure.cli import main
    from tenure.logs import log_alike
    from tenure.worker.address import load
    from tenure.worker.start import make_worker, run_here

    main.leave_soon()
    app = load(address)
    with shown(app, dashboard, None, access) as page, metered(app, metrics):
        worker = make_worker(app, settings)
        _tell(app, settings, page, None, as_json=as_json)
        with log_alike():
            run_here(worker, settings)


def _empty(
    settings: WorkerSettings,
    metrics: tuple[str, int] | None,
    dashboard: tuple[str, int] | None,
    access: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Where there is nothing to run yet: the store is kept in order and shown, and it is said how to come by a worker."""
    from tenure.app import App
    from tenure.config import choose_url
    from tenure.janitor.alone import run_alone

    app = App(choose_url(None))
    with shown(app, dashboard, None, access) as page, metered(app, metrics):

        def ready(_: object) -> None:
            _tell(app, settings, page, None, as_json=as_json, named=False)

        run_alone(app, once=False, fires_all=True, ready=ready)


def run_with_gateway(
    gateway: Gateway,
    settings: WorkerSettings,
    address: str | None,
    config: str,
    *,
    tell: Callable[[], None],
    bound: Bound,
    certfile: str | None = None,
    keyfile: str | None = None,
    stopping: Callable[[], None] = lambda: None,
) -> None:
    """Both, until a signal: opened before anything runs, so that either all of it starts or nothing does.

    `tell` is called once requests are answered, `stopping` when it is told to stop, from a signal handler. Where there are no
    jobs, as with sync sources alone, nobody need work on them.
    """
    import asyncio

    from tenure.cli import attached
    from tenure.cli.serving import Serving, ended_well, leave_within, serve, server_config
    from tenure.logs import log_alike
    from tenure.worker.start import make_worker, run_here

    app, grace = gateway.app, settings.grace.total_seconds()
    if not app.kinds:
        alone = server_config(gateway, grace=grace, certfile=certfile, keyfile=keyfile)
        serve(alone, bound, grace=grace, ready=tell)
        return
    attached.tell(address, config)
    worker = make_worker(app, settings, address=attached.ADDRESS)
    # No lifespan: at its end the gateway would close the app, which the worker uses for longer.
    made = server_config(gateway, grace=grace / 2, certfile=certfile, keyfile=keyfile, lifespan="off")
    serving = Serving(
        made, bound, ready=tell, stopping=stopping,
        ended=lambda: None if serving.told else os.kill(os.getpid(), signal.SIGTERM),
    )  # fmt: skip
    try:
        asyncio.run(app.aqueue())
        with log_alike():
            run_here(worker, settings, serving)
    finally:
        leave_within(max(serving.left(grace), _LEAST))
        serving.stop()
        serving.join(grace)
        bound.listening.close()
        asyncio.run(gateway.close())
    ended_well(serving)


def _tell(
    app: App,
    settings: WorkerSettings,
    page: str | None,
    front: tuple[Gateway, Bound] | None,
    *,
    as_json: bool,
    named: bool = True,
    store: bool = True,
) -> None:
    """What runs where; `named`: whether there is anything that could have jobs, `store`: whether there is a place for them."""
    from tenure.cli.gateway.sources import table, told
    from tenure.config import without_password

    kinds, lines = sorted(app.kinds) if store else [], [line.name for line in settings.lines]
    place = without_password(app.url) if store else None
    if as_json:
        sources = {} if front is None else {"url": front[1].url, "sources": told(front[0].registry.settings)}
        worker = {"lines": lines, "kinds": kinds} if kinds else None
        about = {"store": place, "worker": worker, "gateway": sources or None, "dashboard": page}
        click.echo(json.dumps(about))
        return
    click.echo(f"store    {place or 'none: TENURE_URL is none'}")
    at_work = f"{' '.join(lines)} jobs at a time, janitor included: {', '.join(kinds)}"
    none = "none: there are no jobs" if named else f"none, and jobs wait: no app was named (tenure up module:app), and there is no {CONFIG}"  # fmt: skip
    click.echo(f"worker   {at_work if kinds else none}")
    if not named:
        click.echo("janitor  sees to what is due, overdue and expired")
    if front is not None:
        click.echo(f"gateway  {front[1].url}")
        for line in table(front[0].registry.settings):
            click.echo(f"         {line}")
    click.echo("Ctrl-C stops it all")
