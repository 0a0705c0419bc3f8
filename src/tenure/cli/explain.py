"""`tenure explain ID`."""

from __future__ import annotations

import click

from tenure.cli.desk.opening import NotFound, id_of, json_option, store_options, the_queue
from tenure.cli.desk.screen import echo_json, plain

__all__ = ["command"]


@click.command("explain")
@click.argument("id")
@json_option
@store_options
def command(id: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Tell why a job is not running: it is not due, its queue is paused, no worker takes its kind, …

    \b
    tenure explain 0190a5d0-…

    Ends with 3 if there is no such job.
    """
    id = id_of(id)  # noqa: A001 - the argument, checked
    with the_queue(url, app) as queue:
        told = queue.explain(id)
    if told.job is None:
        raise NotFound(str(told))
    if as_json:
        from tenure.cli.desk.jobs import job_json

        echo_json({"code": told.code, "reasons": list(told.reasons), "job": job_json(told.job)})
    else:
        for reason in told.reasons:
            click.echo(plain(reason))
