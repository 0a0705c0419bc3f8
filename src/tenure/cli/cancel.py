"""`tenure cancel FILTER`."""

from __future__ import annotations

import click

from tenure.cli.desk.bulk import Batch, Bulk, bulk_options
from tenure.cli.desk.filtering import LANGUAGE, FilterCommand, filter_argument, some_of
from tenure.cli.desk.opening import json_option, store_options, the_queue
from tenure.job import PENDING, State

__all__ = ["command"]


@click.command("cancel", cls=FilterCommand, epilog=LANGUAGE)
@filter_argument
@click.option("--reason", default="cancelled", show_default=True, help="Kept with the jobs.")
@bulk_options
@json_option
@store_options
def command(
    words: tuple[str, ...],
    reason: str,
    after: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    url: str | None,
    app: str | None,
) -> None:
    """Cancel jobs that match and have not finished: pending ones at once, running ones are asked.

    \b
    tenure cancel 'state:pending kind:send_* tag:campaign-7'    shows how many and which, then asks
    tenure cancel 0190a5d0-… --reason 'the order was withdrawn'

    Ctrl-C stops, and says how to go on. Ends with 3 if nothing matches.
    """
    which = some_of(words)
    with the_queue(url, app) as queue:

        def act(behind: str | None, limit: int) -> Batch:
            done = queue.cancel_many(which, reason, limit=limit, after=behind)
            return Batch(done.cancelled, {"asked": done.asked}, done.after)

        states = (*PENDING, State.RUNNING)
        bulk = Bulk(
            queue=queue,
            which=which,
            states=states,
            verb="cancel",
            past="cancelled",
            as_json=as_json,
            after=after,
        )
        bulk.run(act, yes=yes, dry_run=dry_run)
