"""`tenure cron list|pause|resume|run`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from tenure.cli.desk.keeping import acting, keep
from tenure.cli.desk.knowing import complete_schedules
from tenure.cli.desk.opening import NotFound, json_option, store_options, the_queue
from tenure.cli.desk.screen import ago, echo_json, now, paint, plain, table, when

if TYPE_CHECKING:
    from datetime import datetime

    from tenure.cli.desk.schedules import Runs
    from tenure.client.queue import Queue
    from tenure.schedule import ScheduleSeen

__all__ = ["command"]


@click.group("cron")
def command() -> None:
    """See to the schedules: jobs that are made again and again when their time comes.

    \b
    tenure cron list             what each means, how its last run went, when it fires next
    tenure cron pause digest     nothing is made until `tenure cron resume digest`
    tenure cron run digest       one job now; when it fires next stays as it is

    They are made with @app.cron or q.schedule.
    """


@command.command("list")
@click.argument("name", required=False, shell_complete=complete_schedules)
@json_option
@store_options
def list_(name: str | None, as_json: bool, url: str | None, app: str | None) -> None:
    """List the schedules: what they mean, how the last run went, when each fires next; or everything about one.

    \b
    tenure cron list
    tenure cron list digest                          its last runs, and its next five fires
    tenure cron list --json | jq -r '.name + ": " + .text'

    Ends with 3 if there is none. The last five runs of each are told, as far as their jobs are kept.
    """
    from tenure.cli.desk.schedules import last_runs, schedule_json

    with the_queue(url, app) as queue:
        if name is not None:
            _find(queue, name)
        found = [one for one in queue.schedules() if name in (None, one.name)]
        runs, at = last_runs(queue, found), now()
    if as_json:
        for one in found:
            echo_json(schedule_json(one, runs, at))
    if not found:
        raise NotFound("there are no schedules")
    if as_json:
        return
    if name is None:
        _table(found, runs, at)
    else:
        _one(found[0], runs, at)


@command.command("pause")
@click.argument("name", shell_complete=complete_schedules)
@json_option
@store_options
def pause(name: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Fire a schedule no more, until it is resumed. Ends with 3 if there is none of this name.

    \b
    tenure cron pause digest
    """
    with the_queue(url, app) as queue:
        _find(queue, name)
        changed = queue.pause_schedule(name)
        if changed:
            keep(queue, "pause_cron", name, "paused")
    _tell(name, "paused", changed, "is paused" if changed else "was paused already", as_json=as_json)


@command.command("resume")
@click.argument("name", shell_complete=complete_schedules)
@json_option
@store_options
def resume(name: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Fire a schedule again, from now on. Ends with 3 if there is none of this name.

    \b
    tenure cron resume digest

    What fell due while it was paused is not made up for.
    """
    with the_queue(url, app) as queue:
        _find(queue, name)
        changed = queue.resume_schedule(name)
        if changed:
            keep(queue, "resume_cron", name, "resumed")
    _tell(name, "resumed", changed, "fires again" if changed else "was not paused", as_json=as_json)


@command.command("run")
@click.argument("name", shell_complete=complete_schedules)
@json_option
@store_options
def run(name: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Make a job as the schedule would, now, paused or not. Ends with 3 if there is none of this name.

    \b
    tenure cron run digest                           prints the job's id
    """
    with the_queue(url, app) as queue:
        _find(queue, name)
        with acting(queue, "run_cron", name) as kept:
            made = queue.run_schedule(name)
            said = f"made job {made.id}" if made.inserted else f"job {made.id} was there"
            kept.end(said, count=int(made.inserted))
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


def _table(found: list[ScheduleSeen], runs: Runs, at: datetime) -> None:
    from tenure.cli.desk.schedules import means, outcome

    rows, colours = [], []
    for one in found:
        made = runs[one.name]
        last = outcome(made[0], at) if made else "-" if one.fired_at is None else f"fired {ago(one.fired_at, at)}"  # fmt: skip
        rows.append((one.name, one.cron, one.kind, last, _next(one, at), means(one)))
        colours.append((None, None, None, "red" if made and made[0].state == "dead" else None))
    table(("NAME", "CRON", "KIND", "LAST RUN", "NEXT", "MEANS"), rows, colours)


def _one(schedule: ScheduleSeen, runs: Runs, at: datetime) -> None:
    """Everything about one."""
    from tenure.cli.desk.schedules import means, next_fires, outcome

    click.echo(f"{paint(plain(schedule.name), bold=True)}  {means(schedule)}")
    facts = [
        ("cron", f"{schedule.cron} in {schedule.tz}"),
        ("makes", f"{schedule.kind} {schedule.payload_text}"),
        ("missed", str(schedule.missed)),
        ("made by", schedule.source),
        ("fired", when(schedule.fired_at, at)),
        ("state", _next(schedule, at) if schedule.problem or schedule.paused_at else "fires"),
    ]
    for title, text in facts:
        click.echo(f"  {title:<8}  {plain(text)}")
    for moment in next_fires(schedule, 5, at):
        click.echo(f"  {'next':<8}  {when(moment, at)}")
    for job in runs[schedule.name]:
        click.echo(f"  {'run':<8}  {job.id}  {outcome(job, at)}  {plain(job.error or '')}".rstrip())
    if gone := len(schedule.made) - len(runs[schedule.name]):
        click.echo(f"  {'gone':<8}  {gone} of the last {len(schedule.made)} are not kept any more")


def _next(schedule: ScheduleSeen, at: datetime) -> str:
    if schedule.problem:
        return f"never: {schedule.problem}"
    return "paused" if schedule.paused_at is not None else when(schedule.next_at, at)
