"""The command `tenure`: one file per command, imported when it is asked for, so that `--help` stays quick."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final

import click

import tenure

__all__ = ["main"]

_COMMANDS: Final = {
    "up": "Run worker, janitor, gateway and dashboard in one process.",
    "worker": "Run a worker: claim jobs, run them, settle them.",
    "gateway": "Take webhooks, and store each as a job before it is answered.",
    "dashboard": "Serve a page on which the jobs are seen and seen to.",
    "janitor": "Do the chores alone: promote, expire, reclaim, retain, fire schedules.",
    "demo": "Show it all at work: a small shop on SQLite, in a temporary file.",
    "enqueue": "Enqueue a job.",
    "list": "List jobs that match a filter.",
    "show": "Show everything about one job.",
    "explain": "Tell why a job is not running.",
    "retry": "Start finished jobs anew, many or one; replay is the same.",
    "cancel": "Cancel jobs, many or one.",
    "purge": "Delete finished jobs.",
    "stats": "Count the jobs of each queue by state.",
    "top": "Watch queues, rates, workers and errors live, on one screen.",
    "workers": "List the workers that live.",
    "pause": "Claim nothing more from a queue.",
    "resume": "Claim from a queue again.",
    "cron": "See to the schedules: list, pause, resume, run.",
    "migrate": "Make the schema, or bring it up to date.",
    "doctor": "Look for what is wrong, and tell what to do about it.",
    "bench": "Measure what this store can do here.",
}
_DESK: Final = {
    "Jobs": ("enqueue", "list", "show", "explain", "retry", "cancel", "purge"),
    "Queues, workers, schedules": ("stats", "top", "workers", "pause", "resume", "cron"),
    "Store": ("doctor", "migrate", "bench"),
}
"""What stands apart from the commands that run something."""
_ALSO: Final = {"replay": "retry"}
"""The verb's own name."""


_LAST: Final = 2.0
"""How long threads that handlers left may keep the process of a worker that has stopped, in seconds."""


class _Commands(click.Group):
    """Commands that are imported when they are run."""

    leaves: float | None = None
    """How long the process may still take when its command has ended, in seconds; None: as long as it has threads."""

    def leave_soon(self) -> None:
        """Whoever calls this has stopped all that is to be stopped in order: threads that handlers left hold nothing up for long."""
        self.leaves = _LAST

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's shape
        """Their names, in the order of their use."""
        return [*_COMMANDS]  # `list` is a command here, once it has been imported

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of this name."""
        name = _ALSO.get(cmd_name, cmd_name)
        if name not in _COMMANDS:
            return None
        found: click.Command = import_module(f"tenure.cli.{name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """What each is for, without importing any."""
        apart = {name for names in _DESK.values() for name in names}
        first = [name for name in _COMMANDS if name not in apart]
        for title, names in {"Commands": first, **_DESK}.items():
            with formatter.section(title):
                formatter.write_dl([(name, _COMMANDS[name]) for name in names])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run it as a program, or tell a shell what may be written next."""
        if "_TENURE_COMPLETE" in os.environ:
            from tenure.cli.desk.shells import register

            register()
        try:
            return super().main(*args, **extra)
        except SystemExit as end:
            if self.leaves is not None and not (args or extra):  # this is what the process was started for
                from tenure.cli.serving import leave_within

                leave_within(self.leaves, "threads are left that do not end; leaving them behind", end.code)
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Run it; an error of ours is one sentence and an exit code, not a traceback."""
        try:
            return super().invoke(ctx)
        except tenure.TenureError as error:
            raise click.ClickException(str(error)) from None
        except (KeyboardInterrupt, click.Abort) as end:
            # Of a question click tells only that it was not answered: whether by Ctrl-C stands behind that.
            if isinstance(end, click.Abort) and not isinstance(end.__context__, KeyboardInterrupt):
                raise
            from tenure.cli.desk.opening import INTERRUPTED

            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(tenure.__version__, prog_name="tenure")
def main() -> None:
    """Tenure: a durable job queue in the database you already have.

    \b
    tenure demo                   see it all at work, on SQLite, in a temporary file
    tenure up shop.jobs:app       run everything for the tenure.App named app in shop/jobs.py
    tenure worker shop.jobs:app   a worker alone
    tenure top                    watch it live; `tenure stats` counts once
    tenure list state:dead        what died; `tenure retry state:dead` starts it anew

    The jobs are where the app says; where it says nothing, in $TENURE_URL, else in the file tenure.db.
    `tenure COMMAND --help` tells more.
    """
