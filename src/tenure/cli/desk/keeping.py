"""What is done in a terminal is kept in the audit, as what is done on the dashboard is: who, what, to how many, what they were told.

What changes jobs is there before it changes any, and again when it has ended: killed in between, it leaves that it began, and
how far it had come.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import click

from tenure.cli.desk.screen import plain
from tenure.errors import StoreError

if TYPE_CHECKING:
    from tenure.client.queue import Queue

__all__ = ["Act", "acting", "keep"]

_LONGEST: Final = 200


class Act:
    """One of these. It can be done where it cannot be kept: that is said when it has ended, and no more."""

    def __init__(self, queue: Queue, action: str, what: str, *, begins: bool = True) -> None:
        self._queue, self._about = queue, (_who(), action, what)
        self._begun: str | None = None
        self._count, self._said = 0, ""
        if begins:
            with suppress(StoreError):
                self._begun = queue.begin_audit(*self._about)

    def far(self, count: int, said: str) -> None:
        """So far it is."""
        self._count, self._said = count, said
        if self._begun is not None:
            with suppress(StoreError):
                self._queue.progress_audit(self._begun, count=count, said=said)

    def end(self, said: str, *, count: int = 1) -> None:
        """It has ended, in this way."""
        try:
            self._queue.add_audit(*self._about, count=count, said=said, ends=self._begun)
        except StoreError as error:
            what = "this is" if self._begun is None else "how this ended is"
            click.echo(f"{what} not in the audit: {plain(str(error))}", err=True)

    def failed(self, error: Exception) -> None:
        """It has come to no good end. Where nothing was changed, what does not stand there as begun need not be told of."""
        if self._said:
            self.end(f"{self._said}, then it failed: {error}", count=self._count)
        elif self._begun is not None:
            self.end(f"refused: {error}", count=0)


@contextmanager
def acting(queue: Queue, action: str, what: str) -> Iterator[Act]:
    """One that is begun; whoever does it says how it ended, unless it fails."""
    act = Act(queue, action, what)
    try:
        yield act
    except Exception as error:
        act.failed(error)
        raise


def keep(queue: Queue, action: str, what: str, said: str) -> None:
    """Keep that this was done, which changes no job."""
    Act(queue, action, what, begins=False).end(said)


def _who() -> str:
    """The user and the machine, as the system tells them."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as containers have them
        user = f"uid {os.getuid()}"
    return plain(f"cli {user}@{socket.gethostname()}")[:_LONGEST].strip()
