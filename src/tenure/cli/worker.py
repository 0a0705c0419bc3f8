"""`tenure worker module:app`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.metering import in_pool, metered, metrics_option, tell_pool
from tenure.logs import FORMAT, FORMATS, LEVEL, LEVELS, set_up, set_up_as_told

if TYPE_CHECKING:
    from tenure.app import App
    from tenure.worker.settings import LineTerms

__all__ = ["command"]


@click.command("worker")
@click.argument("app")
@click.option("-q", "--queue", "queues", multiple=True, metavar="NAME[:N]", help="A queue, and how many of its jobs at a time; '*' is every queue not named. May be given several times.")  # fmt: skip
@click.option("-c", "--concurrency", type=int, help="How many jobs at a time, for queues without a number of their own.  [default: 50]")  # fmt: skip
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True, help="How many processes; a parent restarts those that die.")  # fmt: skip
@click.option("--lease", help="How long a claim lasts unless it is renewed.  [default: $TENURE_LEASE or 30s]")
@click.option("--poll", default="5s", show_default=True, help="The longest rest when nothing is ready.")
@click.option("--grace", default="25s", show_default=True, help="How long stopping may take, all in all.")
@click.option("--prefetch", type=click.IntRange(0), default=3_000, show_default=True, help="The most jobs held beyond those that run.")  # fmt: skip
@click.option("--settle-delay", default="10ms", show_default=True, help="How long finished jobs wait to be settled together.")  # fmt: skip
@click.option("--children", type=click.IntRange(0), default=0, help="How many child processes isolate=True jobs may use.  [default: one per core]")  # fmt: skip
@click.option("--child-jobs", type=click.IntRange(1), help="Replace a child process after this many jobs.")
@click.option(
    "--janitor/--no-janitor", default=True, help="Whether this worker does the chores too.  [default: yes]"
)
@click.option("--max-jobs", type=click.IntRange(1), help="Leave in good order after this many jobs.")
@click.option("--max-memory", type=click.IntRange(1), metavar="BYTES", help="Leave in good order above this much memory.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="First tell what runs where as one line of JSON.")
@metrics_option
@click.option("--log", "log_format", type=click.Choice(FORMATS), envvar=FORMAT, default="human", help="How log lines look.  [default: $TENURE_LOG or human]")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), envvar=LEVEL, default="info", help="The least that is logged.  [default: $TENURE_LOG_LEVEL or info]")  # fmt: skip
def command(
    app: str,
    queues: tuple[str, ...],
    log_format: str,
    log_level: str,
    processes: int,
    metrics: tuple[str, int] | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run a worker for APP (module:app, or path/to/script.py:app).

    \b
    tenure worker shop.jobs:app                      every queue, 50 jobs at a time
    tenure worker shop.jobs:app -q mail:10 -q '*:4'  ten mails, four of everything else
    tenure worker shop.jobs:app --processes 4        four processes

    With --metrics, each of several processes serves its numbers on a port of its own: the one given, and those after it.
    The first Ctrl-C or SIGTERM finishes what runs and gives back what waits; the second gives back what runs as well.
    """
    from tenure.cli import main
    from tenure.worker.address import load
    from tenure.worker.pool import NUMBER, PARENT
    from tenure.worker.settings import lines_of
    from tenure.worker.start import start

    if PARENT in os.environ:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # told before it can listen, it ends as by SIGTERM
        set_up_as_told()
        metrics = in_pool(int(os.environ.get(NUMBER, "0")))
    else:
        set_up(log_format, log_level)
    main.leave_soon()
    found = load(app)
    if as_json and PARENT not in os.environ:
        _tell(found, lines_of(list(queues) or None, settings["concurrency"]), processes)
    if processes > 1:
        tell_pool(metrics)
        metrics = None
    with metered(found, metrics):
        start(found, queues=list(queues) or None, processes=processes, **settings)


def _tell(app: App, lines: Sequence[LineTerms], processes: int) -> None:
    """What runs where."""
    from tenure.cli.desk.screen import echo_json
    from tenure.config import without_password

    worker = {"lines": [line.name for line in lines], "kinds": sorted(app.kinds), "processes": processes}
    echo_json({"store": without_password(app.url), "worker": worker})
    sys.stdout.flush()
