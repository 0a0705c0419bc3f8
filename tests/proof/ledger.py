"""The ledger of a fault run: what was promised to whom, what was done, and that the two balance.

Whoever enqueues writes down each id once `enqueue` has returned it (`Acks`), whoever handles writes down each run (`Effects`).
At the end `balance` compares both with the store, and `intact` asks the database to check itself:

    at_rest(q)
    sums = balance(q, Acks(path).read(), effects=Effects(other).read(), g4={"effect": rows})
    intact(url)
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import tenure
from tests.proof.intact import intact
from tests.proof.notes import Acks, Effect, Effects
from tests.proof.runs import Lost, Runs, check_runs, nobody

__all__ = ["Acks", "Balance", "Effect", "Effects", "JobsLost", "at_rest", "balance", "intact", "stored"]

_ENDED = ("done", "dead", "cancelled")
_GOES_ON = ("ready", "running", "waiting", "scheduled")


class JobsLost(AssertionError):
    """Jobs that were acknowledged are not there. How many is counted, though the test that finds it fails."""

    def __init__(self, jobs: Collection[str], told: str) -> None:
        super().__init__(told)
        self.losses = len(jobs)


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
    taken_away: int
    """Effects whose claim was lost without a word of it in the job's history."""
    crashes: int
    """Crashes that the store counted."""
    refused: int
    """Settles of lost claims, all of them refused."""
    losses: int
    """Jobs that were acknowledged and are not there. With one the balance raises, and its JobsLost counts them."""


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
    lost: Lost = nobody,
    stale: Iterable[bool] = (),
    allow: Collection[str] | Callable[[tenure.JobSeen], Collection[str]] = _ENDED,
) -> Balance:
    """Compare what was promised with what the store holds; raises where a line does not balance.

    `acked` are the ids that enqueues returned: each of them is there. `tried` are ids that were sent and perhaps never
    answered: where it is given, nothing else is there. `allow` are the states jobs may rest in, or those of each. `effects` are
    what handlers did outside: every job that is done ran in the claim that ended it, no claim ran twice, and whatever ran again
    had crashed, failed or snoozed, or had lost its claim without a word in history, as often as `lost` allows its worker to.
    `g4` maps each kind whose handlers settle in their own transaction to the ids they wrote there: one for every such job that
    is done, and none besides. `stale` are the answers to settles of lost claims.
    """
    jobs: dict[str, tenure.JobSeen] = {job.id: job for job in stored(q)}
    promised = set(acked)
    gone = promised - jobs.keys()
    if gone:
        raise JobsLost(gone, f"{len(gone)} jobs were acknowledged and are not there: {sorted(gone)[:3]}")
    if tried is not None:
        strange = jobs.keys() - promised - set(tried)
        assert not strange, f"{len(strange)} jobs are there that nobody enqueued: {sorted(strange)[:3]}"
    states = Counter(job.state.value for job in jobs.values())
    astray = Counter(
        (job.kind, job.state.value)
        for job in jobs.values()
        if job.state.value not in (allow(job) if callable(allow) else allow)
    )
    assert not astray, f"jobs rest where none should: {dict(astray)}"
    assert q.pulse(overdue_by=0).overdue_leases == 0, "a lease is overdue at rest"
    refused = [not stood for stood in stale]
    assert all(refused), f"{refused.count(False)} settles of lost claims were not refused"
    runs = Runs(0, 0) if effects is None else check_runs(q, jobs, effects, lost=lost)
    for kind, rows in (g4 or {}).items():
        _inside(jobs, kind, rows)
    return Balance(
        acked=len(promised),
        stored=len(jobs),
        done=states["done"],
        dead=states["dead"],
        cancelled=states["cancelled"],
        pending=sum(states[state] for state in _GOES_ON),
        doubled=runs.doubled,
        taken_away=runs.taken_away,
        crashes=sum(job.crashes for job in jobs.values()),
        refused=len(refused),
        losses=len(gone),
    )


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
