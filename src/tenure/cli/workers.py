"""`tenure workers`."""

from __future__ import annotations

import click

from tenure.cli.desk.opening import NotFound, json_option, store_options, the_queue
from tenure.cli.desk.screen import ago, echo_json, now, table

__all__ = ["command"]


@click.command("workers")
@json_option
@store_options
def command(as_json: bool, url: str | None, app: str | None) -> None:
    """List the workers that have been seen in the last half minute, and what they take.

    \b
    tenure workers
    tenure workers --json | jq -r .id

    A bare loop of claim and settle does not report itself. Ends with 3 if there is none.
    """
    with the_queue(url, app) as queue:
        seen, at = queue.workers(), now()
    if as_json:
        for one in seen:
            echo_json({
                "id": one.id, "started_at": one.started_at.isoformat(), "seen_at": one.seen_at.isoformat(),
                "queues": one.queues, "kinds": one.kinds, "about": one.about,
            })  # fmt: skip
    if not seen:
        raise NotFound("no worker has been seen in the last half minute")
    if not as_json:
        rows = [(w.id, ago(w.started_at, at), ago(w.seen_at, at), _names(w.queues), _names(w.kinds)) for w in seen]  # fmt: skip
        table(("WORKER", "STARTED", "SEEN", "QUEUES", "KINDS"), rows)


def _names(names: tuple[str, ...] | None) -> str:
    return "any" if names is None else ", ".join(names)
