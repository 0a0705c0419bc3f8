"""What holds whatever the verb: the fence, the line, the slots of groups, and how a job ends, goes back or comes back.

`Reference` says the verbs in these rules. A rule stands in one method, so that a broken one can take its place.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Self

from tests.proof.model.words import SECOND, SUSPECT, Ask, Attempt, Job, Move, Outcome, State, Ticket, in_line

__all__ = ["ALIVE", "POISON", "Rules", "suspicion"]

ALIVE: Final = 30 * SECOND
"""How long after its last beat a worker counts as alive."""
POISON: Final = "poison"
_FIRST, _CAP = 60 * SECOND, 3_600 * SECOND


class Rules:
    """The jobs, and the rules they obey. `now` is the store's clock; nobody else's counts."""

    def __init__(self, *, max_crashes: int = 3, alive: int = ALIVE) -> None:
        self.max_crashes, self.alive_for = max_crashes, alive
        self.now = 0
        self.jobs: dict[str, Job] = {}
        self.arrived = 0
        self.periods: dict[tuple[str, str], tuple[str, int]] = {}
        self.beats: dict[str, int] = {}
        self.pauses: dict[str, int | None] = {}
        self.moves: list[Move] = []
        self._freed: list[str] = []

    def copy(self) -> Self:
        """The same, as a world of its own; what has moved is forgotten."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.jobs = {name: job.copy() for name, job in self.jobs.items()}
        twin.periods, twin.beats, twin.pauses = dict(self.periods), dict(self.beats), dict(self.pauses)
        twin.moves, twin._freed = [], []
        return twin

    # The fence: who may speak for a job.

    def fenced(self, ticket: Ticket) -> Job | None:
        """The job, if this ticket stands: it runs under this very epoch.

        The lease is not asked for: one that ran out and that nobody took back may still be settled by its owner.
        """
        job = self.jobs.get(ticket.job)
        return job if job is not None and job.state == "running" and job.epoch == ticket.epoch else None

    def alive(self, worker: str | None) -> bool:
        """Whether the worker has beaten lately: a lease that it lost is then no crash."""
        return worker in self.beats and self.beats[worker] > self.now - self.alive_for

    # Unique keys: in flight, or for a period that outlives the job.

    def holder(self, ask: Ask) -> str | None:
        """The job that an enqueue of this would be a duplicate of."""
        if ask.unique is None:
            return None
        if ask.unique_for is not None:
            job, until = self.periods.get((ask.kind, ask.unique), ("", self.now))
            return job if until > self.now else None
        return next((j.id for j in self.jobs.values() if self.keeps_slot(j) and _alike(j.ask, ask)), None)

    def keeps_slot(self, job: Job) -> bool:
        """In flight: any pending state, or running. The slot frees when the job ends."""
        return not job.finished

    # Groups: the first n jobs of a key have its slots; the others wait.

    def admit(self, *groups: str) -> None:
        """Who has freed a slot, or put a job behind one, wakes the next in the same call."""
        for group in dict.fromkeys([*self._freed, *groups]):
            mine = [j for j in self.jobs.values() if j.ask.group == group]
            line = sorted((j for j in mine if j.state == "waiting"), key=in_line)
            room = line[0].ask.limit - sum(j.held for j in mine) if line else 0
            for job in line[: max(room, 0)]:
                self.move(job, "admit", "ready")
                job.held = True
        self._freed.clear()

    def free(self, job: Job) -> None:
        """The job has no slot any more."""
        job.held = False
        if job.ask.group is not None:
            self._freed.append(job.ask.group)

    # How a job ends, goes back to the line, or comes back to it.

    def move(self, job: Job, cause: str, state: State) -> None:
        """Every change of a state passes here."""
        self.moves.append(Move(job.id, cause, job.state, state))
        job.state = state

    def finish(
        self,
        job: Job,
        cause: str,
        state: State,
        *,
        outcome: str | None = None,
        reason: str | None = None,
        error: str | None = None,
        result: int | None = None,
    ) -> None:
        """The job leaves the line, and its slot is free. Done clears the last error; a cancelled job says why."""
        self.move(job, cause, state)
        job.finished_at, job.lease_until, job.doubt, job.was = self.now, None, None, None
        job.outcome, job.result = outcome, result
        job.reason = (reason or job.reason or "cancelled") if state == "cancelled" else reason
        job.error = None if state == "done" else error or job.error
        self.free(job)

    def back(self, job: Job, cause: str, run_at: int, outcome: str | None = None) -> None:
        """The job goes back to the line; with order "start" it steps aside while it waits for later."""
        later = run_at > self.now
        self.move(job, cause, "scheduled" if later else "ready")
        job.run_at, job.lease_until, job.worker, job.doubt = run_at, None, None, None
        job.outcome = outcome or job.outcome
        if later and self.steps_aside(job):
            self.free(job)

    def steps_aside(self, job: Job) -> bool:
        """Whether a job that waits for later gives its slot away; with order "strict" it holds its successors."""
        return job.ask.group is not None and job.ask.order == "start"

    def untried(self, job: Job) -> None:
        """A job that was given back unstarted has not started, unless it had before."""
        if job.attempt == 0 and job.crashes == 0:
            job.started_at = None

    def take_back(self, job: Job, cause: str, doubt: int | None) -> None:
        """The job is taken from its worker, which is no fault of the job: the attempt is given back, the epoch grows."""
        waited = job.doubt is not None
        job.epoch, job.attempt = job.epoch + 1, job.given_back
        if job.cancel_at is not None:
            self.finish(job, cause, "cancelled")
            return
        if waited:
            self.untried(job)
        self.back(job, cause, job.run_at)
        job.doubt = doubt

    def crash(self, job: Job, cause: str, words: str = "", outcome: str | None = None) -> None:
        """The job had started and its process is gone: the attempt is given back, a crash is counted, too many are the end."""
        self.tell(job, "Crash", words or None, cause)
        job.attempt, job.crashes = job.given_back, job.crashes + 1
        if outcome is None:  # taken away, not settled
            job.epoch += 1
        if job.cancel_at is not None:
            self.finish(job, cause, "cancelled", outcome=outcome)
        elif job.crashes >= self.max_crashes:
            self.finish(job, cause, "dead", outcome=outcome, reason="poison", error=POISON)
        else:
            self.back(job, cause, job.run_at, outcome)

    def fail(self, job: Job, outcome: Outcome) -> None:
        """The attempt failed: tried again later, or dead at max_attempts or past its expiry; cancelled if it was asked."""
        self.tell(job, "Error", outcome.text, "fail")
        wait = min(_FIRST << (job.attempt - 1), _CAP) if outcome.delay is None else outcome.delay
        if job.cancel_at is not None:
            self.finish(job, "fail", "cancelled", outcome="fail", error=outcome.text)
        elif job.attempt >= job.ask.max_attempts:
            self.finish(job, "fail", "dead", outcome="fail", reason="failed", error=outcome.text)
        elif job.expires_at is not None and job.expires_at <= self.now:
            self.finish(job, "fail", "dead", outcome="fail", reason="expired", error=outcome.text)
        else:
            job.error = outcome.text
            self.back(job, "fail", self.now + wait, "fail")

    def tell(self, job: Job, kind: str, message: str | None, by: str) -> None:
        """The attempt goes into the job's history."""
        job.story[job.epoch] = Attempt(
            job.attempt, job.worker, job.started_at, self.now, kind, message, by
        )  # fmt: skip

    def come_back(self, job: Job, cause: str, delay: int = 0) -> bool:
        """A finished job enters the line again, at its end or later; not if its unique slot is taken meanwhile."""
        if job.ask.unique_for is None and self.holder(job.ask) is not None:
            return False
        self.move(job, cause, "scheduled" if delay else "ready" if job.ask.group is None else "waiting")
        job.run_at, job.finished_at, job.cancel_at, job.worker = self.now + delay, None, None, None
        job.was = None
        job.reason = job.error = job.result = job.progress = None
        self.free(job)
        return True

    def absolve(self, lost: Collection[Ticket]) -> None:
        """Workers taken for vanished came back: what `reclaim` counted as their crashes were none.

        A job that died of them is in the line again. A crash that somebody saw stands.
        """
        wronged: list[Job] = []
        for ticket in lost:
            job = self.jobs.get(ticket.job)
            crash = None if job is None else job.story.get(ticket.epoch)
            if job is None or crash is None or crash.by != "reclaim":
                continue
            job.story[ticket.epoch] = crash._replace(kind="LeaseLost", message=None, by=None)
            job.crashes = max(job.crashes - 1, 0)
            wronged.append(job)
        for job in sorted(wronged, key=lambda j: j.seq):
            if job.state == "dead" and job.reason == "poison" and job.crashes < self.max_crashes:
                self.come_back(job, "absolve")
        self.admit()


def _alike(one: Ask, other: Ask) -> bool:
    return one.unique_for is None and (one.kind, one.unique) == (other.kind, other.unique)


def suspicion(job: Job) -> int | None:
    """The doubt that stays with a job given back unstarted."""
    return SUSPECT if job.doubt == SUSPECT else None
