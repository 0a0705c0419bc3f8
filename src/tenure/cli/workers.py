"""`tenure workers`."""

from __future__ import annotations

import click

from tenure.cli.desk.opening import NotFound, json_option, store_options, the_queue
from tenure.cli.desk.screen import ago, echo_json, now, table
from tenure.cli.desk.workers import said_by, size

__all__ = ["command"]


@click.command("workers")
@json_option
@store_options
def command(as_json: bool, url: str | None, app: str | None) -> None:
    """List the workers that have been seen in the last half minute: how busy they are, and what they take.

    \b
    tenure workers
    tenure workers --json | jq -r .id

    BUSY is how many jobs it runs, of as many as it may; a dash is what a worker does not say of itself.

    A bare loop of claim and settle does not report itself. Ends with 3 if there is none.
    """
    with the_queue(url, app) as queue:
        seen, at = queue.workers(), now()
    if as_json:
        for one in seen:
            said = said_by(one)
            echo_json({
                "id": one.id, "started_at": one.started_at.isoformat(), "seen_at": one.seen_at.isoformat(),
                "queues": one.queues, "kinds": one.kinds, "running": said.running, "slots": said.slots,
                "memory": said.memory, "version": said.version, "about": said.told,
            })  # fmt: skip
    if not seen:
        raise NotFound("no worker has been seen in the last half minute")
    if not as_json:
        rows = []
        for one in seen:
            said = said_by(one)
            about = (said.busy, size(said.memory), said.version or "-")
            rows.append((one.id, ago(one.started_at, at), ago(one.seen_at, at), *about, _names(one.queues), _names(one.kinds)))  # fmt: skip
        table(("WORKER", "STARTED", "SEEN", "BUSY", "MEMORY", "VERSION", "QUEUES", "KINDS"), rows)


def _names(names: tuple[str, ...] | None) -> str:
    return "any" if names is None else ", ".join(names)
