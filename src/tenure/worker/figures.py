"""What a worker counts: jobs done, failed and dead, how long they waited and ran, and which failures are alike.

It is counted in memory, a batch of settles at a time, and told to the store every few seconds and when the worker ends. A
worker that is killed takes the last seconds of figures with it, never a job. While the store is away nothing is told, and
what a telling that failed held is dropped: whether it was heard is not known, and figures are not to count twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence

from tenure.client.queue import Queue
from tenure.figures import ErrorTally, Tally
from tenure.fingerprint import fingerprint
from tenure.job import Claim
from tenure.outcome import Bury, Crashed, Done, Fail, Outcome
from tenure.store.upkeep import MAX_CRASHES

__all__ = ["Figures"]

_EVERY = 4.0
"""How often it is told at most, in seconds: with the next beat after it."""
_GROUPS = 500
"""How many kinds of failures are told apart between two tellings; beyond, only by kind and type."""
Times = tuple[list[float], list[float]]


class Figures:
    """Counts for one worker; one thread counts, another tells."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._errors: dict[str, ErrorTally] = {}
        self._offset = 0.0
        self._due = time.monotonic() + _EVERY

    def received(self, claims: Sequence[Claim]) -> None:
        """These were claimed just now: so the store's clock is known, as far as it matters for how long jobs waited."""
        if claims:
            self._offset = claims[0].row[13] / 1_000_000 - time.monotonic()

    def count(self, ended: Iterable[tuple[Claim, Outcome]]) -> None:
        """These jobs were settled, and the store has heard it."""
        offset = self._offset
        times: dict[tuple[str, str], Times] = {}
        failed: list[tuple[Claim, Fail | Bury | Crashed]] = []
        for claim, outcome in ended:
            if type(outcome) is not Done:
                if not isinstance(outcome, (Fail, Bury, Crashed)):
                    continue
                failed.append((claim, outcome))
            row, began = claim._row, claim.began  # noqa: SLF001 - once a job: a property would cost more than the rest
            key = row[4], row[3]
            found = times.get(key)
            if found is None:
                found = times[key] = ([], [])
            ready, created = row[10], row[11]
            found[0].append(began + offset - (ready if ready > created else created) / 1_000_000)  # noqa: FURB136 - max() costs three times as much
            found[1].append(claim.ran)
        with self._lock:
            for key, (waited, ran) in times.items():
                tally = self._tally(key)
                tally.done += len(ran)
                tally.waited.add_all(waited)
                tally.ran.add_all(ran)
            for claim, outcome in failed:
                self._count_failure(claim, outcome)

    def tell(self, queue: Queue, source: str, *, now: bool = False) -> None:
        """Tell the store what was counted, if it is time."""
        if not now and time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _EVERY
        with self._lock:
            tallies, self._tallies = self._tallies, {}
            errors, self._errors = self._errors, {}
        if tallies or errors:
            queue.add_figures(source, tallies.values(), errors.values())

    def _tally(self, key: tuple[str, str]) -> Tally:
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally(*key)
        return tally

    def _count_failure(self, claim: Claim, outcome: Fail | Bury | Crashed) -> None:
        died = _died(claim, outcome)
        tally = self._tally((claim.queue, claim.kind))
        tally.done -= 1
        tally.failed += 1
        tally.dead += died
        kind, words, trace = _told(outcome)
        name = fingerprint(claim.kind, kind, words, trace)
        if name not in self._errors and len(self._errors) >= _GROUPS:
            name = fingerprint(claim.kind, kind, "", None)
        group = self._errors.get(name)
        if group is None:
            group = self._errors[name] = ErrorTally(name, claim.kind, kind, words, claim.id)
        group.count += 1
        group.dead += died
        group.message, group.sample_id = words, claim.id


def _told(outcome: Fail | Bury | Crashed) -> tuple[str, str, str | None]:
    if isinstance(outcome, Fail):
        return outcome.kind, outcome.error, outcome.traceback
    if isinstance(outcome, Bury):
        return outcome.kind, outcome.error or outcome.reason, outcome.traceback
    return "Crash", outcome.error, None


def _died(claim: Claim, outcome: Fail | Bury | Crashed) -> bool:
    """Whether the job is dead of it, as far as its worker can know: one that expired meanwhile, or was to be cancelled, is not told apart."""
    if isinstance(outcome, Fail):
        return bool(claim.attempt >= claim.row[8])
    return isinstance(outcome, Bury) or bool(claim.row[9] + 1 >= MAX_CRASHES)
