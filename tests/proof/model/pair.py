"""A store and the model beside it: every verb is said to both, and their answers and all that they show must be the same.

Counts what was done: every move of a job, and settles by claims that were lost; `shown.py` compares what is seen, and counts the
calls that changed something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

import tenure
from tests.proof.model.reference import LEASE, Reference
from tests.proof.model.shown import Shown
from tests.proof.model.spoken import micros, new, outcome_of, span
from tests.proof.model.words import CARRIED, Ask, Outcome, State, Ticket
from tests.support.clock import MovedClock

__all__ = ["Pair"]

MAX_CRASHES = 2


class Pair:
    """Says each verb twice."""

    def __init__(
        self, q: tenure.Queue, clock: MovedClock, counts: Counter[str], model: type[Reference] = Reference
    ) -> None:
        self.q, self.clock, self.counts = q, clock, counts
        self.model = model(max_crashes=MAX_CRASHES)
        self.model.now = micros(clock.now) or 0
        self.shown = Shown(q, self.model, counts)
        self.tickets: list[Ticket] = []
        """All that were handed out, the latest last."""
        self.said: list[tuple[Ticket, Outcome]] = []
        """Settles that were accepted, the latest last."""
        self._claims: dict[Ticket, tenure.Claim] = {}
        self._carried: dict[str, list[str]] = {}
        """What each job was given to carry, by its id, for as long as the pair lives."""

    # What a rule can choose from.

    @property
    def held(self) -> list[Ticket]:
        """Claims that stand."""
        return [ticket for ticket in self.tickets if self.model.fenced(ticket)]

    @property
    def lost(self) -> list[Ticket]:
        """Claims that do not stand any more: taken away, or settled."""
        return [ticket for ticket in self.tickets if not self.model.fenced(ticket)]

    def ids(self, *states: State) -> list[str]:
        """The jobs in these states, in the order of arrival."""
        return [job.id for job in self.model.jobs.values() if job.state in states]

    # The verbs.

    def tick(self, by: int) -> None:
        """Time passes."""
        self.clock.advance(timedelta(microseconds=by))
        self.model.now += by

    def enqueue(self, *asks: Ask) -> None:
        """One job, or many in one transaction."""
        news = [new(ask) for ask in asks]
        answers = [self.q.enqueue_job(news[0])] if len(news) == 1 else self.q.enqueue_many(news)
        named = [
            (a.id if a.inserted else f"duplicate {n}", ask)
            for n, (a, ask) in enumerate(zip(answers, asks, strict=True))
        ]
        bare = Ask()
        for job_id, ask in named:
            given = [name for name in CARRIED if getattr(ask, name) != getattr(bare, name)]
            self._carried.setdefault(job_id, given)
        right = self.model.enqueue(*named)
        self._same("enqueue", [tuple(a) for a in answers], right, *(a.id for a in answers))
        self.counts["duplicates"] += sum(not a.inserted for a in answers)

    def ask_again(self, job_id: str) -> None:
        """Enqueue under an id that is stored, as after a lost answer."""
        ask = self.model.jobs[job_id].ask
        answer = self.q.enqueue_job(new(ask, job_id))
        self._same("ask again", [tuple(answer)], self.model.enqueue((job_id, ask)), job_id)

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        queues: list[str] | None = None,
        kinds: list[str] | None = None,
        except_queues: list[str] | None = None,
        lease: int = LEASE,
        started: bool = True,
        hasty: bool = False,
    ) -> list[Ticket]:
        """The claims that both hand out, in the same order."""
        claims = self.q.claim(
            limit, queues=queues, kinds=kinds, except_queues=except_queues, worker=worker, lease=span(lease),
            started=started, hasty=hasty,
        )  # fmt: skip
        tickets = self.model.claim(
            worker,
            limit,
            queues=queues,
            kinds=kinds,
            except_queues=except_queues or (),
            lease=lease,
            started=started,
        )
        self._same(
            "claim", [(c.id, c.epoch, c.worker) for c in claims], [tuple(ticket) for ticket in tickets]
        )
        for claim, ticket in zip(claims, tickets, strict=True):
            self.shown.claimed(claim, self.model.jobs[ticket.job])
        self.tickets += tickets
        self._claims |= dict(zip(tickets, claims, strict=True))
        return tickets

    def renew(self, tickets: Iterable[Ticket], *, lease: int = LEASE, started: bool = False) -> None:
        """Claims of different jobs, fresh and lost ones mixed."""
        asked = list({ticket.job: ticket for ticket in tickets}.values())
        begun = [ticket.job for ticket in asked] if started else []
        self.counts["stale renews"] += sum(not self.model.fenced(ticket) for ticket in asked)
        answer = self.q.renew([self._claims[t] for t in asked], lease=span(lease), started=begun)
        told = (set(answer.kept), set(answer.cancelling), set(answer.lost))
        self._same("renew", told, self.model.renew(*asked, lease=lease, started=begun))

    def progress(self, ticket: Ticket, done: float) -> None:
        """How far it is."""
        self._same("progress", self.q.progress(self._claims[ticket], done), self.model.progress(ticket, done))

    def settle(self, *settles: tuple[Ticket, Outcome]) -> None:
        """One claim, or many at once: fresh, lost or settled before."""
        for ticket, outcome in settles:
            if self.model.fenced(ticket):
                self.said.append((ticket, outcome))
                continue
            if self.model.stands(ticket, outcome):
                self.counts["repeated settles"] += 1
                continue
            self.counts["stale settles"] += 1
            job = self.model.jobs.get(ticket.job)
            self.counts["stale settles of jobs that run again"] += job is not None and job.state == "running"
        pairs = [(self._claims[ticket], outcome_of(outcome)) for ticket, outcome in settles]
        told = [self.q.settle(*pairs[0])] if len(pairs) == 1 else self.q.settle_many(pairs)
        self._same("settle", told, self.model.settle(*settles))

    def cancel(self, job_id: str, reason: str = "changed my mind") -> None:
        """One job."""
        self._same("cancel", self.q.cancel(job_id, reason).value, self.model.cancel(job_id, reason))

    def cancel_many(self, states: Collection[State]) -> None:
        """All jobs in these states."""
        told = self.q.cancel_many(tenure.Filter(states=states), "all of you")
        self._same("cancel_many", (told.cancelled, told.asked), self.model.cancel_many(states, "all of you"))

    def replay(self, job_id: str, delay: int = 0) -> None:
        """One job, now or later."""
        told = self.q.replay(job_id, delay=span(delay)).value
        self.counts["conflicts"] += told == "conflict"
        self._same("replay", told, self.model.replay(job_id, delay))

    def replay_many(self, states: Collection[State], delay: int = 0) -> None:
        """All jobs in these states, now or later."""
        told = self.q.replay_many(tenure.Filter(states=states), delay=span(delay))
        self._same("replay_many", (told.changed, told.conflicts), self.model.replay_many(states, delay))

    def unreplay(self) -> None:
        """All that was replayed and not claimed since."""
        told = self.q.unreplay(tenure.Filter())
        self._same("unreplay", (told.changed, told.conflicts), self.model.unreplay())

    def discard(self) -> None:
        """What is dead."""
        self._same("discard", self.q.discard(tenure.Filter()).changed, self.model.discard())

    def restore(self) -> None:
        """What was discarded."""
        self._same("restore", self.q.restore(tenure.Filter()).changed, self.model.restore())

    def pause(self, queue: str) -> None:
        """A queue."""
        self._same("pause", self.q.pause(queue), self.model.pause(queue))  # type: ignore[func-returns-value]

    def resume(self, queue: str) -> None:
        """A queue."""
        self._same("resume", self.q.resume(queue), self.model.resume(queue))

    def promote(self) -> None:
        """The chore."""
        self._same("promote", self.q.promote(), self.model.promote())

    def expire(self) -> None:
        """The chore."""
        self._same("expire", self.q.expire(), self.model.expire())

    def reclaim(self) -> None:
        """The chore."""
        self._same("reclaim", self.q.reclaim(), self.model.reclaim())

    def vanished(self, worker: str, started: Collection[Ticket], story: str = "") -> None:
        """Somebody saw the worker go."""
        begun = [(ticket.job, ticket.epoch) for ticket in started]
        told = self.q.vanished(worker, started=begun, story=story)
        self._same("vanished", told, self.model.vanished(worker, begun, story))

    def retain(self, ages: Mapping[State, int]) -> None:
        """The chore."""
        told = self.q.retain(**{state: span(age) for state, age in ages.items()})  # type: ignore[arg-type]
        self._same("retain", told, self.model.retain(ages))

    def purge(self, states: Collection[State]) -> None:
        """What is finished."""
        self._same("purge", self.q.purge(tenure.Filter(states=states)), self.model.purge(states))

    def beat(self, worker: str) -> None:
        """A worker lives."""
        self._same("beat", self.q.beat(worker), self.model.beat(worker))  # type: ignore[func-returns-value]

    def leave(self, worker: str) -> None:
        """A worker says goodbye."""
        self._same("leave", self.q.leave(worker), self.model.leave(worker))  # type: ignore[func-returns-value]

    def _same(self, verb: str, told: object, right: object, *touched: str) -> None:
        """The store's answer is the model's, and so is all that it shows, above all of the jobs that were touched."""
        moved = [move.job for move in self.model.moves]
        for move in self.model.moves:
            self.counts[f"{move.cause}: {move.was} → {move.now}"] += 1
            self.counts.update(f"{move.cause}: with {name}" for name in self._carried[move.job])
        self.model.moves.clear()
        assert told == right, f"{verb}: the store answers {told!r}, the contract says {right!r}"
        self.shown.after(verb, [*touched, *moved])
