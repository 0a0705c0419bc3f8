"""A small world of the model: two workers, a few jobs, a clock that ticks, and everything that may happen next.

The world keeps what the model does not: every ticket that was ever handed out, what was said of it, and what happened to each
job, so that the laws (`laws.py`) judge the model by what is seen from outside. A worker may come back with any of its tickets at
any time, or never: one that crashed is one that does not. Times are ticks: a lease, a beat and the wait before a retry last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from tests.proof.model.reference import Reference
from tests.proof.model.words import FINISHED, PENDING, STATES, Ask, Job, Move, Name, Outcome, Ticket

__all__ = ["OUTCOMES", "SPOKEN", "WORKERS", "Held", "Past", "Scene", "Step", "World"]

WORKERS: Final = ("A", "B")
OUTCOMES: Final[tuple[Name, ...]] = ("done", "fail", "snooze", "release", "bury", "cancelled")
SPOKEN: Final = {name: Outcome(name, delay=1, text=name) for name in (*OUTCOMES, "crashed")}
"""What workers say, in this world."""
_NOTHING: Final = 255
_STATE: Final = {state: at for at, state in enumerate(STATES)}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Which world: its jobs, how claims may end in it, how often each job may be claimed, and who else takes part."""

    name: str
    jobs: dict[str, Ask]
    outcomes: tuple[Name, ...] = OUTCOMES
    claims: int = 2
    max_crashes: int = 2
    people: str = "ab"
    """The jobs that somebody cancels and replays."""
    pauses: tuple[str, ...] = ()
    """The queues that somebody pauses and resumes."""
    beats: bool = True
    """Whether workers say that they live."""
    vanishes: bool = True
    """Whether somebody sees workers go."""

    @cached_property
    def grouped(self) -> bool:
        """Whether any job is in a group."""
        return any(ask.group is not None for ask in self.jobs.values())

    @cached_property
    def alike(self) -> bool:
        """Whether its jobs differ in nothing but their names: then it makes no difference which of them comes first."""
        first = next(iter(self.jobs.values()))
        return all(ask == first for ask in self.jobs.values()) and (
            not self.people or {*self.people} == {*self.jobs}
        )


class Held(NamedTuple):
    """A ticket: the how-manieth claim of its job it is, until when its worker was told to have it, and what was said of it."""

    ticket: Ticket
    nth: int
    until: int
    said: Name | None = None


class Past(NamedTuple):
    """What happened to a job, as far as anybody outside can know."""

    claims: int = 0
    fails: int = 0
    """Failures since the job was enqueued or replayed."""
    begun: bool = False
    """Whether it was claimed since then, and has not ended."""
    replays: int = 0
    returned: bool = False
    """Whether it ended once and came back: then it stands at the end of the line."""
    expires: int | None = None


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
    """The model, the tickets that were handed out, and what has happened."""

    def __init__(self, scene: Scene, model: type[Reference] = Reference) -> None:
        self.scene = scene
        self.model = model(max_crashes=scene.max_crashes, alive=1)
        self.held: dict[tuple[str, int], Held] = {}
        """Every ticket, by its job and which of its claims it is."""
        self.past = dict.fromkeys(scene.jobs, Past())
        self.paused: frozenset[str] = frozenset()

    def copy(self) -> World:
        """The same, to go another way from here."""
        twin = World.__new__(World)
        twin.scene, twin.model, twin.paused = self.scene, self.model.copy(), self.paused
        twin.held, twin.past = dict(self.held), dict(self.past)
        return twin

    def fresh(self, held: Held) -> bool:
        """Whether this is the latest claim of its job and the job still runs: told by what happened, not by epochs."""
        job = self.model.jobs.get(held.ticket.job)
        return job is not None and job.state == "running" and held.nth == self.past[job.id].claims

    def beats(self, worker: str | None) -> bool:
        """Whether the worker has beaten within the last tick."""
        return worker is not None and self.model.beats.get(worker, -1) > self.model.now - 1

    def runs(self, worker: str) -> list[str]:
        """The jobs that were handed to this worker, and that nobody took from it."""
        return [h.ticket.job for h in self.held.values() if h.ticket.worker == worker and self.fresh(h)]

    # What may happen next.

    def steps(self) -> Iterator[Step]:
        """Everything that may happen next and make a difference, as steps not yet taken."""
        jobs, now = self.model.jobs, self.model.now
        missing = [name for name in self.scene.jobs if name not in jobs]
        yield from (Step("enqueue", job=name) for name in missing[: 1 if self.scene.alike else None])
        if any(j.state in ("ready", "scheduled", "running") for j in jobs.values()):
            yield from (Step("claim", worker=worker) for worker in WORKERS)
        for held in self.held.values():
            if self.fresh(held) or self._in_doubt(held):
                yield from self.spoken(held)
        for worker in WORKERS:
            if mine := self.runs(worker):
                if self.scene.beats and not self.beats(worker):
                    yield Step("beat", worker)
                if self.scene.vanishes and mine:
                    yield from (Step("vanished", worker, said=how) for how in (None, "crashed"))
        if any(j.state == "running" for j in jobs.values()):
            yield Step("reclaim")
        if any(j.state == "scheduled" for j in jobs.values()):
            yield Step("promote")
        if any(_over(self.past[n].expires, now) and j.state in PENDING for n, j in jobs.items()):
            yield Step("expire")
        for queue in self.scene.pauses:
            yield Step("resume" if queue in self.paused else "pause", job=queue)
        for wish in self.scene.people:
            if wish in jobs:
                yield Step("cancel", job=wish)
                if jobs[wish].finished and self.past[wish].replays < 1:
                    yield Step("replay", job=wish)
        yield Step("tick")

    def lost(self) -> list[Held]:
        """The claims that were lost or settled: whatever is said of them, and whenever, it makes no difference."""
        return [h for h in self.held.values() if not self.fresh(h) and not self._in_doubt(h)]

    def spoken(self, held: Held) -> Iterator[Step]:
        """Whatever can be said of a claim."""
        yield Step("renew", held.ticket.worker, held.ticket.job, held=held)
        for name in self.scene.outcomes:
            yield Step("settle", held.ticket.worker, held.ticket.job, name, held)

    def _in_doubt(self, held: Held) -> bool:
        """Whether its worker was taken for vanished: then its coming back takes a crash from the job."""
        job = self.model.jobs.get(held.ticket.job)
        if job is None or not job.story:
            return False
        crash = job.story.get(held.ticket.epoch)
        return crash is not None and crash.by == "reclaim"

    def take(self, step: Step) -> Step | None:
        """Take a step: what it did, or None if it leads out of the small world."""
        model = self.model
        model.moves.clear()
        answer: object = None
        match step.verb:
            case "enqueue":
                [answer] = model.enqueue((step.job, self.scene.jobs[step.job]))
            case "claim":
                tickets = model.claim(step.worker, lease=1)
                answer = [(t.job, t.epoch) for t in tickets]
                if not all(list(map(self._hand_out, tickets))):
                    return None
            case "renew" if step.held is not None:
                kept, asked, _lost = model.renew(step.held.ticket, lease=1)
                answer = "asked" if asked else "kept" if kept else "lost"
                if kept:
                    self._keep(step.held._replace(until=model.now + 1))
            case "settle" if step.held is not None and step.said is not None:
                answer = self._settle(step.held, step.said)
            case "vanished":
                answer = self._vanish(step)
            case "beat":
                model.beat(step.worker)
            case "pause":
                model.pause(step.job)
                self.paused |= {step.job}
            case "resume":
                answer = model.resume(step.job)
                self.paused -= {step.job}
            case "cancel":
                answer = model.cancel(step.job)
            case "replay":
                answer = model.replay(step.job)
            case "tick":
                model.now += 1
            case chore:
                answer = getattr(model, chore)()
        return self._remember(step._replace(answer=answer, moves=tuple(model.moves)))

    def _keep(self, held: Held) -> None:
        self.held[held.ticket.job, held.nth] = held

    def _hand_out(self, ticket: Ticket) -> bool:
        past = self.past[ticket.job]
        nth = past.claims + 1
        self.past[ticket.job] = past._replace(claims=nth)
        self._keep(Held(ticket, nth, self.model.now + 1))
        return nth <= self.scene.claims

    def _settle(self, held: Held, said: Name) -> bool:
        fresh = self.fresh(held)
        [answer] = self.model.settle((held.ticket, SPOKEN[said]))
        if fresh and answer:
            self._keep(held._replace(said=said))
            if said == "fail":
                past = self.past[held.ticket.job]
                self.past[held.ticket.job] = past._replace(fails=past.fails + 1)
        return answer

    def _vanish(self, step: Step) -> int:
        mine = [h for h in self.held.values() if h.ticket.worker == step.worker]
        begun = [(h.ticket.job, h.ticket.epoch) for h in mine if step.said is not None]
        for held in mine:
            # Nobody is left who thinks to have it.
            self._keep(held._replace(until=min(held.until, self.model.now)))
        return self.model.vanished(step.worker, begun)

    def _remember(self, step: Step) -> Step:
        if beats := self.model.beats:
            for worker in [*beats]:
                # A beat counts while something runs; before a claim it can as well come after it.
                if not self.beats(worker) or not self.runs(worker):
                    del beats[worker]
        for move in step.moves:
            past = self.past[move.job]
            if move.cause == "enqueue":
                brief = self.scene.jobs[move.job].expires_in
                past = past._replace(expires=None if brief is None else self.model.now + brief)
            elif move.cause == "claim":
                past = past._replace(begun=True)
            elif move.now in FINISHED:
                past = past._replace(begun=False)
            elif move.cause == "absolve":
                past = past._replace(returned=True)
            elif move.cause == "replay":
                past = past._replace(returned=True, fails=0, replays=past.replays + 1, expires=None)
            self.past[move.job] = past
        return step

    # Where the world stands.

    def picture(self) -> list[list[object]]:
        """All that the model knows of its jobs."""
        return [list(vars(job).values()) for job in self.model.jobs.values()]

    def key(self) -> bytes:
        """All that can make a difference from here on; workers are alike, so their order makes none."""
        model, jobs = self.model, self.model.jobs
        past = sorted({j.run_at for j in jobs.values() if j.run_at <= model.now and not j.finished})
        told: list[int] = [queue in self.paused for queue in self.scene.pauses]
        told += [model.pauses.get(queue) is not None for queue in self.scene.pauses]
        if not self.scene.alike:
            told += self._arrival()
        run = [
            (j.worker if (j := jobs.get(name)) and j.state == "running" else None) for name in self.scene.jobs
        ]
        who = sorted([worker in model.beats, *(by == worker for by in run)] for worker in WORKERS)
        for name in self.scene.jobs:
            job = jobs.get(name)
            told += (_NOTHING,) if job is None else (*self._told(job, past), *self._tickets(job))
        return bytes((*told, *(bit for bits in who for bit in bits)))

    def _arrival(self) -> list[int]:
        """Who came before whom, where that may decide who is first in line."""
        jobs = [job for name in self.scene.jobs if (job := self.model.jobs.get(name)) is not None]
        return [
            one.seq < other.seq for one, other in pairwise(jobs) if one.ask.priority == other.ask.priority
        ]

    def _told(self, job: Job, due: list[int]) -> tuple[int, ...]:
        """Times from now on, if they are to come; of those that were, their order."""
        now, past = self.model.now, self.past[job.id]
        ended = (_STATE[job.state], past.claims, past.replays, past.returned and job.ask.group is not None)
        if job.finished and job.reason != "poison":
            return ended
        lasts = () if past.expires is None else (
            max(past.expires - now, 0), _NOTHING if job.expires_at is None else max(job.expires_at - now, 0), job.started_at is None,
        )  # fmt: skip
        if job.finished:
            return (*ended, job.attempt, job.crashes, past.fails, *lasts)
        return (
            *ended, job.attempt, job.crashes, job.held, job.cancel_at is not None, past.fails,
            past.begun and (job.ask.group is not None or past.expires is not None),
            job.run_at - now + 100 if job.run_at > now else due.index(job.run_at),
            _NOTHING if job.lease_until is None else max(job.lease_until - now, 0), *lasts,
        )  # fmt: skip

    def _tickets(self, job: Job) -> list[int]:
        """The tickets of a job: what was said of each, and what is still thought of it; of one that runs, whether they are older.

        Those of one sort are alike: what was said of a settled one makes no difference but to who says it again. While the job
        does not run, neither does which of them is the latest: the next claim makes them all older.
        """
        now, gone, runs = self.model.now, job.finished and job.reason != "poison", job.state == "running"
        kinds = []
        for nth in range(1, self.past[job.id].claims + 1):
            held = self.held[job.id, nth]
            epoch = held.ticket.epoch
            has = held.said is None and held.until > now
            older = (epoch < job.epoch) + 2 * (epoch > job.epoch) if runs else 0
            kinds.append(
                older + 4 * (held.said is not None) + 8 * has + 16 * (not gone and self._in_doubt(held))
            )
        return [*sorted(kinds[:-1]), *kinds[-1:]] if runs else sorted(kinds)


def _over(moment: int | None, now: int) -> bool:
    return moment is not None and moment <= now
