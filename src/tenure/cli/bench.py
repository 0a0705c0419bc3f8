"""`tenure bench`."""

from __future__ import annotations

import os
import platform
import signal
import sys
from typing import Any

import click

from tenure.cli.desk.opening import INTERRUPTED, json_option, place_of, store_options
from tenure.cli.desk.screen import echo_json, table

__all__ = ["command"]


@click.command("bench")
@click.option("--seconds", type=click.FloatRange(0.05, 60), default=2.0, show_default=True, help="How long each measurement takes; there are five.")  # fmt: skip
@json_option
@store_options
def command(seconds: float, as_json: bool, url: str | None, app: str | None) -> None:
    """Measure what this store can do here: jobs a second in and out, and how soon an idle worker starts one.

    \b
    tenure bench                                 beside $TENURE_URL, in about twelve seconds
    tenure bench --url postgresql://me@host/db   on that server, in a schema of its own
    tenure bench --json | jq '.rows[] | {what, per_second}'

    Your jobs are not touched: it uses a file in a folder of its own beside yours, or a schema tenure_bench_… in the same
    database, and deletes it at the end. It loads the disk or the server as much as they can bear: mind who else uses them.
    Everything is as durable as your own store is told to be. Numbers differ from run to run.
    """
    from tenure.cli.desk.aside import aside
    from tenure.cli.desk.measuring import Interrupted, measure
    from tenure.config import without_password

    place = place_of(url, app)
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        with aside(place) as other:
            rows = list(measure(other, seconds, _say))
    except (Interrupted, KeyboardInterrupt):
        click.echo("interrupted; what it had made is deleted", err=True)
        raise SystemExit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    about = {
        "store": without_password(place),
        "tenure": _version(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "seconds": seconds,
    }
    if as_json:
        echo_json({**about, "rows": rows})
    else:
        _echo(about, rows)


def _say(what: str) -> None:
    """What is measured now, on one line of a terminal or a line each."""
    live = sys.stderr.isatty()
    sys.stderr.write(f"\r{what} …\033[K" if live else f"{what} …\n")
    sys.stderr.flush()


def _echo(about: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
    click.echo(f"{about['store']}: Tenure {about['tenure']}, Python {about['python']}, {about['cpus']} cores")
    cells = [
        (row["what"], f"{row['jobs']:,}", _figure(row.get("per_second"), 0), _figure(row.get("p50_ms"), 2), _figure(row.get("p99_ms"), 2))
        for row in rows
    ]  # fmt: skip
    table(("WHAT", "JOBS", "A SECOND", "P50 MS", "P99 MS"), cells)


def _figure(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _version() -> str:
    import tenure

    return str(tenure.__version__)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)
