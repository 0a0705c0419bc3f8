"""Doing something to many jobs: show how many and which, ask, then go through them in batches that can be stopped.

Every batch is a transaction of its own. Ctrl-C or SIGTERM ends after the batch under way, a store that goes away ends at once;
either way it is said how far it got, and where: `--after` goes on exactly there, and what has been done since is not done again.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from tenure.cli.desk.keeping import keep
from tenure.cli.desk.opening import INTERRUPTED, Misused, NotFound, id_of
from tenure.cli.desk.screen import echo_json, number, plain
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
_WIDTH: Final = 24
_COLUMNS: Final = 80
"""Of a terminal that does not say how wide it is."""
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
    rate: float | None = None
    note: str = ""
    _stopped: int = field(default=0, init=False)
    """The signal that stopped it."""
    _failed: StoreError | None = field(default=None, init=False)
    _reached: str | None = field(default=None, init=False)
    """Where to go on; None: nothing is left."""

    def run(self, act: Callable[[str | None, int], Batch], *, yes: bool, dry_run: bool) -> None:
        """Show, ask, and do it batch by batch; `act(after, limit)` does one."""
        self._reached = None if self.after is None else id_of(self.after)
        meant = self.which.only(self.states)
        if not meant.states:
            raise Misused(f"to {self.verb} is for jobs that are {', '.join(self.states)}")
        counted = self.queue.count(meant, cap=_CAP, after=self._reached)
        if not counted.total:
            behind = "" if self._reached is None else f" behind {self._reached}"
            raise NotFound(f"nothing matches {self._filter()}{self.note}{behind}")
        sample = [j for j in self.queue.list(meant, limit=_SAMPLE) if j.id > (self._reached or "")]
        if dry_run and self.as_json:
            echo_json({"matched": counted.total, "more": counted.more, "states": counted.states, "sample": [j.id for j in sample]})  # fmt: skip
            return
        if dry_run or not yes:
            self._show(counted, sample)
        if dry_run:
            return
        if not yes:
            self._ask(counted)
        with self._stoppable():
            done, others = self._go(act, counted)
            keep(self.queue, self.verb, self._filter(), self._said(done, others), count=done)
        self._tell(counted, done, others)

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

    def _go(self, act: Callable[[str | None, int], Batch], counted: Counted) -> tuple[int, dict[str, int]]:
        bar = _Bar(counted.total, more=counted.more)
        size = _BATCH if self.rate is None else max(1, min(_BATCH, int(self.rate)))
        began, done = time.monotonic(), 0
        others: dict[str, int] = {}
        while not self._stopped:
            try:
                batch = act(self._reached, size)
            except StoreError as error:
                if isinstance(error, StoreRefused) and not done:
                    raise  # there is no rest to go on with: it would be refused again
                self._failed = error
                break
            done, self._reached = done + batch.changed, batch.after
            for name, count in batch.others.items():
                others[name] = others.get(name, 0) + count
            seen = done + sum(others.values())
            bar.show(seen)
            if self._reached is None:
                break
            if self.rate is not None:
                self._rest(began + seen / self.rate)
        bar.end()
        if self._reached is None and self._failed is None:
            self._stopped = 0  # it was over when it was told to stop
        return done, others

    def _tell(self, counted: Counted, done: int, others: dict[str, int]) -> None:
        ended = not self._stopped and self._failed is None
        if self.as_json:
            echo_json({"matched": counted.total, "more": counted.more, self.past: done, **others, "interrupted": not ended, "after": self._reached})  # fmt: skip
        else:
            click.echo(self._said(done, others))
        if ended:
            return
        how = (
            "the same command" if self._reached is None else f"the same command with --after {self._reached}"
        )
        why = "interrupted" if self._failed is None else f"Error: {plain(str(self._failed))}"
        total = number(counted.total, more=counted.more)
        click.echo(f"{why}: {number(done)} of {total} {self.past}; {how} goes on with the rest", err=True)
        raise SystemExit(1 if self._failed is not None else INTERRUPTED - signal.SIGINT + self._stopped)

    def _said(self, done: int, others: dict[str, int]) -> str:
        told = (f"{number(n)} {name}" for name, n in others.items() if n)
        return ", ".join([f"{number(done)} {self.past}", *told])

    def _rest(self, until: float) -> None:
        while not self._stopped and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE))

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """The first Ctrl-C or SIGTERM ends after the batch under way, a second one at once."""

        def stop(number: int, _frame: object) -> None:
            self._stopped = number
            signal.signal(number, before[number])

        before: dict[int, Any] = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Bar:
    """How far it is, on one line of a terminal; nothing elsewhere."""

    def __init__(self, total: int, *, more: bool) -> None:
        self._total, self._more = total, more
        self._began, self._on = time.monotonic(), sys.stderr.isatty()

    def show(self, done: int) -> None:
        """So many are done."""
        if not self._on:
            return
        spent = max(time.monotonic() - self._began, 1e-3)
        told = f"{number(done)} of {number(self._total, more=self._more)}  {done / spent:,.0f}/s"
        room = (os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS) - 1
        width = min(_WIDTH, max(room - len(told) - len("[] "), 0))
        full = int(min(done / self._total, 1.0) * width)
        line = f"[{'#' * full}{'-' * (width - full)}] {told}"
        sys.stderr.write(f"\r{line[:room]}\033[K")
        sys.stderr.flush()

    def end(self) -> None:
        """The line is over."""
        if self._on:
            sys.stderr.write("\n")
            sys.stderr.flush()
