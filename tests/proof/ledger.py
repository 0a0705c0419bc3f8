"""The ledger of a fault run: what was promised to whom, what was done, and that the two balance.

Whoever enqueues writes down each id once `enqueue` has returned it (`Acks`), whoever handles writes down each run (`Effects`).
At the end `balance` compares both with the store, and `intact` asks the database to check itself:

    at_rest(q)
    sums = balance(q, Acks(path).read(), effects=Effects(other).read(), g4={"effect": rows})
    intact(url)
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import tenure
from tests.proof.intact import intact

__all__ = ["Acks", "Balance", "Effect", "Effects", "at_rest", "balance", "intact", "stored"]

_ID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\n)")
_LINE = re.compile(rb"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) (\d+) (\S+)\n")
_ENDED = ("done", "dead", "cancelled")
_GOES_ON = ("ready", "running", "waiting", "scheduled")


def _append(path: Path, text: str) -> None:
    """One write at the file's end, whoever else writes there: what a killed process wrote before is there."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


class Acks:
    """Job ids, one a line, in a file that any number of processes append to. A line that a kill cut short is none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *ids: str) -> None:
        """Write these down: after `enqueue` has returned them."""
        _append(self.path, "".join(f"{job}\n" for job in ids))

    def read(self) -> list[str]:
        """All that were written down so far."""
        return [found.decode() for found in _ID.findall(self._bytes())]

    def count(self) -> int:
        """How many lines there are so far."""
        return self._bytes().count(b"\n")

    def _bytes(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""


class Effect(NamedTuple):
    """One run of a handler, as it wrote it down itself."""

    job: str
    attempt: int
    worker: str


class Effects:
    """What handlers did outside the store: a line "job attempt worker" for each run, in a file they all append to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, claim: tenure.Claim) -> None:
        """Write down that this claim's handler has run."""
        _append(self.path, f"{claim.id} {claim.attempt} {claim.worker}\n")

    def read(self) -> list[Effect]:
        """All of them, in their order."""
        found = _LINE.findall(self.path.read_bytes()) if self.path.exists() else []
        return [Effect(job.decode(), int(attempt), worker.decode()) for job, attempt, worker in found]

    def count(self) -> int:
        """How many lines there are so far."""
        return self.path.read_bytes().count(b"\n") if self.path.exists() else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What became of the jobs of a run whose ledger balances."""

    acked: int
    stored: int
    done: int
    dead: int
    cancelled: int
    pending: int
    doubled: int
    """Effects beyond the first of their job."""
    crashes: int
    """Crashes that the store counted."""
    losses: int = 0
    """Jobs that were acknowledged and are not there. A balance with one is never made: it raises."""


def at_rest(q: tenure.Queue, within: float = 60.0) -> None:
    """Wait until every job has ended: nothing is ready, running, waiting or scheduled.

    However slow the machine is: it is given up only when nothing has changed for `within` seconds.
    """
    left, deadline = _going_on(q), time.monotonic() + within
    while left:
        assert time.monotonic() < deadline, f"these jobs never ended: {left}"
        time.sleep(0.05)
        if (now := _going_on(q)) != left:
            left, deadline = now, time.monotonic() + within


def _going_on(q: tenure.Queue) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for states in q.pulse().counts.values():
        sums.update({state: states.get(state, 0) for state in _GOES_ON})
    return {state: count for state, count in sums.items() if count}


def stored(q: tenure.Queue) -> Iterator[tenure.JobSeen]:
    """Every job that the store has."""
    before: str | None = None
    while True:
        page = q.list(limit=10_000, before=before)
        yield from page
        before = page.before
        if before is None:
            return


def balance(
    q: tenure.Queue,
    acked: Iterable[str],
    *,
    tried: Collection[str] | None = None,
    effects: Sequence[Effect] | None = None,
    g4: Mapping[str, Sequence[str]] | None = None,
    snoozing: Collection[str] = (),
    stale: Iterable[bool] = (),
    allow: Collection[str] = _ENDED,
) -> Balance:
    """Compare what was promised with what the store holds; raises where a line does not balance.

    `acked` are the ids that enqueues returned: each of them is there. `tried` are ids that were sent and perhaps never
    answered: where it is given, nothing else is there. `allow` are the states jobs may rest in. `effects` are what handlers
    did outside: no job more often than it was claimed, which the store tells by its epoch (`snoozing` are kinds that snooze,
    so that their epoch says less). `g4` maps each kind whose handlers settle in their own transaction to the ids they wrote
    there: one for every such job that is done, and none besides. `stale` are the answers to settles of lost claims.
    """
    jobs: dict[str, tenure.JobSeen] = {job.id: job for job in stored(q)}
    promised = set(acked)
    lost = promised - jobs.keys()
    assert not lost, f"{len(lost)} jobs were acknowledged and are not there: {sorted(lost)[:3]}"
    if tried is not None:
        strange = jobs.keys() - promised - set(tried)
        assert not strange, f"{len(strange)} jobs are there that nobody enqueued: {sorted(strange)[:3]}"
    states = Counter(job.state.value for job in jobs.values())
    astray = {state: n for state, n in states.items() if state not in allow}
    assert not astray, f"jobs rest where none should: {astray}"
    assert q.pulse(overdue_by=0).overdue_leases == 0, "a lease is overdue at rest"
    assert not any(stale), "a settle of a lost claim was not refused"
    doubled = 0 if effects is None else _outside(q, jobs, effects, snoozing)
    for kind, rows in (g4 or {}).items():
        _inside(jobs, kind, rows)
    return Balance(
        acked=len(promised),
        stored=len(jobs),
        done=states["done"],
        dead=states["dead"],
        cancelled=states["cancelled"],
        pending=sum(states[state] for state in _GOES_ON),
        doubled=doubled,
        crashes=sum(job.crashes for job in jobs.values()),
    )


def _outside(
    q: tenure.Queue, jobs: Mapping[str, tenure.JobSeen], effects: Sequence[Effect], snoozing: Collection[str]
) -> int:
    """No handler ran more often than its job was claimed; how many runs were not the first of their job."""
    runs = Counter(effect.job for effect in effects)
    for job_id, times in runs.items():
        job = jobs.get(job_id)
        assert job is not None, f"job {job_id} has run, and is not there"
        if times > 1:
            claims = _claims(q, job, snoozes=job.kind in snoozing)
            assert times <= claims, (
                f"job {job_id} ({job.kind}) was claimed {claims} times and ran {times} times"
            )
    return len(effects) - len(runs)


def _claims(q: tenure.Queue, job: tenure.JobSeen, *, snoozes: bool) -> int:
    """How often it was claimed, at most.

    The epoch grows by one at each claim and by one whenever a claim is taken away. A claim that was not taken away ended in
    a failure or a crash, which history tells of, in a snooze, or in the job's end: 2 * claims <= epoch + 1 + told.
    """
    return job.epoch if snoozes else (job.epoch + 1 + len(q.history(job.id))) // 2


def _inside(jobs: Mapping[str, tenure.JobSeen], kind: str, rows: Sequence[str]) -> None:
    """G4: one row for each job of this kind that is done, and none besides."""
    twice = [job for job, times in Counter(rows).items() if times > 1]
    assert not twice, f"{len(twice)} effects in the job's own transaction happened twice: {twice[:3]}"
    done = {job.id for job in jobs.values() if job.kind == kind and job.state == "done"}
    missing, extra = done - set(rows), set(rows) - done
    assert not missing, (
        f"{len(missing)} jobs are done without the effect of their transaction: {sorted(missing)[:3]}"
    )
    assert not extra, f"{len(extra)} effects are there whose job is not done: {sorted(extra)[:3]}"
