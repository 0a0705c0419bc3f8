"""`tenure list [FILTER]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tenure.cli.desk.filtering import LANGUAGE, FilterCommand, filter_of, optional_filter
from tenure.cli.desk.opening import NotFound, id_of, json_option, store_options, the_queue
from tenure.cli.desk.screen import echo_json, now

if TYPE_CHECKING:
    from tenure.job import JobSeen

__all__ = ["command"]

_PAGE = 500


@click.command("list", cls=FilterCommand, epilog=LANGUAGE)
@optional_filter
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The most jobs to list.")
@click.option("--before", metavar="ID", help="Go on below this job, as the last page told.")
@json_option
@store_options
def command(
    words: tuple[str, ...], limit: int, before: str | None, as_json: bool, url: str | None, app: str | None
) -> None:
    """List jobs that match, newest first.

    \b
    tenure list                                       the newest jobs
    tenure list 'state:dead kind:send_* age:<1d'      what died since yesterday
    tenure list state:running --json | jq .worker     a line of JSON for each job

    Ends with 3 if nothing matches. A filter that matches little in a long history takes its time; Ctrl-C ends it.
    """
    from tenure.cli.desk.jobs import echo_jobs, job_json

    which, at = filter_of(words), None if before is None else id_of(before)
    jobs: list[JobSeen] = []
    with the_queue(url, app) as queue:
        while len(jobs) < limit:
            page = queue.list(which, limit=min(limit - len(jobs), _PAGE), before=at)
            if as_json:
                for job in page:
                    echo_json(job_json(job))
            jobs, at = jobs + page, page.before
            if at is None:
                break
    if not jobs:
        raise NotFound("nothing matches")
    if not as_json:
        echo_jobs(jobs, now())
        if at is not None:
            click.echo(f"there may be more: --before {at}", err=True)
