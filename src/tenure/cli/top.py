"""`tenure top`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.desk.opening import INTERRUPTED, Misused, json_option, place_of, store_options, the_queue
from tenure.cli.desk.screen import echo_json

if TYPE_CHECKING:
    from tenure.client.queue import Queue

__all__ = ["command"]


@click.command("top")
@click.option("--every", default="1s", show_default=True, metavar="DURATION", help="How often it looks.")
@click.option("--once", is_flag=True, help="Look once, and leave; so it does where there is no terminal.")
@json_option
@store_options
def command(every: str, once: bool, as_json: bool, url: str | None, app: str | None) -> None:
    """Watch the queues, their rates, the workers, what runs and what fails, live on one screen.

    \b
    tenure top                           q or Ctrl-C ends it
    tenure top --every 5s --app shop.jobs:app
    tenure top --json | jq '.totals'     one look, for a program

    READY, RUNNING, SCHEDULED and WAITING are counted up to 10,000. DONE/S and FAIL/S are what workers told of this minute and
    the one before; they tell every few seconds. WAIT95 and RUN95 are how long 95 of 100 jobs waited and ran at most.
    """
    from tenure.duration import parse
    from tenure.errors import FieldError

    try:
        rest = parse(every, "--every").total_seconds()
    except FieldError as error:
        raise Misused(str(error)) from None
    if rest < 0.05:
        raise Misused("--every: must be 50ms or longer")
    from tenure.config import without_password

    place = without_password(place_of(url, app))
    alive = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    with the_queue(url, app) as queue:
        if alive and not once and not as_json:
            _watch(queue, place, rest)
        else:
            _once(queue, place, as_json=as_json)


def _once(queue: Queue, place: str, *, as_json: bool) -> None:
    from tenure.cli.desk.live import painted
    from tenure.cli.desk.picture import lines
    from tenure.cli.desk.standing import look

    told = look(queue)
    if as_json:
        echo_json(told)
    else:
        for line in lines(told, place, None):
            click.echo(painted(line))


def _watch(queue: Queue, place: str, rest: float) -> None:
    """Until q, Ctrl-C or SIGTERM; a store that is away for a while is said at the foot, and asked again."""
    from tenure.cli.desk.live import Screen
    from tenure.cli.desk.picture import Line, lines
    from tenure.cli.desk.standing import look
    from tenure.errors import StoreUnavailable

    told: dict[str, Any] | None = None
    with Screen() as screen:
        try:
            while True:
                foot = f"every {rest:g} s; q ends, any other key looks at once"
                try:
                    told = look(queue)
                except StoreUnavailable as error:
                    foot = f"the store is away: {error}"
                drawn = [Line(place)] if told is None else lines(told, place, screen.height)
                screen.draw(drawn, foot)
                if screen.key(rest) in ("q", "Q"):
                    return
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None
