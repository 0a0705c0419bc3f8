"""`tenure janitor module:app`."""

from __future__ import annotations

import json

import click

from tenure.logs import FORMAT, FORMATS, LEVEL, LEVELS, set_up

__all__ = ["command"]


@click.command("janitor")
@click.argument("app")
@click.option("--once", is_flag=True, help="Do every chore once, and leave.")
@click.option("--json", "as_json", is_flag=True, help="With --once: tell what was moved as JSON.")
@click.option("--log", "log_format", type=click.Choice(FORMATS), envvar=FORMAT, default="human", help="How log lines look.  [default: $TENURE_LOG or human]")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), envvar=LEVEL, default="info", help="The least that is logged.  [default: $TENURE_LOG_LEVEL or info]")  # fmt: skip
def command(app: str, once: bool, as_json: bool, log_format: str, log_level: str) -> None:
    """Do the chores of APP's store without running any job.

    \b
    tenure janitor shop.jobs:app          until Ctrl-C
    tenure janitor shop.jobs:app --once   once, for a cron job of your own

    Every worker does them too; nobody needs to be the leader.
    """
    from tenure.janitor.alone import run_alone
    from tenure.worker.address import load

    set_up(log_format, log_level)
    moved = run_alone(load(app), once=once)
    if once and as_json:
        click.echo(json.dumps(moved))
    elif once:
        for chore, count in moved.items():
            click.echo(f"{chore:<9} {count:>8,}" if count >= 0 else f"{chore:<9}   failed")
    if once and -1 in moved.values():
        raise click.ClickException("a chore failed; the log says why")
