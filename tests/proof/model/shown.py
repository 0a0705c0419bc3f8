"""What a store shows, read in every way there is to read a job, and compared with the model after every call.

All jobs are listed each time; those that a call touched are also looked up one by one, with the web request that they were made
from, and of those that are gone nothing may be left. Counts which calls changed something and which did not, and the reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import tenure
from tests.proof.model.reference import Reference
from tests.proof.model.spoken import differences, micros, new, request_of
from tests.proof.model.words import STATES, Ask, Job

__all__ = ["Shown"]

_NOT_CLAIMED = ("outcome", "reason", "cancel_at")
"""What a claim does not carry: it tells of the job as it begins to run."""


class Shown:
    """Reads a store, and holds what it tells against the model."""

    def __init__(self, q: tenure.Queue, model: Reference, counts: Counter[str]) -> None:
        self.q, self.model, self.counts = q, model, counts
        self._last: tuple[object, ...] = ({}, {}, {})

    def after(self, verb: str, touched: Iterable[str]) -> None:
        """All that is there is as it should be, now that `verb` was said, and so is each job that it touched."""
        jobs = self.model.jobs
        seen = {str(job.id): job for job in self.q.list(limit=10_000)}
        assert seen.keys() == jobs.keys(), f"after {verb} other jobs are there than should be"
        wrong = {i: odd for i, job in jobs.items() if (odd := differences(seen[i], job))}
        assert not wrong, f"after {verb}, as (store, contract): {wrong}"
        order = sorted(seen, key=lambda job_id: seen[job_id].seq)
        assert order == list(jobs), f"after {verb} the jobs stand in another order"
        now = (seen, dict(self.model.pauses), dict(self.model.beats))
        self.counts["writes" if now != self._last else "idle calls"] += 1
        self.counts["reads"] += 1
        self._last = now
        for job_id in dict.fromkeys(touched):
            self._one(verb, job_id, seen.get(job_id))

    def _one(self, verb: str, job_id: str, seen: tenure.JobSeen | None) -> None:
        """A job, by its id."""
        self.same(f"get after {verb}", self.q.get(job_id), seen)
        job = self.model.jobs.get(job_id)
        if job is None or job.ask.request is not None:
            request = request_of(self.q.request(job_id))
            self.same(f"request after {verb}", request, None if job is None else job.ask.request)
        if job is None:
            self.same(f"history after {verb}", self.q.history(job_id), [])

    def same(self, what: str, told: object, right: object) -> None:
        """One thing that is read."""
        self.counts["reads"] += 1
        assert told == right, f"{what}: the store answers {told!r}, the contract says {right!r}"

    def claimed(self, claim: tenure.Claim, job: Job) -> None:
        """A claim carries its job, whole."""
        wrong = differences(claim.job, job, _NOT_CLAIMED)
        assert not wrong, f"a claim of {job.id}, as (store, contract): {wrong}"
        short = (claim.kind, claim.queue, claim.group, claim.attempt, claim.timeout, claim.payload_text)
        seen = claim.job
        seconds = None if job.ask.timeout is None else job.ask.timeout / 1_000_000
        assert short == (seen.kind, seen.queue, seen.group, seen.attempt, seconds, seen.payload_text)
        assert claim.apart == (job.crashes > 0 or seen.suspect)

    def everything(self, ask: Ask) -> None:
        """Counts, pauses, the next due moment, who holds a key, and lists by what a job is or carries."""
        model = self.model
        self.same("counts", self.q.counts(), model.counts())
        due = model.next_due()
        self.same("next_due", self.q.next_due(), None if due is None else due / 1_000_000)
        paused = {queue: micros(since) for queue, since in self.q.paused().items()}
        self.same("paused", paused, {q: since for q, since in model.pauses.items() if since is not None})
        self.same("holder", self.q.holder(new(ask)), model.holder(ask))
        jobs = [*model.jobs.values()]
        for state in STATES:
            self._listed(tenure.Filter(states=[state]), [j for j in jobs if j.state == state])
        for name in ("group", "tenant", "flow", "parent"):
            if (value := getattr(ask, name)) is not None:
                alike = [j for j in jobs if getattr(j.ask, name) == value]
                self._listed(tenure.Filter(**{name: value}), alike)
        if ask.tags:
            self._listed(tenure.Filter(tag=ask.tags), [j for j in jobs if {*ask.tags} <= {*j.ask.tags}])

    def _listed(self, which: tenure.Filter, right: Iterable[Job]) -> None:
        listed = {job.id for job in self.q.list(which, limit=1_000)}
        self.same(f"list {which}", listed, {job.id for job in right})

    def at_last(self) -> None:
        """What is not looked at after every call: requests, none of which was mixed up, and histories."""
        self.after("all of it", [])  # of jobs that only the model has nothing more can be asked
        for job in self.model.jobs.values():
            self.same("request", request_of(self.q.request(job.id)), job.ask.request)
            if not job.story:
                continue
            told = self.q.history(job.id)
            seen = [
                (a.epoch, a.attempt, a.worker, micros(a.started_at), micros(a.finished_at), a.error_kind)
                for a in told
            ]
            kept = [(epoch, *attempt[:5]) for epoch, attempt in sorted(job.story.items())]
            self.same("history", seen, kept)
            for attempt, (_, own) in zip(told, sorted(job.story.items()), strict=True):
                assert own.message is None or attempt.message == own.message
