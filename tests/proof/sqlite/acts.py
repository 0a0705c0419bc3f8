"""What a producer and a worker do on one file, one thing after the other, and whether it shows in a file found later.

Each act is one commit that was promised; it ends jobs that no other act ends, so that what a job is tells whether the act
is there. Acts happen in an order, and so do their commits: what is there of them must be the first so many.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import tenure
from tenure.store.sqlite.store import SqliteStore
from tests.proof.sqlite.disk import Disk

__all__ = ["OUTCOMES", "Act", "Life", "payload", "shown"]

_CHECKPOINTS = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")
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
                    self._work,
                    self._cancel,
                    self._abandon,
                    self._checkpoint,
                ),
                weights=(30, 10, 35, 5, 8, 3),
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
        store = self.q._store
        assert isinstance(store, SqliteStore)
        store._link(0).query(f"PRAGMA wal_checkpoint({self.rng.choice(_CHECKPOINTS)})", {})
