"""`tenure resume QUEUE…`."""

from __future__ import annotations

import click

from tenure.cli.desk.keeping import keep
from tenure.cli.desk.knowing import complete_queues
from tenure.cli.desk.opening import NotFound, json_option, store_options, the_queue
from tenure.cli.desk.screen import echo_json, plain

__all__ = ["command"]


@click.command("resume")
@click.argument("queues", metavar="QUEUE", nargs=-1, required=True, shell_complete=complete_queues)
@json_option
@store_options
def command(queues: tuple[str, ...], as_json: bool, url: str | None, app: str | None) -> None:
    """Claim from a paused queue again, or from several.

    \b
    tenure resume mail

    Ends with 3 if none of them was paused.
    """
    with the_queue(url, app) as queue:
        was = {name: queue.resume(name) for name in queues}
        for name in (name for name, paused in was.items() if paused):
            keep(queue, "resume", name, "resumed")
    if as_json:
        echo_json(was)
    else:
        for name, paused in was.items():
            click.echo(f"{plain(name)} {'goes on' if paused else 'was not paused'}")
    if not any(was.values()):
        raise SystemExit(NotFound.exit_code)
