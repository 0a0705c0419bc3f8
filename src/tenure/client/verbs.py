"""Every verb a user can say, once: arguments checked here, then a plan for the store.

`Queue`, `AsyncQueue` and the transactions of `using` are faces of this class: same names, same signatures, same errors.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tenure.client.arguments import (
    MAX_LIMIT,
    claim_of,
    due_of,
    filter_of,
    is_plain,
    limit_of,
    many,
    names_of,
    outcome_of,
    pairs_of,
    positive,
    reason_of,
    started_of,
    text_of,
    worker_of,
)
from tenure.client.audit_verbs import AuditVerbs
from tenure.client.call import Call
from tenure.client.figure_verbs import FigureVerbs
from tenure.client.filter_verbs import FilterVerbs
from tenure.client.hook_verbs import HookVerbs
from tenure.client.note_verbs import NoteVerbs
from tenure.client.schedule_verbs import ScheduleVerbs
from tenure.clock import to_micros
from tenure.duration import Duration, micros, parse
from tenure.errors import FieldError, FieldTypeError
from tenure.filters import Filter
from tenure.job import (
    Attempt,
    Cancelling,
    Claim,
    ClaimOwner,
    Enqueued,
    JobId,
    JobSeen,
    Order,
    Renewed,
    Replayed,
    Request,
    State,
)
from tenure.newjob import (
    BareParams,
    NewJob,
    Row,
    bare_params,
    bare_row,
    check,
    check_id,
    check_name,
    check_whole,
    is_bare,
    new_id,
)
from tenure.outcome import Outcome, Release
from tenure.payload import MAX_PAYLOAD, clean_error, is_share
from tenure.store import claim as claims_of
from tenure.store import groups, people, presence, upkeep, views
from tenure.store.dialect import Capabilities
from tenure.store.enqueue import enqueue, enqueue_inside, enqueue_plain, holder
from tenure.store.explain import Explanation, explain
from tenure.store.lanes import LaneMemory
from tenure.store.people import Changed
from tenure.store.plan import Plan
from tenure.store.pulse import Pulse, pulse
from tenure.store.settle import settle
from tenure.store.views import WorkerSeen

__all__ = ["Call", "Verbs", "check_limits"]

Clock = Callable[[], datetime]
Claims = list[Claim]
Answers = list[Enqueued]
Truths = list[bool]
Pairs = list[tuple[Claim, Outcome]]
Attempts = list[Attempt]
JobsSeen = list[JobSeen]
Workers = list[WorkerSeen]
Counts = dict[str, dict[str, int]]
Pauses = dict[str, datetime]

_COPY_FROM = 50
_LARGEST = 2**30 - 1


def check_limits(max_payload: object, max_crashes: object) -> tuple[int, int]:
    """How large a payload may be, and how often a job may crash."""
    most = check_whole(max_payload, "max_payload", 1, _LARGEST)
    return most, check_whole(max_crashes, "max_crashes", 1, 1_000)


class Verbs(FilterVerbs, ScheduleVerbs, HookVerbs, NoteVerbs, AuditVerbs, FigureVerbs):
    """What can be done with jobs."""

    def __init__(
        self,
        can: Capabilities,
        memory: Callable[[], LaneMemory],
        *,
        clock: Clock | None = None,
        owner: ClaimOwner | None = None,
        inside: bool = False,
        max_payload: int = MAX_PAYLOAD,
        max_crashes: int = upkeep.MAX_CRASHES,
    ) -> None:
        self._max_payload, self._max_crashes = check_limits(max_payload, max_crashes)
        self._can, self._memory, self._clock = can, memory, clock
        self._owner, self._inside = owner, inside
        self._worker = (os.getpid(), _fresh_worker())

    @property
    def worker(self) -> str:
        """The name of this queue as a worker; a forked child is another."""
        if self._worker[0] != os.getpid():
            self._worker = (os.getpid(), _fresh_worker())
        return self._worker[1]

    def _now(self) -> int | None:
        return None if self._clock is None else to_micros(self._clock(), "clock")

    def enqueue(
        self,
        kind: str,
        payload: Any = None,
        *,
        queue: str = "default",
        priority: int = 0,
        run_at: datetime | None = None,
        delay: Duration | None = None,
        max_attempts: int = 5,
        unique: str | None = None,
        unique_for: Duration | None = None,
        group: str | None = None,
        group_limit: int = 1,
        order: Order = "strict",
        expires_at: datetime | None = None,
        expires_in: Duration | None = None,
        timeout: Duration | None = None,
        tags: Sequence[str] = (),
        meta: Mapping[str, str] | None = None,
        parent: str | None = None,
        flow: str | None = None,
        tenant: str | None = None,
        request: Request | None = None,
        id: str | None = None,
    ) -> Call[Enqueued]:
        """Store one job, durably before this returns; a duplicate by `unique` is answered with the first job's id."""
        return self.enqueue_job(
            NewJob(
                kind=kind, payload=payload, queue=queue, priority=priority, run_at=run_at, delay=delay,
                max_attempts=max_attempts, unique=unique, unique_for=unique_for, group=group, group_limit=group_limit,
                order=order, expires_at=expires_at, expires_in=expires_in, timeout=timeout, tags=tags,
                meta={} if meta is None else meta, parent=parent, flow=flow, tenant=tenant, request=request, id=id,
            )
        )  # fmt: skip

    def enqueue_job(self, job: NewJob) -> Call[Enqueued]:
        """Store one job that was made beforehand, durably before this returns."""
        if not isinstance(job, NewJob):
            raise FieldTypeError("job", "must be a NewJob", job, "tenure.NewJob(kind=…, payload=…)")
        row = check(job, self._max_payload)
        now = self._now()

        def make(again: bool) -> Plan[Enqueued]:
            [answer] = yield from self._enqueue([row], now, again=again)
            return answer

        return Call(make, row=row)

    def holder(self, job: NewJob) -> Call[JobId | None]:
        """The job that holds this one's unique key now, so that this one would be its duplicate; None: nobody does."""
        if not isinstance(job, NewJob):
            raise FieldTypeError("job", "must be a NewJob", job, "tenure.NewJob(kind=…, payload=…)")
        row, now = check(job, self._max_payload), self._now()
        return Call(lambda _: holder(row, now=now), reads=True)

    def enqueue_bare(
        self,
        kind: str,
        payload: Any = None,
        *,
        queue: str = "default",
        priority: int = 0,
        max_attempts: int = 5,
    ) -> BareParams:
        """A job without options as `enqueue_one` takes it: what most jobs are, so nothing is made but this."""
        return bare_params(kind, payload, queue, priority, max_attempts, self._max_payload, self._now())

    def enqueue_bare_again(self, params: BareParams) -> Call[Enqueued]:
        """Store it the long way, after a try that may or may not have stored it."""
        row, now = bare_row(params), params["now"]

        def make(_: bool) -> Plan[Enqueued]:
            [answer] = yield from enqueue([row], self._can, now=now, again=True)
            return answer

        return Call(make)

    def enqueue_many(self, jobs: Iterable[NewJob]) -> Call[Answers]:
        """Store many jobs in one transaction: all or none; each is answered inserted or duplicate, in their order."""
        jobs = list(many(jobs, "jobs"))
        for at, job in enumerate(jobs):
            if not isinstance(job, NewJob):
                raise FieldTypeError(
                    f"jobs[{at}]", "must be a NewJob", job, "tenure.NewJob(kind=…, payload=…)"
                )
        now = self._now()
        bare = self._can.copies and len(jobs) >= _COPY_FROM and all(map(is_bare, jobs))
        if bare or (self._can.copies and len(jobs) >= _COPY_FROM and all(map(is_plain, jobs))):
            ids = [new_id() for _ in jobs]

            def make_copy(again: bool) -> Plan[Answers]:
                if not again:
                    return enqueue_plain(jobs, ids, self._can, bare=bare, now=now, limit=self._max_payload)
                rows = [check(j, self._max_payload, i) for j, i in zip(jobs, ids, strict=True)]
                return enqueue(rows, self._can, now=now, again=True)

            return Call(make_copy)
        rows = [check(job, self._max_payload) for job in jobs]
        return Call(lambda again: self._enqueue(rows, now, again=again))

    def _enqueue(self, rows: list[Row], now: int | None, *, again: bool) -> Plan[Answers]:
        if self._inside:
            return enqueue_inside(rows, self._can, now=now)
        return enqueue(rows, self._can, now=now, again=again, ends=True)

    def claim(
        self,
        limit: int = 1,
        *,
        queues: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        except_queues: Iterable[str] | None = None,
        lease: Duration = "30s",
        worker: str | None = None,
        started: bool = True,
        hasty: bool = False,
    ) -> Call[Claims]:
        """Take up to `limit` jobs under a lease: higher priority first, then earlier run_at, then arrival.

        They come from any queue, from these `queues`, or from all but `except_queues`. Nothing to claim is an empty list.
        `started=False` says that the jobs will first wait in the worker's buffer: if the worker vanishes before `renew`
        says that one has started, it is taken back without counting a crash. `hasty=True` is for who will ask again at
        once if nothing comes: it takes what the first look finds, without the chores that may make more jobs ready.
        """
        limit = limit_of(limit)
        wanted = names_of(queues, "queues")
        known = names_of(kinds, "kinds")
        but = tuple(sorted(set(names_of(except_queues, "except_queues") or ())))
        if wanted is not None and except_queues is not None:
            raise FieldError("except_queues", "cannot be said beside queues", but, "say one of the two")
        length = positive(lease, "lease")
        name = self.worker if worker is None else worker_of(worker)
        now = self._now()
        return Call(
            lambda _: claims_of.claim(
                self._memory(), self._can, limit=limit, queues=wanted, kinds=known, lease=length, worker=name,
                started=started, now=now, owner=self._owner, except_queues=but, max_crashes=self._max_crashes,
                hasty=hasty,
            ),
            promises=False,
            undo=lambda claims: self.settle_many([(c, Release()) for c in claims]),
        )  # fmt: skip

    def renew(
        self, claims: Iterable[Claim], *, lease: Duration = "30s", started: Iterable[str | Claim] = ()
    ) -> Call[Renewed]:
        """Push the leases of held claims forward; tells which were lost and which are asked to cancel.

        `started` are those of them (claims, or ids of jobs) that were claimed with started=False and have begun to run:
        from now on they crash if their worker vanishes.
        """
        held = [claim_of(c) for c in many(claims, "claims")]
        begun = started_of(started, held)
        length, now = positive(lease, "lease"), self._now()
        return Call(
            lambda _: claims_of.renew(
                held, self._can, lease=length, started=begun, now=now, max_crashes=self._max_crashes
            ),
            promises=False,
        )

    def progress(self, claim: Claim, done: float, note: str | None = None) -> Call[bool]:
        """Tell how far a held job is, from 0 to 1; False if the claim is lost."""
        claim_of(claim)
        if not is_share(done):
            raise FieldError("done", "must be a number from 0 to 1", done)
        words = None if note is None else clean_error(note, 500)
        return Call(lambda _: claims_of.progress(claim, done=float(done), note=words), promises=False)

    def settle(self, claim: Claim, outcome: Outcome) -> Call[bool]:
        """End a claim. False: the claim was lost, and nothing was changed."""
        pairs = [(claim_of(claim), outcome_of(outcome))]
        now = self._now()

        def make(_: bool) -> Plan[bool]:
            [stands] = yield from settle(
                pairs, self._can, now=now, max_crashes=self._max_crashes, inside=self._inside
            )
            return stands

        return Call(make)

    def settle_in(self, claim: Claim, outcome: Outcome) -> Call[bool]:
        """End a claim here and now, in the caller's transaction: one that was settled before is lost."""
        pairs = [(claim_of(claim), outcome_of(outcome))]
        now = self._now()

        def make(_: bool) -> Plan[bool]:
            [stands] = yield from settle(
                pairs, self._can, now=now, max_crashes=self._max_crashes, inside=True, fresh=True
            )
            return stands

        return Call(make)

    def settle_many(self, settles: Iterable[tuple[Claim, Outcome]], *, counted: bool = False) -> Call[Truths]:
        """End many claims at once; for each, whether its outcome stands.

        `counted`: who settles tells of failures by `add_figures`, so they are not put together with those alike here.
        """
        pairs: Pairs = []
        given: object = self
        pair: Any
        for pair in many(settles, "settles"):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise FieldTypeError("settles", "must be pairs of a claim and an outcome", pair)
            claim, outcome = pair
            if outcome is not given:
                given, checked = outcome, outcome_of(outcome)
            if type(claim) is not Claim:
                claim_of(claim)
            pairs.append((claim, checked))
        now = self._now()
        return Call(
            lambda _: settle(
                pairs, self._can, now=now, max_crashes=self._max_crashes, inside=self._inside, counted=counted
            )
        )

    def cancel(self, id: str, reason: str = "cancelled") -> Call[Cancelling]:
        """Cancel a pending job at once; ask a running one, which its worker sees at the next renew."""
        job_id, why, now = check_id(id), reason_of(reason), self._now()
        return Call(
            lambda again: people.cancel(job_id, why, self._can, now=now, inside=self._inside, again=again)
        )

    def promote(self, limit: int = 1_000) -> Call[int]:
        """Make due jobs ready, and look after the next `limit` groups, round and round; how many jobs moved.

        Claims do this by themselves, but for groups that were forgotten.
        """
        limit, now = limit_of(limit), self._now()

        def make(_: bool) -> Plan[int]:
            moved = yield from upkeep.promote(self._can, limit=limit, now=now)
            moved += yield from groups.admit_woken(self._can)
            memory = self._memory()
            swept, reached = yield from groups.sweep(memory.swept_groups, limit, self._can)
            memory.swept_groups = reached or ""
            return moved + swept

        return Call(make)

    def expire(self, limit: int = 1_000) -> Call[int]:
        """End pending jobs past their expiry: cancelled if they never started, dead if they were tried; how many.

        Claims do this by themselves, and hand out none of them.
        """
        limit, now = limit_of(limit), self._now()
        return Call(lambda _: upkeep.expire(self._can, limit=limit, now=now))

    def reclaim(
        self, overdue_by: Duration = 0, *, limit: int = 1_000, max_crashes: int | None = None
    ) -> Call[int]:
        """Take back jobs whose lease ran out (at least `overdue_by` ago); how many. Claims do this by themselves."""
        limit, now, grace = limit_of(limit), self._now(), micros(parse(overdue_by, "overdue_by"))
        most = self._max_crashes if max_crashes is None else check_whole(max_crashes, "max_crashes", 1, 1_000)
        return Call(lambda _: upkeep.reclaim(self._can, limit=limit, now=now, grace=grace, max_crashes=most))

    def vanished(
        self,
        worker: str,
        *,
        started: Iterable[tuple[str | int, int]] = (),
        apart: Iterable[tuple[str | int, int]] = (),
        story: str = "",
    ) -> Call[int]:
        """Somebody who knows says that a worker's process is gone: take back all it held, at once; how many jobs.

        `started` are (id, epoch) or (seq, epoch) of the jobs it was running: these have crashed, for the reason that
        `story` tells. `apart` are those that ran in child processes of it: they have crashed only if none of the others
        was in flight, for the death of a process is first of all the fault of what ran inside.
        """
        name, words, now = worker_of(worker), clean_error(story), self._now()
        inside, outside = pairs_of(started, "started"), pairs_of(apart, "apart")
        return Call(
            lambda _: upkeep.vanished(
                name,
                self._can,
                started=inside,
                apart=outside,
                story=words,
                now=now,
                max_crashes=self._max_crashes,
            )
        )

    def retain(
        self,
        *,
        done: Duration | None = None,
        cancelled: Duration | None = None,
        dead: Duration | None = None,
        queue: str | None = None,
        except_queues: Iterable[str] | None = None,
        limit: int = MAX_LIMIT,
    ) -> Call[int]:
        """Delete jobs that finished longer ago than this; how many, at most `limit` a call. 0 or None: keep them."""
        ages: dict[State, int] = {}
        for state, given in ((State.DONE, done), (State.CANCELLED, cancelled), (State.DEAD, dead)):
            span = 0 if given is None else micros(parse(given, state.value))
            if span:
                ages[state] = span
        only = None if queue is None else check_name(queue, "queue")
        limit, now = limit_of(limit), self._now()
        but = names_of(except_queues, "except_queues") or ()
        return Call(lambda _: upkeep.retain(ages, limit=limit, now=now, queue=only, except_queues=but))

    def purge(self, which: Filter, *, limit: int = MAX_LIMIT) -> Call[int]:
        """Delete finished jobs that match, dead ones too; how many, at most `limit` a call."""
        which, limit, now = filter_of(which), limit_of(limit), self._now()
        return Call(lambda _: people.purge(which, limit=limit, now=now))

    def replay(
        self, id: str, *, run_at: datetime | None = None, delay: Duration | None = None
    ) -> Call[Replayed]:
        """Start a finished job anew: same id, attempts and crashes from zero. `conflict` if its unique slot is taken.

        At once, or at `run_at`, or after `delay`.
        """
        job_id, due, now = check_id(id), due_of(run_at, delay), self._now()
        return Call(lambda _: people.replay(job_id, self._can, due=due, now=now), repeatable=False)

    def replay_many(
        self,
        which: Filter,
        *,
        limit: int = 1_000,
        after: str | None = None,
        run_at: datetime | None = None,
        delay: Duration | None = None,
    ) -> Call[Changed]:
        """Start finished jobs that match anew, at most `limit` a call; go on with `after` of the answer until it is None.

        At once, or at `run_at`, or after `delay`. `ids` of the answer are those that were; `unreplay` undoes it.
        """
        which, limit, due, now = filter_of(which), limit_of(limit), due_of(run_at, delay), self._now()
        start = None if after is None else check_id(after, "after")
        return Call(
            lambda _: people.replay_many(which, self._can, limit=limit, after=start, due=due, now=now),
            repeatable=False,
        )

    def pause(self, queue: str) -> Call[None]:
        """Claim nothing more from a queue; what runs goes on."""
        name, now = check_name(queue, "queue"), self._now()
        return Call(lambda _: people.pause(name, now=now))

    def resume(self, queue: str) -> Call[bool]:
        """Claim from a queue again; whether it was paused."""
        name = check_name(queue, "queue")
        return Call(lambda _: people.resume(name))

    def paused(self) -> Call[Pauses]:
        """The queues that are paused, and since when."""
        return Call(lambda _: views.paused(), reads=True)

    def counts(self, queues: Iterable[str] | None = None, *, cap: int | None = None) -> Call[Counts]:
        """Jobs per queue and state, zeros too. Exact; with `cap` an estimate that looks at no more than that many."""
        wanted = names_of(queues, "queues")
        most = None if cap is None else check_whole(cap, "cap", 1, 1_000_000_000)
        return Call(lambda _: views.counts(wanted, most), reads=True)

    def pulse(self, *, cap: int = 10_000, overdue_by: Duration = "10s") -> Call[Pulse]:
        """How the queues stand, for who asks often: what has not ended, counted up to `cap`; what is overdue by more than that."""
        most, now = check_whole(cap, "cap", 1, 1_000_000), self._now()
        margin = micros(parse(overdue_by, "overdue_by"))
        return Call(lambda _: pulse(most, margin, now=now), reads=True)

    def get(self, id: str) -> Call[JobSeen | None]:
        """One job, wherever it is; None if there is none."""
        job_id = check_id(id)
        return Call(lambda _: views.get(job_id), reads=True)

    def history(self, id: str) -> Call[Attempts]:
        """A job's failed attempts and crashes, oldest first."""
        job_id = check_id(id)
        return Call(lambda _: views.history(job_id), reads=True)

    def request(self, id: str) -> Call[Request | None]:
        """The web request a job was made from, byte for byte."""
        job_id = check_id(id)
        return Call(lambda _: views.request(job_id), reads=True)

    def explain(self, id: str) -> Call[Explanation]:
        """Why is this job not running?"""
        job_id, now = check_id(id), self._now()
        return Call(lambda _: explain(job_id, now=now), reads=True)

    def next_due(self) -> Call[float | None]:
        """Seconds until a scheduled job is due or a lease runs out: 0.0 if one is overdue, None if there is neither."""
        now = self._now()
        return Call(lambda _: views.next_due(now=now), reads=True)

    def beat(
        self,
        worker: str,
        *,
        queues: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        about: str | None = None,
    ) -> Call[None]:
        """A worker says that it lives and what it takes, so that a lost lease can be told from a crash."""
        name, now = worker_of(worker), self._now()
        wanted, known = names_of(queues, "queues"), names_of(kinds, "kinds")
        told = None if about is None else text_of(about, "about")
        return Call(
            lambda _: presence.beat(name, queues=wanted, kinds=known, about=told, now=now), promises=False
        )

    def leave(self, worker: str) -> Call[None]:
        """A worker says goodbye."""
        name = worker_of(worker)
        return Call(lambda _: presence.leave(name))

    def running(self, *, limit: int = 100, each: int | None = None) -> Call[JobsSeen]:
        """Jobs that run, those that have run longest first; with `each`, at most so many of each worker.

        It looks at up to 10,000 that run; where there are more, at those whose leases end first.
        """
        most = limit_of(limit)
        share = most if each is None else check_whole(each, "each", 1, MAX_LIMIT)
        return Call(lambda _: views.running(limit=most, each=share, look=MAX_LIMIT), reads=True)

    def workers(self) -> Call[Workers]:
        """Workers that have been seen lately."""
        now = self._now()
        return Call(lambda _: views.workers(now=now), reads=True)


def _fresh_worker() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{new_id()}"
