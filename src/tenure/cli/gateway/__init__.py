"""`tenure gateway`: serves, unless the first word is one of its commands."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

__all__ = ["command"]

_COMMANDS: Final = ("serve", "check", "telegram")


class _Gateway(click.Group):
    """Commands that are imported when they are run; what is none of them is meant for `serve`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's shape
        """Their names."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of this name."""
        if cmd_name not in _COMMANDS:
            return None
        found: click.Command = import_module(f"tenure.cli.gateway.{cmd_name}").command
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`tenure gateway bot:app` serves: an app has a colon, no command has."""
        return super().parse_args(ctx, args if args and args[0] in _COMMANDS else ["serve", *args])


@click.group("gateway", cls=_Gateway)
def command() -> None:
    """Take webhooks; `tenure gateway --help` tells how."""
