"""What a worker counts: jobs done, failed, dead and cancelled, how long they waited and ran, and which failures are alike.

It is counted in memory, a batch of settles at a time, and told to the store every few seconds and when the worker ends. A
worker that is killed takes the last seconds of figures with it, never a job. While the store is away nothing is told, and
what a telling that failed held is dropped: whether it was heard is not known, and figures are not to count twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from tenure.client.queue import Queue
from tenure.figures import ErrorTally, Tally
from tenure.fingerprint import fingerprint, own_frame
from tenure.job import Claim
from tenure.outcome import Bury, Cancelled, Crashed, Done, Fail, Outcome
from tenure.store.upkeep import MAX_CRASHES

__all__ = ["Figures"]

_EVERY = 4.0
"""How often it is told at most, in seconds: with the next beat after it."""
_GROUPS = 500
"""How many kinds of failures are told apart between two tellings; beyond, only by kind and type."""
_SAMPLE = 25
"""How many jobs alike stand for all of a batch in how long they took."""


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

    def count(self, ended: Sequence[tuple[Claim, Outcome]]) -> None:
        """These jobs were settled, and the store has heard it."""
        if not ended:
            return
        with self._lock:
            if _alike(ended):
                claim = ended[0][0]
                sample = [claim for claim, _ in ended[:: _weight(ended)]]
                self._count_done((claim.queue, claim.kind), sample, len(ended))
                return
            done, others = _by_key(ended)
            for key, claims in done.items():
                self._count_done(key, claims[:: _weight(claims)], len(claims))
            for claim, outcome in others:
                if isinstance(outcome, (Fail, Bury, Crashed)):
                    self._count_failure(claim, outcome)
                elif isinstance(outcome, Cancelled):
                    self._tally((claim.queue, claim.kind)).cancelled += 1

    def _count_done(self, key: tuple[str, str], sample: Sequence[Claim], count: int) -> None:
        tally = self._tally(key)
        tally.done += count
        self._count_times(tally, sample, count)

    def _count_times(self, tally: Tally, sample: Sequence[Claim], count: int) -> None:
        """How long they waited and ran; the sample stands for so many."""
        weight, rest = divmod(count, len(sample))
        offset = self._offset
        waited = [claim.began + offset - max(claim._row[10], claim._row[11]) / 1_000_000 for claim in sample]  # noqa: SLF001 - a property costs as much as all else here
        ran = [claim.ended - claim.began for claim in sample]
        for histogram, seconds in ((tally.waited, waited), (tally.ran, ran)):
            histogram.add_all(seconds, weight)
            if rest:
                histogram.add_all(seconds[:rest])  # so that as many have times as were counted

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
        self._count_times(tally, [claim], 1)
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
        group.message, group.sample_id, group.frame = words, claim.id, own_frame(trace)


def _alike(ended: Sequence[tuple[Claim, Outcome]]) -> bool:
    """Whether all of a batch are done, and of one kind in one queue: most are, and this is all that is asked of each."""
    first = ended[0][0]
    kind, queue = first.kind, first.queue
    for claim, outcome in ended:
        if type(outcome) is not Done or claim.kind != kind or claim._row[4] != queue:  # noqa: SLF001 - a property costs twice as much
            return False
    return True


def _weight(jobs: Sequence[object]) -> int:
    """For how many each of a sample stands: to look at the times of all would cost a large batch too much."""
    return max(len(jobs) // _SAMPLE, 1)


def _by_key(
    ended: Sequence[tuple[Claim, Outcome]],
) -> tuple[dict[tuple[str, str], list[Claim]], list[tuple[Claim, Outcome]]]:
    """Those that are done, by queue and kind; and all others. By kind first: most kinds have one queue."""
    kinds: dict[str, list[Claim]] = {}
    others = []
    for pair in ended:
        claim, outcome = pair
        if type(outcome) is not Done:
            others.append(pair)
            continue
        try:
            kinds[claim.kind].append(claim)
        except KeyError:
            kinds[claim.kind] = [claim]
    found: dict[tuple[str, str], list[Claim]] = {}
    for kind, claims in kinds.items():
        queue = claims[0].queue
        if all([claim._row[4] == queue for claim in claims]):  # noqa: C419, SLF001 - a generator and a property cost twice as much
            found[queue, kind] = claims
            continue
        for claim in claims:
            found.setdefault((claim.queue, kind), []).append(claim)
    return found, others


def _told(outcome: Fail | Bury | Crashed) -> tuple[str, str, str | None]:
    if isinstance(outcome, Fail):
        return outcome.kind, str(outcome.error), outcome.traceback
    if isinstance(outcome, Bury):
        return outcome.kind, str(outcome.error or outcome.reason), outcome.traceback
    return "Crash", str(outcome.error), None


def _died(claim: Claim, outcome: Fail | Bury | Crashed) -> bool:
    """Whether the job is dead of it, as far as its worker can know: one that expired meanwhile, or was to be cancelled, is not told apart."""
    if isinstance(outcome, Fail):
        return bool(claim.attempt >= claim.row[8])
    return isinstance(outcome, Bury) or bool(claim.row[9] + 1 >= MAX_CRASHES)
