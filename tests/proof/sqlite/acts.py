"""What a producer and a worker do on one file, one thing after the other, and whether it shows in a file found later.

Each act is one commit that was promised; it ends jobs that no other act ends, so that what a job is tells whether the act
is there. Acts happen in an order, and so do their commits: what is there of them must be the first so many.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import apsw

import tenure
from tenure.config import SqlitePlace, locate
from tenure.store.sqlite.store import SqliteStore
from tests.proof.sqlite.disk import Disk

__all__ = ["HOOKS", "OUTCOMES", "Act", "Life", "check_hooks", "hooks_of", "payload", "shown"]

_CHECKPOINTS = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")
HOOKS = (1, 3, 80)
"""How many webhooks come at once: the last are more than one statement stores."""
OUTCOMES: dict[str, tenure.Outcome] = {
    "done": tenure.Done({"ok": True}),
    "scheduled": tenure.Fail("a bad day", retry_in="1h"),
    "dead": tenure.Bury("buried"),
}


@dataclass(frozen=True, slots=True)
class Act:
    """These jobs came (state None), or ended in this state."""

    ids: tuple[str, ...]
    state: str | None = None
    hooks: Mapping[str, tenure.NewJob] = field(default_factory=dict, compare=False, repr=False)
    """Those that came as webhooks: each with its request, and for a day nobody else under its key."""


def hooks_of(rng: random.Random, before: Sequence[Act | None]) -> list[tenure.NewJob]:
    """Webhooks that a gateway would store at once; now and then one that came before is sent again."""
    made = [
        tenure.NewJob(
            kind="k",
            payload=payload(rng),
            unique=f"{rng.getrandbits(64):x}",
            unique_for="1d",
            request=tenure.Request(rng.randbytes(rng.choice((0, 20, 3_000))), {"n": str(n)}),
            # Whatever waits for its retry does not hold the others up: half an hour later they have to end.
            group=rng.choice((None, "a", "b", "c")),
            order="start",
        )
        for n in range(rng.choice(HOOKS))
    ]
    came = [hook for act in before if act is not None for hook in act.hooks.values()]
    return made + (rng.sample(came, 1) if came and rng.random() < 0.5 else [])


def check_hooks(url: str, acts: Sequence[Act]) -> int:
    """Each webhook of these acts has its request and holds its period, and nobody else does; how many there are."""
    hooks = {job: hook for act in acts for job, hook in act.hooks.items()}
    place = locate(url)
    assert isinstance(place, SqlitePlace)
    with closing(apsw.Connection(place.path)) as file:
        for table in ("requests", "ledger"):
            found = {job for (job,) in file.execute(f"SELECT job_id FROM tenure_{table}")}
            assert found == hooks.keys(), f"{table}: {len(hooks.keys() ^ found)} rows too few or too many"
    with tenure.open(url) as q:
        for job, hook in hooks.items():
            assert q.request(job) == hook.request, f"job {job} came with another request"
        again = q.enqueue_many(list(hooks.values()))
    told = [(answer.id, answer.inserted) for answer in again]
    assert told == [(job, False) for job in hooks], "a webhook that was sent again was stored again"
    return len(hooks)


def payload(rng: random.Random) -> str:
    """Mostly a short text, now and then one of several pages."""
    return "x" * int(rng.paretovariate(0.6) % 20_000)


def shown(act: Act, jobs: Mapping[str, tenure.JobSeen]) -> bool:
    """Whether the act is there; one that is there in part raises."""
    if act.state is None:
        there = {job_id in jobs for job_id in act.ids}
    else:
        there = {job_id in jobs and jobs[job_id].state == act.state for job_id in act.ids}
    assert len(there) == 1, f"{act} is there in part"
    return there.pop()


@dataclass
class Life:
    """What is done between two power cuts; `acts` begins with what was there before."""

    q: tenure.Queue
    disk: Disk
    rng: random.Random
    acts: list[Act] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    """Jobs that came and have not ended."""

    def live(self, count: int) -> None:
        """Do so many things; the disk's log is told when each was asked for, and when it was promised."""
        for _ in range(count):
            doing = self.rng.choices(
                (
                    self._enqueue,
                    self._enqueue_many,
                    self._enqueue_hooks,
                    self._work,
                    self._cancel,
                    self._abandon,
                    self._checkpoint,
                ),
                weights=(30, 10, 8, 35, 5, 8, 3),
            )[0]
            self.disk.mark(("asked", len(self.acts)))
            doing()
            self.disk.mark(("told", len(self.acts)))

    def _came(self, *ids: str) -> None:
        self.acts.append(Act(ids))
        self.open.update(ids)

    def _enqueue(self) -> None:
        options: list[dict[str, object]] = [
            {},
            {"priority": 3},
            {"unique": str(len(self.acts))},
            {"tags": ["a"]},
        ]
        answer = self.q.enqueue("k", payload(self.rng), **self.rng.choice(options))  # type: ignore[arg-type]
        self._came(answer.id)

    def _enqueue_many(self) -> None:
        jobs = [
            tenure.NewJob(kind="k", payload=payload(self.rng)) for _ in range(self.rng.choice((2, 20, 80)))
        ]
        self._came(*(answer.id for answer in self.q.enqueue_many(jobs)))

    def _enqueue_hooks(self) -> None:
        jobs = hooks_of(self.rng, self.acts)
        answers = self.q.enqueue_many(jobs)
        came: dict[str, tenure.NewJob] = {
            answer.id: job for answer, job in zip(answers, jobs, strict=True) if answer.inserted
        }
        self.acts.append(Act(tuple(came), hooks=came))
        self.open.update(came)
        assert "tenure_whole" in self._store._link(0).made, "they were not stored as a gateway's are"

    def _work(self) -> None:
        claims = self.q.claim(self.rng.choice((1, 5, 30)), lease="1m")
        if not claims:
            return
        state = self.rng.choice(list(OUTCOMES))
        assert all(self.q.settle_many([(claim, OUTCOMES[state]) for claim in claims]))
        ids = tuple(claim.id for claim in claims)
        self.acts.append(Act(ids, state))
        self.open.difference_update(ids)

    def _cancel(self) -> None:
        if self.open:
            job = self.q.get(self.rng.choice(sorted(self.open)))
            if job is not None and job.state == "ready" and self.q.cancel(job.id) == "cancelled":
                self.acts.append(Act((job.id,), "cancelled"))
                self.open.discard(job.id)

    def _abandon(self) -> None:
        """A claim that nobody settles: it promises nothing, and is taken back by the next claim."""
        self.q.claim(2, lease="1ms")

    def _checkpoint(self) -> None:
        self._store._link(0).query(f"PRAGMA wal_checkpoint({self.rng.choice(_CHECKPOINTS)})", {})

    @property
    def _store(self) -> SqliteStore:
        store = self.q._store
        assert isinstance(store, SqliteStore)
        return store
