"""Losses: what no worker lives to count is counted by who finds it: crashes of workers that are gone, deaths by expiry, jobs
that are cancelled before they run, and those that end as cancelled though their worker said otherwise, or was long done with them.

Written in the transaction that ends the jobs, as its last statement, under a name of this thread alone (of this transaction
alone, if it is the caller's: it may be held for long): so nobody waits for another's row but where failures are alike, and these
are written in one order. Nothing lost costs nothing.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterable
from typing import Final

from tenure.figures import ErrorTally, Tally
from tenure.fingerprint import fingerprint
from tenure.job import State
from tenure.store.changes import VANISHED, Changes
from tenure.store.figures import add_figures
from tenure.store.pack import pack_ids
from tenure.store.plan import Plan, Statement

__all__ = ["Losses"]

_HERE: Final = secrets.token_hex(4)
_LONGEST: Final = 300
_EXPIRED: Final = "it expired before it could be tried again"


class Losses:
    """Jobs that crashed, died or were cancelled without a worker to tell of it."""

    def __init__(self, *decided: Changes, cancelled: Iterable[str] = ()) -> None:
        self._crashes: dict[str, str] = {}
        self._dead: set[str] = set()
        self._cancelled = set(cancelled)
        for changes in decided:
            self.add(changes)

    def add(self, changes: Changes) -> None:
        """What was decided about these."""
        self._crashes.update((row["id"], row["message"]) for row in changes.story)
        self._dead.update(changes.dead)
        self._cancelled.update(row["id"] for row in changes.finish if row["state"] == State.CANCELLED.value)

    def write(self, *, now: int | None, inside: bool = False) -> Plan[None]:
        """Add all of it to this minute; `inside`: of a transaction of the caller's."""
        lost = self._crashes.keys() | self._dead | self._cancelled
        if not lost:
            return
        answer = yield Statement("named", {"ids": pack_ids(sorted(lost))})
        tallies: dict[tuple[str, str], Tally] = {}
        errors: dict[str, ErrorTally] = {}
        for job_id, queue, kind in answer.rows:
            tally = tallies.setdefault((queue, kind), Tally(queue, kind))
            tally.failed += job_id in self._crashes
            tally.dead += job_id in self._dead
            tally.cancelled += job_id in self._cancelled
            if job_id in self._crashes or job_id in self._dead:
                group = self._group(errors, kind, job_id)
                group.count += 1
                group.dead += job_id in self._dead
        here = secrets.token_hex(8) if inside else f"{os.getpid()}-{threading.get_ident()}"
        source = f"store {_HERE}-{here}"
        yield from add_figures(source, list(tallies.values()), list(errors.values()), inside=True, now=now)

    def _group(self, errors: dict[str, ErrorTally], kind: str, job_id: str) -> ErrorTally:
        words = self._crashes.get(job_id)
        error_kind, alike = ("Expired", _EXPIRED) if words is None else ("Crash", VANISHED)
        name = fingerprint(kind, error_kind, alike, None)
        group = errors.get(name)
        if group is None:
            group = errors[name] = ErrorTally(name, kind, error_kind, alike, job_id)
        group.message, group.sample_id = (words or alike)[:_LONGEST], job_id
        return group
