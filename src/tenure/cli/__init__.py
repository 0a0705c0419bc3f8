"""The command `tenure`. For now it says what it is and runs the demonstration; the operator's commands come with theirs."""

from __future__ import annotations

import click

import tenure

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(tenure.__version__, prog_name="tenure")
def main() -> None:
    """Tenure: a durable job queue in the database you already have."""


@main.command()
def demo() -> None:
    """Show what happens to a handful of jobs, on SQLite, in a temporary file."""
    from tenure.demo import main as run

    raise SystemExit(run())
