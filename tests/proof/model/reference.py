"""The contract of Tenure as a program: every verb on jobs, on one clock, one call at a time.

Read from top to bottom it tells what a job may rely on: **enqueue → claim → run → settle**, and around it **reclaim** and
**retain**. It is what every store must look like from outside; it says nothing of how, and imports nothing of it. The rules
that the verbs share (the fence, the groups, how jobs end) are in `rules.py`, what is done to jobs from outside in `chores.py`.

>>> q = Reference()
>>> q.enqueue(("a", Ask()))
[('a', True)]
>>> [ticket] = q.claim("worker")
>>> q.settle((ticket, Outcome("done")))
[True]
"""

from __future__ import annotations

from collections.abc import Collection

from tests.proof.model.chores import Chores
from tests.proof.model.rules import suspicion
from tests.proof.model.words import (
    SECOND,
    STATES,
    WAITS,
    Ask,
    Job,
    Move,
    Outcome,
    Ticket,
    in_line,
)

__all__ = ["LEASE", "Reference"]

LEASE = 30 * SECOND


class Reference(Chores):
    """The verbs of who enqueues and who works. Each is one transaction: all of it happens, or nothing."""

    # Into the line.

    def enqueue(self, *asks: tuple[str, Ask]) -> list[tuple[str, bool]]:
        """Store jobs under ids that the caller made; each is answered (its id, True) or (who was there before, False).

        A duplicate, by its id or its unique key, is no error and touches nothing: asking again is safe.
        """
        answers = []
        for job_id, ask in asks:
            before = job_id if job_id in self.jobs else self.holder(ask)
            if before is None:
                self._store(job_id, ask)
            answers.append((before or job_id, before is None))
        self.admit(*(ask.group for _, ask in asks if ask.group is not None))
        return answers

    def _store(self, job_id: str, ask: Ask) -> None:
        self.arrived += 1
        job = self.jobs[job_id] = Job(job_id, self.arrived, ask, self.now)
        job.state = "scheduled" if job.run_at > self.now else "ready" if ask.group is None else "waiting"
        self.moves.append(Move(job_id, "enqueue", None, job.state))
        if ask.unique is not None and ask.unique_for is not None:
            self.periods[ask.kind, ask.unique] = (job_id, self.now + ask.unique_for)

    # Out of the line, under a lease.

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
        """Take up to `limit` ready jobs, the first in line first. The chores come before, so nobody else need do them.

        `started=False`: they wait in the worker's buffer until a renew says otherwise.
        """
        self.expire()
        self.promote()
        self.reclaim()
        free = [
            job
            for job in self.jobs.values()
            if job.state == "ready"
            and (job.expires_at is None or job.expires_at > self.now)
            and self.pauses.get(job.ask.queue) is None
            and (queues is None or job.ask.queue in queues)
            and (kinds is None or job.ask.kind in kinds)
            and job.ask.queue not in except_queues
        ]
        return [self.take(job, worker, lease, started=started) for job in sorted(free, key=in_line)[:limit]]

    def take(self, job: Job, worker: str, lease: int, *, started: bool) -> Ticket:
        """A claim adds one to attempt and epoch; its ticket is the only one of that epoch, for ever."""
        self.move(job, "claim", "running")
        job.attempt, job.epoch = job.attempt + 1, job.epoch + 1
        job.worker, job.lease_until, job.started_at = worker, self.now + lease, self.now
        job.doubt = None if started else suspicion(job) or WAITS
        job.progress = None
        return Ticket(job.id, job.epoch, worker)

    def renew(
        self, *tickets: Ticket, lease: int = LEASE, started: Collection[str] = ()
    ) -> tuple[set[str], set[str], set[str]]:
        """Push leases forward; ids kept (those asked to cancel among them), of these the asked ones, and ids lost."""
        kept = [job for ticket in tickets if (job := self.fenced(ticket)) is not None]
        for job in kept:
            job.lease_until = self.now + lease
            if job.id in started:
                job.doubt = None
        lost = [ticket for ticket in tickets if self.fenced(ticket) is None]
        self.absolve(lost)
        asked = {job.id for job in kept if job.cancel_at is not None}
        return {job.id for job in kept}, asked, {ticket.job for ticket in lost}

    def progress(self, ticket: Ticket, done: float) -> bool:
        """How far a held job is; False if the claim is lost."""
        job = self.fenced(ticket)
        if job is not None:
            job.progress = done
        return job is not None

    # How a claim ends.

    def settle(self, *settles: tuple[Ticket, Outcome]) -> list[bool]:
        """End claims; for each, whether its outcome stands.

        Who lost the claim changes nothing and is told so. Who repeats its own settle is told what the first was told; of two
        things said about one claim the first counts.
        """
        for ticket, outcome in settles:
            job = self.fenced(ticket)
            if job is not None:
                job.settled |= {(ticket.epoch, outcome.name)}
                self.decide(job, outcome)
        self.admit()
        stands = [self.stands(ticket, outcome) for ticket, outcome in settles]
        # Who says `crashed` has seen the process go: that crash was counted rightly.
        self.absolve(
            [t for (t, o), true in zip(settles, stands, strict=True) if not true and o.name != "crashed"]
        )
        return stands

    def stands(self, ticket: Ticket, outcome: Outcome) -> bool:
        """Whether this very settle was accepted, now or before."""
        job = self.jobs.get(ticket.job)
        return job is not None and (ticket.epoch, outcome.name) in job.settled

    def decide(self, job: Job, outcome: Outcome) -> None:
        """What an outcome makes of a running job. Only `done` and `bury` do not heed that it was asked to cancel."""
        asked = job.cancel_at is not None
        match outcome.name:
            case "done":
                self.finish(job, "done", "done", outcome="done", result=outcome.result)
            case "fail":
                self.fail(job, outcome)
            case "snooze" | "release" if asked:
                job.attempt = job.given_back
                self.finish(job, outcome.name, "cancelled", outcome=outcome.name)
            case "snooze":
                doubt = suspicion(job)
                job.attempt = job.given_back
                self.back(job, "snooze", self.now + (outcome.delay or 0), "snooze")
                job.doubt = doubt
            case "release":
                doubt = suspicion(job)
                job.attempt, job.epoch = job.given_back, job.epoch + 1
                self.untried(job)
                self.back(job, "release", job.run_at, "release")
                job.doubt = doubt
            case "bury":
                self.tell(job, "Bury", outcome.text or outcome.reason, "bury")
                self.finish(
                    job,
                    "bury",
                    "dead",
                    outcome="bury",
                    reason=outcome.reason,
                    error=outcome.text or outcome.reason,
                )
            case "cancelled":
                self.finish(job, "cancelled", "cancelled", outcome="cancelled", reason=outcome.reason)
            case "crashed":
                self.crash(job, "crashed", outcome.text, "crashed")

    # What people see.

    def counts(self) -> dict[str, dict[str, int]]:
        """Jobs by queue and state, zeros too; a queue that was ever paused is known by its name."""
        queues = sorted({*self.pauses, *(job.ask.queue for job in self.jobs.values())})
        seen = {queue: dict.fromkeys((*STATES,), 0) for queue in queues}
        for job in self.jobs.values():
            seen[job.ask.queue][job.state] += 1
        return {queue: {str(state): n for state, n in states.items()} for queue, states in seen.items()}

    def next_due(self) -> int | None:
        """How long until a scheduled job is due or a lease runs out; 0 if one is overdue."""
        times = [j.run_at for j in self.jobs.values() if j.state == "scheduled"]
        times += [j.lease_until for j in self.jobs.values() if j.lease_until is not None]
        return max(min(times) - self.now, 0) if times else None
