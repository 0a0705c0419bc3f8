"""`tenure retry FILTER`, which is `tenure replay FILTER` too: the verb's own name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tenure.cli.desk.bulk import Batch, Bulk, bulk_options, rate_of
from tenure.cli.desk.filtering import LANGUAGE, FilterCommand, filter_argument, some_of
from tenure.cli.desk.opening import Misused, json_option, store_options, the_queue
from tenure.job import FINISHED

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["command"]


@click.command("retry", cls=FilterCommand, epilog=LANGUAGE)
@filter_argument
@click.option("--rate", metavar="N/s", help="No more than this many: 50/s, 600/m, 1000/h.")
@click.option("--at", metavar="TIME", help="Not before then: 2026-01-31T09:00:00Z.")
@click.option("--delay", metavar="DURATION", help="Not before so long from now: 90s, 1h30m.")
@bulk_options
@json_option
@store_options
def command(
    words: tuple[str, ...],
    rate: str | None,
    at: str | None,
    delay: str | None,
    after: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    url: str | None,
    app: str | None,
) -> None:
    """Start finished jobs that match anew: same ids, attempts from zero.

    \b
    tenure retry 'state:dead error:Timeout*'              shows how many and which, then asks
    tenure retry 'state:dead kind:send_*' --rate 50/s     no faster than what they call can bear
    tenure retry 0190a5d0-… --at 2026-01-31T09:00:00Z     one job, then

    Where the filter names no state and no id, only dead jobs are meant. A job whose unique key another one has by now stays as
    it is, and is counted. Ctrl-C stops, and says how to go on. Ends with 3 if nothing matches.
    """
    which, note, moment = some_of(words), "", _moment(at, delay)
    if which.states is None and which.ids is None:
        which, note = replace(which, states=("dead",)), " (no state was named: dead ones)"
    with the_queue(url, app) as queue:

        def act(behind: str | None, limit: int) -> Batch:
            done = queue.replay_many(which, limit=limit, after=behind, run_at=moment, delay=delay)
            return Batch(done.changed, {"conflicts": done.conflicts}, done.after)

        bulk = Bulk(
            queue=queue, which=which, states=FINISHED, verb="retry", past="retried", as_json=as_json, rate=rate_of(rate), note=note,
            after=after,
        )  # fmt: skip
        bulk.run(act, yes=yes, dry_run=dry_run)


def _moment(at: str | None, delay: str | None) -> datetime | None:
    """The time that is meant by --at; raises for what neither --at nor --delay can be."""
    from datetime import datetime

    from tenure.duration import parse
    from tenure.errors import FieldError

    if at is not None and delay is not None:
        raise Misused("--at and --delay both say when; give one of the two")
    try:
        if delay is not None:
            parse(delay, "--delay")
        moment = None if at is None else datetime.fromisoformat(at)
    except FieldError as error:
        raise Misused(str(error)) from None
    except ValueError:
        raise Misused(f"--at: expected a time as in 2026-01-31T09:00:00Z, got {at!r}") from None
    if moment is not None and moment.utcoffset() is None:
        raise Misused(f"--at: must say its zone, got {at!r}; end it with Z for UTC")
    return moment
