"""`tenure demo`."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("demo")
def command() -> None:
    """Show what happens to a handful of jobs, on SQLite, in a temporary file."""
    from tenure.demo import main

    raise SystemExit(main())
