"""`tenure pause QUEUE…`."""

from __future__ import annotations

import click

from tenure.cli.desk.keeping import keep
from tenure.cli.desk.knowing import complete_queues
from tenure.cli.desk.opening import json_option, store_options, the_queue
from tenure.cli.desk.screen import echo_json, plain

__all__ = ["command"]

_LOOK = 10_000


@click.command("pause")
@click.argument("queues", metavar="QUEUE", nargs=-1, required=True, shell_complete=complete_queues)
@json_option
@store_options
def command(queues: tuple[str, ...], as_json: bool, url: str | None, app: str | None) -> None:
    """Claim nothing more from a queue, or several; what runs goes on.

    \b
    tenure pause mail           until `tenure resume mail`

    Jobs can still be enqueued there. A queue of which no job is known is paused too, and it is said.
    """
    with the_queue(url, app) as queue:
        known = queue.counts(cap=_LOOK)
        for name in queues:
            queue.pause(name)
            keep(queue, "pause", name, "paused")
        paused = queue.paused()
    if as_json:
        echo_json({name: since.isoformat() for name, since in paused.items()})
        return
    for name in queues:
        waiting = sum(n for state, n in known.get(name, {}).items() if state in ("ready", "scheduled", "waiting"))  # fmt: skip
        told = f"{waiting:,} jobs wait there" if name in known else "no job of it is known; is that its name?"
        click.echo(f"{plain(name)} is paused; {told}")
