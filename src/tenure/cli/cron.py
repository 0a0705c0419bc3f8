"""`tenure cron list|pause|resume|run`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.desk.opening import NotFound, json_option, store_options, the_queue
from tenure.cli.desk.screen import echo_json, now, plain, table, when

if TYPE_CHECKING:
    from datetime import datetime

    from tenure.client.queue import Queue
    from tenure.schedule import ScheduleSeen

__all__ = ["command"]


@click.group("cron")
def command() -> None:
    """See to the schedules: jobs that are made again and again when their time comes.

    \b
    tenure cron list
    tenure cron pause digest     nothing is made until `tenure cron resume digest`
    tenure cron run digest       one job now; when it fires next stays as it is

    They are made with @app.cron or q.schedule.
    """


@command.command("list")
@json_option
@store_options
def list_(as_json: bool, url: str | None, app: str | None) -> None:
    """List the schedules, and when each fires next. Ends with 3 if there is none."""
    with the_queue(url, app) as queue:
        found, at = queue.schedules(), now()
    if as_json:
        for one in found:
            echo_json(_json(one))
    if not found:
        raise NotFound("there are no schedules")
    if not as_json:
        rows = [(s.name, s.cron, s.tz, s.kind, when(s.fired_at, at), _next(s, at)) for s in found]
        table(("NAME", "CRON", "ZONE", "KIND", "FIRED", "NEXT"), rows)


@command.command("pause")
@click.argument("name")
@json_option
@store_options
def pause(name: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Fire a schedule no more, until it is resumed. Ends with 3 if there is none of this name."""
    with the_queue(url, app) as queue:
        _find(queue, name)
        changed = queue.pause_schedule(name)
    _tell(name, "paused", changed, "is paused" if changed else "was paused already", as_json=as_json)


@command.command("resume")
@click.argument("name")
@json_option
@store_options
def resume(name: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Fire a schedule again, from now on. Ends with 3 if there is none of this name."""
    with the_queue(url, app) as queue:
        _find(queue, name)
        changed = queue.resume_schedule(name)
    _tell(name, "resumed", changed, "fires again" if changed else "was not paused", as_json=as_json)


@command.command("run")
@click.argument("name")
@json_option
@store_options
def run(name: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Make a job as the schedule would, now, paused or not. Ends with 3 if there is none of this name."""
    with the_queue(url, app) as queue:
        _find(queue, name)
        made = queue.run_schedule(name)
    if as_json:
        echo_json({"id": made.id, "inserted": made.inserted})
    else:
        click.echo(f"{made.id}  {'enqueued' if made.inserted else 'was there already'}")


def _find(queue: Queue, name: str) -> None:
    names = [schedule.name for schedule in queue.schedules()]
    if name not in names:
        near = get_close_matches(name, names, 1)
        fix = f"; did you mean {near[0]!r}?" if near else ""
        raise NotFound(f"there is no schedule {plain(name)!r}{fix}")


def _tell(name: str, word: str, changed: bool, told: str, *, as_json: bool) -> None:
    if as_json:
        echo_json({"name": name, word: changed})
    else:
        click.echo(f"{plain(name)} {told}")


def _next(schedule: ScheduleSeen, at: datetime) -> str:
    if schedule.problem:
        return f"never: {schedule.problem}"
    return "paused" if schedule.paused_at is not None else when(schedule.next_at, at)


def _json(schedule: ScheduleSeen) -> dict[str, Any]:
    from dataclasses import fields

    from tenure.cli.desk.jobs import as_json

    return {f.name: as_json(getattr(schedule, f.name)) for f in fields(schedule)}
