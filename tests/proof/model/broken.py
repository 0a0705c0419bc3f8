"""Models with one rule broken each, as queues have had them broken. The laws must catch every one: else they prove nothing.

Each is the reference with one method replaced, the law that it is to break, and the scene in which that can be seen.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from tests.proof.model import laws, laws_around
from tests.proof.model.broken_around import AROUND
from tests.proof.model.laws import Law
from tests.proof.model.reference import LEASE, Reference
from tests.proof.model.words import Ask, Job, Outcome, State, Ticket
from tests.proof.model.world import Scene

__all__ = ["BROKEN", "Broken"]

_ONE = Scene(
    name="one job",
    jobs={"a": Ask(max_attempts=2)},
    outcomes=("done", "fail", "snooze", "release"),
    vanishes=False,
)
_GROUP = Scene(name="strict", jobs=dict.fromkeys("ab", Ask(group="g")), outcomes=("done", "fail"))
_UNIQUE = Scene(name="unique", jobs=dict.fromkeys("ab", Ask(unique="u")), outcomes=("done", "fail"))


class SettlesByStateOnly(Reference):
    """A settle asks whether the job runs, not who runs it."""

    def fenced(self, ticket: Ticket) -> Job | None:
        job = self.jobs.get(ticket.job)
        return job if job is not None and job.state == "running" else None


class SettlesByIdOnly(Reference):
    """A settle asks nothing: whoever comes last is right."""

    def fenced(self, ticket: Ticket) -> Job | None:
        return self.jobs.get(ticket.job)


class RefusesLateSettles(Reference):
    """A settle after the lease is refused, though nobody took the job back."""

    def fenced(self, ticket: Ticket) -> Job | None:
        job = super().fenced(ticket)
        return None if job is None or self.overdue(job) else job


class RenewsWithoutFence(Reference):
    """A late heartbeat steals a job back."""

    def renew(
        self, *tickets: Ticket, lease: int = LEASE, started: Collection[str] = ()
    ) -> tuple[set[str], set[str], set[str]]:
        running = [t for t in tickets if t.job in self.jobs and self.jobs[t.job].state == "running"]
        now = [t._replace(epoch=self.jobs[t.job].epoch) for t in running]
        return super().renew(*now, *(t for t in tickets if t not in running), lease=lease, started=started)


class RenewsInVain(Reference):
    """A renewed lease does not help: what runs for long is run twice."""

    def renew(
        self, *tickets: Ticket, lease: int = LEASE, started: Collection[str] = ()
    ) -> tuple[set[str], set[str], set[str]]:
        return super().renew(*tickets, lease=0, started=started)


class TakesFromTheLiving(Reference):
    """A claim that finds nothing takes what somebody else runs."""

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        queues: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        except_queues: Collection[str] = (),
        lease: int = LEASE,
        started: bool = True,
    ) -> list[Ticket]:
        running = [job for job in self.jobs.values() if job.state == "running" and job.worker != worker]
        return super().claim(worker, limit, lease=lease) or [
            self.take(j, worker, lease, started=started) for j in running
        ]


class ReclaimsAtOnce(Reference):
    """Reclaim does not look at leases."""

    def overdue(self, job: Job) -> bool:
        return job.state == "running"


class KeepsTheEpochAtClaim(Reference):
    """The epoch grows only when a claim is taken away."""

    def take(self, job: Job, worker: str, lease: int, *, started: bool) -> Ticket:
        ticket = super().take(job, worker, lease, started=started)
        job.epoch -= 1
        return ticket._replace(epoch=job.epoch)


class ReplaysFromEpochZero(Reference):
    """Replay makes a new job of it, epoch and all."""

    def come_back(self, job: Job, cause: str, delay: int = 0) -> bool:
        job.epoch = 0
        return super().come_back(job, cause, delay)


class ReclaimBurnsAttempts(Reference):
    """An attempt is burnt by a lease that was lost."""

    def take_back(self, job: Job, cause: str, doubt: int | None) -> None:
        attempt = job.attempt
        super().take_back(job, cause, doubt)
        job.attempt = attempt


class ReleaseBurnsAttempts(Reference):
    """An attempt is burnt by a job that was given back."""

    def decide(self, job: Job, outcome: Outcome) -> None:
        attempt = job.attempt
        super().decide(job, outcome)
        if outcome.name == "release":
            job.attempt = attempt


class ForgetsCrashes(Reference):
    """A crash is taken for a lost lease: poison runs for ever."""

    def crash(self, job: Job, cause: str, words: str = "", outcome: str | None = None) -> None:
        self.take_back(job, cause, None)


class BlamesWorkersThatLive(Reference):
    """A lease lost by a worker that lives is taken for a crash."""

    def alive(self, worker: str | None) -> bool:
        return False


class FreesTheKeyAtClaim(Reference):
    """In flight is taken to mean pending."""

    def keeps_slot(self, job: Job) -> bool:
        return not job.finished and job.state != "running"


class ReplaysOverATakenKey(Reference):
    """Replay does not look whether the unique slot is taken meanwhile."""

    def come_back(self, job: Job, cause: str, delay: int = 0) -> bool:
        ask, job.ask = job.ask, Ask(group=job.ask.group)
        back = super().come_back(job, cause, delay)
        job.ask = ask
        return back


class FreesASlotByAStaleSettle(Reference):
    """A settle that is refused still frees the group's slot."""

    def settle(self, *settles: tuple[Ticket, Outcome]) -> list[bool]:
        for ticket, _ in settles:
            if self.fenced(ticket) is None and ticket.job in self.jobs:
                self.free(self.jobs[ticket.job])
        return super().settle(*settles)


class StepsAsideAlways(Reference):
    """A failed head lets its successors by, whatever the order."""

    def steps_aside(self, job: Job) -> bool:
        return job.ask.group is not None


class WakesNobody(Reference):
    """Who ends in a group forgets to wake the next."""

    def free(self, job: Job) -> None:
        job.held = False


class WakesLate(Reference):
    """Who ends in a group leaves it to somebody else to wake the next."""

    def admit(self, *groups: str) -> None:
        if not any(move.cause == "done" for move in self.moves):
            super().admit(*(job.ask.group for job in self.jobs.values() if job.ask.group is not None))


class AdmitsOneTooMany(Reference):
    """The group's room is counted without who runs."""

    def admit(self, *groups: str) -> None:
        running = [job for job in self.jobs.values() if job.held and job.state == "running"]
        for job in running:
            job.held = False
        super().admit(*groups)
        for job in running:
            job.held = True


class CancelsWhatIsDone(Reference):
    """Cancel overwrites an end."""

    def cancel(self, job_id: str, reason: str = "cancelled") -> str:
        job = self.jobs[job_id]
        if job.state == "done":
            self.finish(job, "cancel", "cancelled", reason=reason)
            return "cancelled"
        return super().cancel(job_id, reason)


class ForgetsThatItWasAsked(Reference):
    """A job that was asked to cancel goes back to the line when its worker is gone."""

    def take_back(self, job: Job, cause: str, doubt: int | None) -> None:
        job.cancel_at = None
        super().take_back(job, cause, doubt)

    def crash(self, job: Job, cause: str, words: str = "", outcome: str | None = None) -> None:
        job.cancel_at = None
        super().crash(job, cause, words, outcome)


class DeletesTheDead(Reference):
    """A job that dies is gone."""

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
        super().finish(job, cause, state, outcome=outcome, reason=reason, error=error, result=result)
        if state == "dead":
            del self.jobs[job.id]


class TakesASnoozeForTheEnd(Reference):
    """A job that is to run later is done."""

    def back(self, job: Job, cause: str, run_at: int, outcome: str | None = None) -> None:
        super().back(job, cause, run_at, outcome)
        if cause == "snooze":
            self.finish(job, cause, "done")


class StrandsTheReclaimed(Reference):
    """What is taken back waits for a group that it is not in, and nobody moves it."""

    def back(self, job: Job, cause: str, run_at: int, outcome: str | None = None) -> None:
        super().back(job, cause, run_at, outcome)
        if cause == "reclaim":
            job.run_at = 1 << 40
            job.state = "scheduled"


class ForgetsWhatItWasTold(Reference):
    """A settle said again after a lost answer is refused."""

    def stands(self, ticket: Ticket, outcome: Outcome) -> bool:
        return super().stands(ticket, outcome) and any(move.job == ticket.job for move in self.moves)


class Broken(NamedTuple):
    """A broken model, the law it breaks, and where."""

    model: type[Reference]
    law: Law
    scene: Scene


BROKEN: Final = (
    Broken(SettlesByStateOnly, laws.a_lost_claim_changes_nothing, _ONE),
    Broken(SettlesByIdOnly, laws.a_lost_claim_changes_nothing, _ONE),
    Broken(RefusesLateSettles, laws.a_claim_that_stands_is_heard, _ONE),
    Broken(RenewsWithoutFence, laws.a_lost_claim_changes_nothing, _ONE),
    Broken(RenewsInVain, laws.a_claim_that_stands_is_heard, _ONE),
    Broken(TakesFromTheLiving, laws.a_job_has_one_holder, _ONE),
    Broken(ReclaimsAtOnce, laws.a_lease_is_kept, _ONE),
    Broken(KeepsTheEpochAtClaim, laws.epochs_only_grow, _ONE),
    Broken(ReplaysFromEpochZero, laws.epochs_only_grow, _ONE),
    Broken(ReclaimBurnsAttempts, laws.only_failures_burn_attempts, _ONE),
    Broken(ReleaseBurnsAttempts, laws.only_failures_burn_attempts, _ONE),
    Broken(ForgetsCrashes, laws.crashes_are_counted, _ONE),
    Broken(BlamesWorkersThatLive, laws.crashes_are_counted, _ONE),
    Broken(FreesTheKeyAtClaim, laws.a_key_is_in_flight_once, _UNIQUE),
    Broken(ReplaysOverATakenKey, laws.a_key_is_in_flight_once, _UNIQUE),
    Broken(FreesASlotByAStaleSettle, laws.a_lost_claim_changes_nothing, _GROUP),
    Broken(StepsAsideAlways, laws.a_strict_group_keeps_its_order, _GROUP),
    Broken(WakesNobody, laws.nobody_is_stuck, _GROUP),
    Broken(WakesLate, laws.nobody_is_forgotten, _GROUP),
    Broken(AdmitsOneTooMany, laws.a_group_keeps_its_limit, _GROUP),
    Broken(CancelsWhatIsDone, laws.an_end_is_an_end, _ONE),
    Broken(ForgetsThatItWasAsked, laws.a_cancel_is_heeded, _ONE),
    Broken(DeletesTheDead, laws.no_job_is_lost, _ONE),
    Broken(TakesASnoozeForTheEnd, laws_around.an_outcome_is_what_it_says, _ONE),
    Broken(StrandsTheReclaimed, laws.nobody_is_stuck, _ONE),
    Broken(ForgetsWhatItWasTold, laws.a_lost_claim_changes_nothing, _ONE),
    *(Broken(*each) for each in AROUND),
)
