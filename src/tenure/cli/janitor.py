"""`tenure janitor module:app`, or `tenure janitor --url URL` where there is no app."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.cli.desk.opening import Misused, must_be_there, place_of, url_option
from tenure.cli.desk.screen import echo_json
from tenure.cli.metering import metered, metrics_option
from tenure.logs import FORMAT, FORMATS, LEVEL, LEVELS, set_up

if TYPE_CHECKING:
    from tenure.app import App

__all__ = ["command"]


@click.command("janitor")
@click.argument("app", required=False)
@url_option
@click.option("--once", is_flag=True, help="Do every chore once, and leave.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Tell what was moved as a line of JSON; without --once, first what runs where.",
)
@metrics_option
@click.option("--log", "log_format", type=click.Choice(FORMATS), envvar=FORMAT, default="human", help="How log lines look.  [default: $TENURE_LOG or human]")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), envvar=LEVEL, default="info", help="The least that is logged.  [default: $TENURE_LOG_LEVEL or info]")  # fmt: skip
def command(
    app: str | None,
    url: str | None,
    once: bool,
    as_json: bool,
    metrics: tuple[str, int] | None,
    log_format: str,
    log_level: str,
) -> None:
    """Do the chores of a store without running any job: APP's, or the one that a URL names.

    \b
    tenure janitor shop.jobs:app             until Ctrl-C
    tenure janitor shop.jobs:app --once      once, for a cron job of your own
    tenure janitor --url sqlite:///jobs.db   of a queue that has no app

    Every worker does them too; nobody needs to be the leader.
    """
    from tenure.config import without_password
    from tenure.janitor.alone import run_alone

    set_up(log_format, log_level)
    if once and metrics is not None:
        raise Misused("--metrics serves numbers for as long as the janitor runs, and --once leaves; give one of the two")  # fmt: skip
    tended = _tended(app, url)

    def ready(chores: Sequence[str]) -> None:
        if as_json:
            echo_json({"store": without_password(tended.url), "chores": chores})
            sys.stdout.flush()

    with metered(tended, metrics):
        moved = run_alone(tended, once=once, fires_all=app is None, ready=ready)
    if as_json:
        echo_json(moved)
    elif once:
        for chore, count in moved.items():
            click.echo(f"{chore:<9} {count:>8,}" if count >= 0 else f"{chore:<9}   failed")
    if once and -1 in moved.values():
        raise click.ClickException("a chore failed; the log says why")


def _tended(app: str | None, url: str | None) -> App:
    """The app, or one that knows nothing but its store."""
    import tenure
    from tenure.worker.address import load

    if app is None:
        chosen = place_of(url, None)
        must_be_there(chosen, "say where the jobs are with APP, --url or $TENURE_URL")
        return tenure.App(chosen)
    if url is not None:
        raise Misused("APP and --url both say where the jobs are; give one of the two")
    found: App = load(app)
    return found
