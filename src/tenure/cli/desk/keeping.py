"""What is done in a terminal is kept in the audit, as what is done on the dashboard is: who, what, to how many, what they were told."""

from __future__ import annotations

import getpass
import os
import socket
from typing import TYPE_CHECKING, Final

import click

from tenure.cli.desk.screen import plain
from tenure.errors import StoreError

if TYPE_CHECKING:
    from tenure.client.queue import Queue

__all__ = ["keep"]

_LONGEST: Final = 200


def keep(queue: Queue, action: str, what: str, said: str, *, count: int = 1) -> None:
    """Keep that this was done. It is done already: where it cannot be kept, that is said, and no more."""
    try:
        queue.add_audit(_who(), action, what, count=count, said=said)
    except StoreError as error:
        click.echo(f"this is not in the audit: {plain(str(error))}", err=True)


def _who() -> str:
    """The user and the machine, as the system tells them."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as containers have them
        user = f"uid {os.getuid()}"
    return plain(f"cli {user}@{socket.gethostname()}")[:_LONGEST].strip()
