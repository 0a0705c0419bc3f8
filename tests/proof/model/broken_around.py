"""More models with one rule broken: in how claims end, in the line, and in what is done from outside."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from tests.proof.model import laws, laws_around
from tests.proof.model.laws import Law
from tests.proof.model.reference import Reference
from tests.proof.model.words import PENDING, Ask, Job, Outcome, Ticket
from tests.proof.model.world import Scene

__all__ = ["AROUND"]

_LONG = Scene(name="three claims", jobs={"a": Ask(max_attempts=2)}, claims=3, people="")
_TWO = Scene(name="two jobs", jobs=dict.fromkeys("ab", Ask(max_attempts=2)), people="", claims=2)
_QUEUES = Scene(
    name="two queues",
    jobs={"a": Ask(), "b": Ask(queue="bulk")},
    outcomes=("done",),
    people="",
    pauses=("bulk",),
)
_BRIEF = Scene(name="brief", jobs={"a": Ask(max_attempts=3, expires_in=2)}, people="")


class EpochsWrapAround(Reference):
    """The epoch is kept in two bits: a claim of long ago is taken for the one that stands."""

    def fenced(self, ticket: Ticket) -> Job | None:
        job = self.jobs.get(ticket.job)
        far = 1 if job is None else (job.epoch - ticket.epoch) % 4
        return job if job is not None and job.state == "running" and not far else None


class SettlesTwice(Reference):
    """Of two things said about one claim the last counts."""

    def stands(self, ticket: Ticket, outcome: Outcome) -> bool:
        job = self.jobs.get(ticket.job)
        return job is not None and any(epoch == ticket.epoch for epoch, _ in job.settled)


class SnoozeBurnsAttempts(Reference):
    """An attempt is burnt by a job that was put off."""

    def decide(self, job: Job, outcome: Outcome) -> None:
        attempt = job.attempt
        super().decide(job, outcome)
        if outcome.name == "snooze":
            job.attempt = attempt


class SnoozesForNoTime(Reference):
    """A job that was put off is ready at once."""

    def back(self, job: Job, cause: str, run_at: int, outcome: str | None = None) -> None:
        super().back(job, cause, self.now if cause == "snooze" else run_at, outcome)


class BuriesForAWhile(Reference):
    """What is never to be tried again is tried again."""

    def decide(self, job: Job, outcome: Outcome) -> None:
        super().decide(job, outcome._replace(name="fail") if outcome.name == "bury" else outcome)


class TakesCancelledForGivenBack(Reference):
    """A worker that says cancelled is taken to say: not me."""

    def decide(self, job: Job, outcome: Outcome) -> None:
        super().decide(job, outcome._replace(name="release") if outcome.name == "cancelled" else outcome)


class ReleasesToTheDead(Reference):
    """A job that was given back is buried."""

    def decide(self, job: Job, outcome: Outcome) -> None:
        super().decide(job, outcome._replace(name="bury") if outcome.name == "release" else outcome)


class ClaimsWhatIsPaused(Reference):
    """A pause is written down, and nobody looks."""

    def claim(self, worker: str, limit: int = 1, **options: Any) -> list[Ticket]:
        pauses, self.pauses = self.pauses, {}
        taken = super().claim(worker, limit, **options)
        self.pauses = pauses
        return taken


class PausesEveryQueue(Reference):
    """Whoever pauses one queue pauses them all."""

    def claim(self, worker: str, limit: int = 1, **options: Any) -> list[Ticket]:
        return (
            []
            if any(since is not None for since in self.pauses.values())
            else super().claim(worker, limit, **options)
        )


class NeverResumes(Reference):
    """What was paused stays so."""

    def resume(self, queue: str) -> bool:
        return self.pauses.get(queue) is not None


class TakesTheLast(Reference):
    """The line is a heap: who came last goes first."""

    def claim(self, worker: str, limit: int = 1, **options: Any) -> list[Ticket]:
        self.promote()
        self.reclaim()
        for job in self.jobs.values():
            job.seq = -job.seq
        taken = super().claim(worker, limit, **options)
        for job in self.jobs.values():
            job.seq = -job.seq
        return taken


class RunsWhatIsExpired(Reference):
    """A claim does not ask what is too late."""

    def claim(self, worker: str, limit: int = 1, **options: Any) -> list[Ticket]:
        kept = {job.id: job.expires_at for job in self.jobs.values()}
        for job in self.jobs.values():
            job.expires_at = None
        taken = super().claim(worker, limit, **options)
        for job in self.jobs.values():
            job.expires_at = kept[job.id]
        return taken


class ExpiresNobody(Reference):
    """What is too late waits for ever."""

    def expire(self) -> int:
        return 0


class ExpiresWhatRuns(Reference):
    """Expiry ends what runs, too."""

    def expire(self) -> int:
        late = [j for j in self.jobs.values() if j.state == "running" and j.expires_at is not None]
        for job in late:
            if job.expires_at is not None and job.expires_at <= self.now:
                self.finish(job, "expire", "dead", reason="expired")
        return super().expire()


class ForgetsWhatWasTried(Reference):
    """A job that failed is cancelled by its expiry, so nobody hears of it."""

    def expire(self) -> int:
        for job in self.jobs.values():
            late = job.expires_at is not None and job.expires_at <= self.now
            if job.state in PENDING and late:
                job.attempt, job.crashes, job.started_at = 0, 0, None
        return super().expire()


class KeepsTheEpochOfTheVanished(Reference):
    """A claim that is taken from a dead worker is not taken away."""

    def take_back(self, job: Job, cause: str, doubt: int | None) -> None:
        super().take_back(job, cause, doubt)
        job.epoch -= cause == "vanished"


class BlamesWhatOnlyWaited(Reference):
    """Everything in a dead worker's hands has crashed."""

    def vanished(self, worker: str, started: Collection[tuple[str, int]] = (), story: str = "") -> int:
        every = [(job.id, job.epoch) for job in self.jobs.values()]
        return super().vanished(worker, every, story)


class SparesWhatHadStarted(Reference):
    """Nothing in a dead worker's hands has crashed."""

    def vanished(self, worker: str, started: Collection[tuple[str, int]] = (), story: str = "") -> int:
        return super().vanished(worker, (), story)


class TakesFromTheOthersToo(Reference):
    """When one worker goes, every worker loses its jobs."""

    def vanished(self, worker: str, started: Collection[tuple[str, int]] = (), story: str = "") -> int:
        others = {j.worker for j in self.jobs.values() if j.worker is not None and j.worker != worker}
        return super().vanished(worker, started, story) + sum(
            Reference.vanished(self, o) for o in sorted(others)
        )


class LeavesOneBehind(Reference):
    """Of a dead worker's jobs one is forgotten until its lease runs out."""

    def vanished(self, worker: str, started: Collection[tuple[str, int]] = (), story: str = "") -> int:
        mine = [j for j in self.jobs.values() if j.state == "running" and j.worker == worker]
        for job in mine[1:]:
            job.worker = f"{worker} as was"
        return super().vanished(worker, started, story)


AROUND: Final[tuple[tuple[type[Reference], Law, Scene], ...]] = (
    (EpochsWrapAround, laws.a_lost_claim_changes_nothing, _LONG),
    (SettlesTwice, laws.a_lost_claim_changes_nothing, _LONG),
    (SnoozeBurnsAttempts, laws.only_failures_burn_attempts, _TWO),
    (SnoozesForNoTime, laws_around.an_outcome_is_what_it_says, _TWO),
    (BuriesForAWhile, laws_around.an_outcome_is_what_it_says, _TWO),
    (TakesCancelledForGivenBack, laws_around.an_outcome_is_what_it_says, _TWO),
    (ReleasesToTheDead, laws_around.an_outcome_is_what_it_says, _TWO),
    (ClaimsWhatIsPaused, laws_around.a_paused_queue_rests, _QUEUES),
    (PausesEveryQueue, laws_around.a_claim_takes_the_first_in_line, _QUEUES),
    (NeverResumes, laws.nobody_is_stuck, _QUEUES),
    (TakesTheLast, laws_around.a_claim_takes_the_first_in_line, _TWO),
    (RunsWhatIsExpired, laws_around.an_expired_job_is_ended_and_not_run, _BRIEF),
    (ExpiresNobody, laws.nobody_is_stuck, _BRIEF),
    (ExpiresWhatRuns, laws.moves_are_those_of_the_contract, _BRIEF),
    (ForgetsWhatWasTried, laws_around.an_expired_job_is_ended_and_not_run, _BRIEF),
    (KeepsTheEpochOfTheVanished, laws.epochs_only_grow, _TWO),
    (BlamesWhatOnlyWaited, laws_around.who_is_gone_loses_all_and_nobody_else, _TWO),
    (SparesWhatHadStarted, laws_around.who_is_gone_loses_all_and_nobody_else, _TWO),
    (TakesFromTheOthersToo, laws_around.who_is_gone_loses_all_and_nobody_else, _TWO),
    (LeavesOneBehind, laws_around.who_is_gone_loses_all_and_nobody_else, _TWO),
)
