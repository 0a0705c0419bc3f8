"""Doing something to many jobs: show how many and which, ask, then go through them in batches that can be stopped.

Every batch is a transaction of its own. Ctrl-C, SIGTERM or the loss of the terminal ends after the batch under way, a store that
goes away ends at once; either way it is said how far it got, and where: `--after` goes on exactly there, and what has been done
since is not done again. The audit knows of it from before the first batch on, and after each how far it is.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from uuid import UUID

import click

from tenure.cli.desk.bar import Bar
from tenure.cli.desk.keeping import Act, acting
from tenure.cli.desk.opening import INTERRUPTED, Misused, NotFound, id_of
from tenure.cli.desk.screen import echo_json, number, plain
from tenure.cli.desk.stopping import Stopping
from tenure.errors import StoreError, StoreRefused

if TYPE_CHECKING:
    from tenure.client.queue import Queue
    from tenure.filters import Filter
    from tenure.job import State
    from tenure.store.search import Counted

__all__ = ["Batch", "Bulk", "bulk_options", "rate_of"]

C = TypeVar("C", bound=Callable[..., Any])
_CAP: Final = 100_000
_SAMPLE: Final = 5
_BATCH: Final = 500
_SLICE: Final = 0.05
_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)/(s|m|h)\Z")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600}


class Batch(NamedTuple):
    """What one batch came to: jobs changed, other figures by name, and where to go on (None: nothing is left)."""

    changed: int
    others: dict[str, int]
    after: str | None


def bulk_options(command: C) -> C:
    """What every command on many jobs takes."""
    yes = click.option("--yes", is_flag=True, help="Do not ask.")
    dry = click.option("--dry-run", is_flag=True, help="Show how many and which, and change nothing.")
    after = click.option(
        "--after", metavar="ID", help="Go on where a run that was interrupted stopped, as it told."
    )
    return yes(dry(after(command)))


def rate_of(text: str | None) -> float | None:
    """A rate, as jobs a second."""
    if text is None:
        return None
    found = _RATE.match(text)
    if found is None or float(found[1]) == 0:
        raise Misused(f"--rate: expected a number and /s, /m or /h, as in 50/s, got {text!r}")
    return float(found[1]) / _SECONDS[found[2]]


@dataclass(kw_only=True)
class Bulk:
    """One run of such a command. `verb` and `past` are its words: retry, retried; `states` are those it can be done in."""

    queue: Queue
    which: Filter
    states: Collection[State]
    verb: str
    past: str
    as_json: bool
    after: str | None = None
    """Where an earlier run stopped."""
    newest_first: bool = False
    """Whether it goes from the newest job to the oldest, and what is left of it is older than where it stopped."""
    rate: float | None = None
    note: str = ""
    _done: int = field(default=0, init=False)
    _others: dict[str, int] = field(default_factory=dict, init=False)
    _reached: str | None = field(default=None, init=False)
    """Where to go on; None: at the beginning, or nothing is left."""
    _stopped: int = field(default=0, init=False)
    """The signal that stopped it before its end."""
    _failed: StoreError | None = field(default=None, init=False)

    def run(self, act: Callable[[str | None, int], Batch], *, yes: bool, dry_run: bool) -> None:
        """Show, ask, and do it batch by batch; `act(after, limit)` does one."""
        self._reached = None if self.after is None else id_of(self.after)
        meant = self.which.only(self.states)
        if not meant.states:
            raise Misused(f"to {self.verb} is for jobs that are {', '.join(self.states)}")
        counted = self._counted(meant)
        if not counted.total:
            behind = "" if self._reached is None else f" behind {self._reached}"
            raise NotFound(f"nothing matches {self._filter()}{self.note}{behind}")
        newest = self.queue.list(meant, limit=_SAMPLE, before=self._reached if self.newest_first else None)
        sample = [j for j in newest if self.newest_first or j.id > (self._reached or "")]
        if dry_run and self.as_json:
            echo_json({"matched": counted.total, "more": counted.more, "states": counted.states, "sample": [j.id for j in sample]})  # fmt: skip
            return
        if dry_run or not yes:
            self._show(counted, sample)
        if dry_run:
            return
        if not yes:
            self._ask(counted)
        with Stopping() as stopping:
            with acting(self.queue, self.verb, self._filter()) as kept:
                self._go(act, counted, stopping, kept)
                stopping.hush()
                kept.end(self._ended(), count=self._done)
            self._tell(counted)

    def _counted(self, meant: Filter) -> Counted:
        """How many are left, behind where an earlier run stopped."""
        if self._reached is None or not self.newest_first:
            return self.queue.count(meant, cap=_CAP, after=self._reached)
        # Counts go from the oldest job on: what is older than a job are all but itself and those behind it.
        whole = self.queue.count(meant, cap=_CAP)
        if whole.more:
            return whole
        itself = UUID(int=max(UUID(self._reached).int - 1, 0))
        behind = self.queue.count(meant, cap=_CAP, after=str(itself))
        left = {state: n - behind.states.get(state, 0) for state, n in whole.states.items()}
        return whole._replace(states={state: n for state, n in left.items() if n > 0})

    def _filter(self) -> str:
        from tenure.query import format as written

        return plain(written(self.which)) or "anything"

    def _show(self, counted: Counted, sample: Any) -> None:
        states = ", ".join(f"{number(n)} {state}" for state, n in counted.states.items())
        total = number(counted.total, more=counted.more)
        jobs = "job matches" if counted.total == 1 else "jobs match"
        click.echo(f"{total} {jobs} {self._filter()}{self.note}: {states}", err=True)
        for job in sample:
            click.echo(f"  {job.id}  {job.state:<9}  {plain(job.kind)}  {plain(job.error or '')[:80]}".rstrip(), err=True)  # fmt: skip
        if counted.total > len(sample):
            click.echo(f"  … and {number(counted.total - len(sample), more=counted.more)} more", err=True)

    def _ask(self, counted: Counted) -> None:
        jobs = "job" if counted.total == 1 else "jobs"
        what = f"{self.verb} {number(counted.total, more=counted.more)} {jobs}"
        if not sys.stdin.isatty():
            raise Misused(f"there is no terminal to ask at; to {what}, add --yes")
        if not click.confirm(f"{what.capitalize()}?", err=True):
            raise click.ClickException("nothing was changed")

    def _go(
        self, act: Callable[[str | None, int], Batch], counted: Counted, stopping: Stopping, kept: Act
    ) -> None:
        bar = Bar(counted.total, more=counted.more)
        size = _BATCH if self.rate is None else max(1, min(_BATCH, int(self.rate)))
        began = time.monotonic()
        while not (stopped := stopping.by):
            try:
                batch = act(self._reached, size)
            except StoreError as error:
                if isinstance(error, StoreRefused) and not self._done:
                    raise  # there is no rest to go on with: it would be refused again
                self._failed = error
                break
            self._done, self._reached = self._done + batch.changed, batch.after
            for name, count in batch.others.items():
                self._others[name] = self._others.get(name, 0) + count
            seen = self._done + sum(self._others.values())
            if self._reached is not None:
                kept.far(self._done, f"{self._said()}; {self._rest()}")
            bar.show(seen)
            if self._reached is None:
                break
            if self.rate is not None:
                _wait(began + seen / self.rate, stopping)
        self._stopped = stopped
        bar.end()

    def _tell(self, counted: Counted) -> None:
        ended = not self._stopped and self._failed is None
        if self.as_json:
            echo_json({"matched": counted.total, "more": counted.more, self.past: self._done, **self._others, "interrupted": not ended, "after": self._reached})  # fmt: skip
        else:
            click.echo(self._said())
        if ended:
            return
        why = "interrupted" if self._failed is None else f"Error: {plain(str(self._failed))}"
        total = number(counted.total, more=counted.more)
        click.echo(f"{why}: {number(self._done)} of {total} {self.past}; {self._rest()}", err=True)
        raise SystemExit(1 if self._failed is not None else INTERRUPTED - signal.SIGINT + self._stopped)

    def _said(self) -> str:
        told = (f"{number(n)} {name}" for name, n in self._others.items() if n)
        return ", ".join([f"{number(self._done)} {self.past}", *told])

    def _ended(self) -> str:
        """How it ended, for who reads of it later."""
        if self._failed is not None:
            return f"{self._said()}, then it failed: {self._failed}; {self._rest()}"
        return f"{self._said()}, then it was interrupted; {self._rest()}" if self._stopped else self._said()

    def _rest(self) -> str:
        """How to go on where it is."""
        same = "the same command"
        return f"{same if self._reached is None else f'{same} with --after {self._reached}'} goes on with the rest"


def _wait(until: float, stopping: Stopping) -> None:
    while not stopping.by and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _SLICE))
