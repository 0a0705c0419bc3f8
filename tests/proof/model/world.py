"""A small world of the model: two workers, a few jobs, a clock that ticks, and everything that may happen next.

The world keeps what the model does not: which tickets each worker remembers, whether they were lost or not, and what happened
to each job, so that the laws (`laws.py`) judge the model by what is seen from outside. Times are ticks: a lease, a beat and the
wait before a retry last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.proof.model.reference import Reference
from tests.proof.model.words import STATES, Ask, Job, Move, Name, Outcome, Ticket

__all__ = ["WORKERS", "Held", "Scene", "Step", "World"]

WORKERS: Final = ("A", "B")
_NOTHING: Final = 255
_STATE: Final = {state: at for at, state in enumerate(STATES)}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Which world: its jobs, how claims may end in it, and how often each job may be claimed."""

    name: str
    jobs: dict[str, Ask]
    outcomes: tuple[Name, ...] = ("done", "fail", "release")
    claims: int = 2
    max_crashes: int = 2
    people: str = "ab"
    """The jobs that somebody cancels and replays."""
    repeats: bool = False
    """Whether workers say a settle again, as after a lost answer."""


class Held(NamedTuple):
    """A ticket as its worker remembers it: the how-manieth claim of its job it is, until when it was told to have it, and
    what it said of it."""

    ticket: Ticket
    nth: int
    until: int
    said: Name | None = None


class Step(NamedTuple):
    """What happened, to whom, and what was answered."""

    verb: str
    worker: str = ""
    job: str = ""
    said: Name | None = None
    held: Held | None = None
    answer: object = None
    moves: tuple[Move, ...] = ()

    def __str__(self) -> str:
        words = [f"{self.worker}:" if self.worker else "", self.verb, self.job, self.said or ""]
        if self.held is not None:
            words.append(f"(epoch {self.held.ticket.epoch})")
        told = f" → {self.answer}" if self.answer is not None else ""
        moved = "".join(f"; {m.job} {m.was or 'new'} → {m.now} ({m.cause})" for m in self.moves)
        return " ".join(word for word in words if word) + told + moved


class World:
    """The model, what its workers remember, and what has happened."""

    def __init__(self, scene: Scene, model: type[Reference] = Reference) -> None:
        self.scene = scene
        self.model = model(max_crashes=scene.max_crashes, alive=1)
        self.held: dict[tuple[str, str], Held] = {}
        """The newest ticket of each worker for each job."""
        self.claims = dict.fromkeys(scene.jobs, 0)
        self.fails = dict.fromkeys(scene.jobs, 0)
        """Failures since the job was enqueued or replayed."""
        self.begun = dict.fromkeys(scene.jobs, False)
        """Whether it was claimed since then, and has not ended."""
        self.replays = dict.fromkeys(scene.jobs, 0)
        self.returned = dict.fromkeys(scene.jobs, False)
        """Whether it ended once and came back: then it stands at the end of the line."""

    def copy(self) -> World:
        """The same, to go another way from here."""
        twin = World.__new__(World)
        twin.scene, twin.model, twin.held = self.scene, self.model.copy(), dict(self.held)
        twin.claims, twin.fails = dict(self.claims), dict(self.fails)
        twin.begun, twin.replays, twin.returned = dict(self.begun), dict(self.replays), dict(self.returned)
        return twin

    def fresh(self, held: Held) -> bool:
        """Whether this is the latest claim of its job and the job still runs: told by what happened, not by epochs."""
        job = self.model.jobs.get(held.ticket.job)
        return job is not None and job.state == "running" and held.nth == self.claims[job.id]

    def beats(self, worker: str | None) -> bool:
        """Whether the worker has beaten within the last tick."""
        return worker is not None and self.model.beats.get(worker, -1) > self.model.now - 1

    # What may happen next.

    def steps(self) -> Iterator[Step]:
        """Everything that may happen next, as steps not yet taken."""
        jobs = self.model.jobs
        yield from (Step("enqueue", job=name) for name in self.scene.jobs if name not in jobs)
        if any(j.state in ("ready", "scheduled", "running") for j in jobs.values()):
            yield from (Step("claim", worker=worker) for worker in WORKERS)
        for (worker, job), held in self.held.items():
            if held.said is None:
                yield Step("renew", worker, job, held=held)
            for name in self.scene.outcomes if held.said is None else (held.said,):
                yield Step("settle", worker, job, name, held)
        for worker in WORKERS:
            if any(who == worker for who, _ in self.held):
                yield Step("crash", worker)
            runs = any(j.state == "running" and j.worker == worker for j in jobs.values())
            if runs and not self.beats(worker):
                yield Step("beat", worker)
        if any(j.state == "running" for j in jobs.values()):
            yield Step("reclaim")
        if any(j.state == "scheduled" for j in jobs.values()):
            yield Step("promote")
        for wish in self.scene.people:
            if wish in jobs:
                yield Step("cancel", job=wish)
                if jobs[wish].finished and self.replays[wish] < 1:
                    yield Step("replay", job=wish)
        yield Step("tick")

    def take(self, step: Step) -> Step | None:
        """Take a step: what it did, or None if it leads out of the small world."""
        model, was = self.model, self.model.moves
        was.clear()
        answer: object = None
        match step.verb:
            case "enqueue":
                [answer] = model.enqueue((step.job, self.scene.jobs[step.job]))
            case "claim":
                tickets = model.claim(step.worker, lease=1)
                answer = [(t.job, t.epoch) for t in tickets]
                if not all(self._hand_out(ticket) for ticket in tickets):
                    return None
            case "renew" if step.held is not None:
                kept, asked, _lost = model.renew(step.held.ticket, lease=1)
                answer = "asked" if asked else "kept" if kept else "lost"
                if kept:
                    self.held[step.worker, step.job] = step.held._replace(until=model.now + 1)
            case "settle" if step.held is not None and step.said is not None:
                answer = self._settle(step, step.held, step.said)
            case "crash":
                self.held = {key: held for key, held in self.held.items() if key[0] != step.worker}
            case "beat":
                model.beat(step.worker)
            case "reclaim":
                answer = model.reclaim()
            case "promote":
                answer = model.promote()
            case "cancel":
                answer = model.cancel(step.job)
            case "replay":
                answer = model.replay(step.job)
            case _:
                model.now += 1
        return self._remember(step._replace(answer=answer, moves=tuple(model.moves)))

    def _hand_out(self, ticket: Ticket) -> bool:
        self.claims[ticket.job] += 1
        nth = self.claims[ticket.job]
        self.held[ticket.worker, ticket.job] = Held(ticket, nth, self.model.now + 1)
        return nth <= self.scene.claims

    def _settle(self, step: Step, held: Held, said: Name) -> bool:
        fresh = self.fresh(held)
        [answer] = self.model.settle((held.ticket, Outcome(said, delay=1, text=said)))
        if fresh and answer and said == "fail":
            self.fails[step.job] += 1
        if self.scene.repeats and (fresh or held.said is not None) and answer:
            # It remembers what it said, for the answer may be lost on its way.
            self.held[step.worker, step.job] = held._replace(said=said)
        else:
            del self.held[step.worker, step.job]
        return answer

    def _remember(self, step: Step) -> Step:
        jobs, beats = self.model.jobs.values(), self.model.beats
        for worker in [*beats]:
            # A beat counts while something runs; before a claim it can as well come after it.
            if not self.beats(worker) or not any(j.state == "running" and j.worker == worker for j in jobs):
                del beats[worker]
        for move in step.moves:
            if move.cause == "claim":
                self.begun[move.job] = True
            elif move.now in ("done", "dead", "cancelled"):
                self.begun[move.job] = False
            elif move.cause in ("replay", "absolve"):
                self.returned[move.job] = True
            if move.cause == "replay":
                self.fails[move.job], self.replays[move.job] = 0, self.replays[move.job] + 1
        return step

    # Where the world stands.

    def key(self) -> bytes:
        """All that can make a difference from here on; workers are alike, so their order makes none."""
        return min(self._key(WORKERS), self._key(WORKERS[::-1]))

    def _key(self, workers: tuple[str, ...]) -> bytes:
        now, model = self.model.now, self.model
        past = sorted({j.run_at for j in model.jobs.values() if j.run_at <= now and not j.finished})
        told: list[int] = [worker in model.beats for worker in workers]
        for name in self.scene.jobs:
            job = model.jobs.get(name)
            if job is None:
                told.append(_NOTHING)
                continue
            told += self._told(job, past, workers)
            for worker in workers:
                held = self.held.get((worker, name))
                told += (_NOTHING,) if held is None else self._remembered(held, job)
        return bytes(told)

    def _told(self, job: Job, past: list[int], workers: tuple[str, ...]) -> tuple[int, ...]:
        """Times from now on, if they are to come; of those that were, their order."""
        now, name = self.model.now, job.id
        ended = (_STATE[job.state], self.claims[name], self.replays[name], self.returned[name])
        if job.finished:
            poison = job.reason == "poison"
            return (*ended, job.attempt, job.crashes, self.fails[name]) if poison else ended
        return (
            *ended, job.attempt, job.crashes, job.held, job.cancel_at is not None, self.fails[name], self.begun[name],
            job.run_at - now + 100 if job.run_at > now else past.index(job.run_at),
            workers.index(job.worker) if job.worker else _NOTHING,
            _NOTHING if job.lease_until is None else max(job.lease_until - now, 0),
        )  # fmt: skip

    def _remembered(self, held: Held, job: Job) -> tuple[int, ...]:
        """A ticket by how old it is, and what the job still knows of it."""
        epoch, outcomes = held.ticket.epoch, self.scene.outcomes
        crash = job.story.get(epoch)
        return (
            (job.epoch - epoch) % _NOTHING, self.claims[job.id] - held.nth, max(held.until - self.model.now, 0),
            _NOTHING if held.said is None else outcomes.index(held.said),
            sum(1 << at for at, name in enumerate(outcomes) if (epoch, name) in job.settled),
            crash is not None and crash.by == "reclaim",
        )  # fmt: skip
