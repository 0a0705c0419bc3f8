"""`tenure stats [--watch]`."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from tenure.cli.desk.opening import INTERRUPTED, Misused, json_option, store_options, the_queue
from tenure.cli.desk.screen import ago, echo_json, now, number, plain, table

if TYPE_CHECKING:
    from tenure.client.queue import Queue

__all__ = ["command"]

_CAP: Final = 100_000
_CLEAR: Final = "\033[H\033[J"
_ENDS: Final = ("done", "dead", "cancelled")
_LEAST: Final = 0.05
"""The shortest rest between two looks, in seconds: each is a few statements."""


@click.command("stats")
@click.option("--watch", is_flag=True, help="Tell again and again, until Ctrl-C.")
@click.option("--every", default="2s", show_default=True, metavar="DURATION", help="How often, with --watch.")
@click.option("--exact", is_flag=True, help=f"Count every job; otherwise the newest {_CAP:,} finished and {_CAP:,} others.")  # fmt: skip
@json_option
@store_options
def command(watch: bool, every: str, exact: bool, as_json: bool, url: str | None, app: str | None) -> None:
    """Tell how many jobs stand in each state of each queue, and who works on them.

    \b
    tenure stats
    tenure stats --watch               until Ctrl-C, on one screen
    tenure stats --json | jq .queues.mail.dead

    A plus behind a number means: at least so many, for it was not counted any further; --exact reads every job.
    """
    from tenure.duration import parse
    from tenure.errors import FieldError

    try:
        rest = parse(every, "--every").total_seconds()
    except FieldError as error:
        raise Misused(str(error)) from None
    if rest < _LEAST:
        raise Misused("--every: must be 50ms or longer")
    with the_queue(url, app) as queue:
        cap = None if exact else _CAP
        if watch:
            _watch(queue, cap, rest, as_json=as_json)
        else:
            _echo(_look(queue, cap), as_json=as_json, again=False)


def _watch(queue: Queue, cap: int | None, rest: float, *, as_json: bool) -> None:
    """Until Ctrl-C; a store that is away for a while is said, and asked again."""
    from tenure.errors import StoreUnavailable

    try:
        while True:
            try:
                _echo(_look(queue, cap), as_json=as_json, again=True)
            except StoreUnavailable as error:
                click.echo(f"the store is away: {error}", err=True)
            time.sleep(rest)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def _look(queue: Queue, cap: int | None) -> dict[str, Any]:
    counts = queue.counts(cap=cap)
    ended = sum(states[end] for states in counts.values() for end in _ENDS)
    others = sum(sum(states.values()) for states in counts.values()) - ended
    due = queue.next_due()
    return {
        "at": now().isoformat(),
        "queues": counts,
        "more": {"finished": cap is not None and ended >= cap, "others": cap is not None and others >= cap},
        "paused": {name: since.isoformat() for name, since in queue.paused().items()},
        "workers": len(queue.workers()),
        "next_due_seconds": due,
    }


def _echo(told: dict[str, Any], *, as_json: bool, again: bool) -> None:
    if as_json:
        echo_json(told)
        return
    if again and sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
    at, counts, paused = datetime.fromisoformat(told["at"]), told["queues"], told["paused"]
    states = list(next(iter(counts.values()), ()))
    rows = [(name, *_figures(told, queue), _pause(paused.get(name), at)) for name, queue in counts.items()]
    colours = [_colours(queue) for queue in counts.values()]
    if len(counts) > 1:
        rows.append(("(all)", *_figures(told, _sum(counts)), ""))
        colours.append(_colours(_sum(counts)))
    if rows:
        table(("QUEUE", *(state.upper() for state in states), ""), rows, colours)
    else:
        click.echo("there are no jobs")
    workers = told["workers"]
    due = told["next_due_seconds"]
    words = [f"{workers} worker{'' if workers == 1 else 's'}", *([] if due is None else [_due(due)])]
    words += [f"{plain(name)} is paused" for name in paused if name not in counts]
    click.echo("; ".join(words))
    sys.stdout.flush()


def _sum(counts: dict[str, dict[str, int]]) -> dict[str, int]:
    states = next(iter(counts.values()))
    return {state: sum(queue[state] for queue in counts.values()) for state in states}


def _figures(told: dict[str, Any], queue: dict[str, int]) -> list[str]:
    more = told["more"]
    return [
        number(n, more=n > 0 and more["finished" if state in _ENDS else "others"])
        for state, n in queue.items()
    ]


def _colours(queue: dict[str, int]) -> list[str | None]:
    return [None, *("red" if state == "dead" and n else None for state, n in queue.items())]


def _pause(since: str | None, at: datetime) -> str:
    return "" if since is None else f"paused {ago(datetime.fromisoformat(since), at)}"


def _due(seconds: float) -> str:
    from datetime import timedelta

    from tenure.duration import spell

    return f"next due in {spell(timedelta(seconds=round(seconds)))}" if seconds >= 1 else "something is due"
