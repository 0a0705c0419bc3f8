"""`tenure purge FILTER`."""

from __future__ import annotations

from dataclasses import replace

import click

from tenure.cli.desk.bulk import Batch, Bulk, bulk_options
from tenure.cli.desk.filtering import LANGUAGE, FilterCommand, filter_argument, some_of
from tenure.cli.desk.opening import json_option, store_options, the_queue
from tenure.job import FINISHED

__all__ = ["command"]


@click.command("purge", cls=FilterCommand, epilog=LANGUAGE)
@filter_argument
@bulk_options
@json_option
@store_options
def command(
    words: tuple[str, ...],
    after: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    url: str | None,
    app: str | None,
) -> None:
    """Delete finished jobs that match, with their attempts and requests, for good.

    \b
    tenure purge 'state:dead kind:import_* age:>30d'    shows how many and which, then asks
    tenure purge 'state:done age:>7d' --yes             for a script

    Ctrl-C stops, and says how to go on. Ends with 3 if nothing matches.
    """
    which = some_of(words)
    with the_queue(url, app) as queue:

        def act(before: str | None, limit: int) -> Batch:
            page = queue.list(which.only(FINISHED), limit=limit, before=before)
            these = replace(which, ids=[job.id for job in page])
            gone = queue.purge(these, limit=limit) if page else 0
            return Batch(gone, {}, page.before)

        bulk = Bulk(
            queue=queue,
            which=which,
            states=FINISHED,
            verb="purge",
            past="purged",
            newest_first=True,
            as_json=as_json,
            after=after,
        )
        bulk.run(act, yes=yes, dry_run=dry_run)
