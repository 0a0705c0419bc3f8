"""What is done to jobs from outside: by people (cancel, replay, pause, purge) and by whoever keeps the house (the chores).

Each verb is one transaction, safe at any time and from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from tests.proof.model.rules import Rules, suspicion
from tests.proof.model.words import PENDING, SUSPECT, Job, Move, State

__all__ = ["Chores"]

_REPLAYED = (
    "epoch", "state", "run_at", "attempt", "crashes", "started_at", "finished_at", "expires_at", "cancel_at", "worker", "reason",
    "error", "result", "progress", "was",
)  # fmt: skip
"""What a replay changes of a job, and the epoch by which it is known that nobody has claimed it since."""


class Chores(Rules):
    """The verbs of people and of the house."""

    # People.

    def cancel(self, job_id: str, reason: str = "cancelled") -> str:
        """A pending job is cancelled at once; a running one is asked, and its worker sees it at the next renew."""
        job = self.jobs.get(job_id)
        if job is None:
            return "unknown"
        if job.finished:
            return "finished"
        done = self._cancel(job, reason)
        self.admit()
        return done

    def cancel_many(self, states: Collection[State], reason: str = "cancelled") -> tuple[int, int]:
        """Cancel, or ask, every job in one of these states; how many were cancelled, and how many asked."""
        these = [job for job in self.jobs.values() if not job.finished and job.state in states]
        done = [self._cancel(job, reason) for job in these]
        self.admit()
        return done.count("cancelled"), done.count("asked")

    def _cancel(self, job: Job, reason: str) -> str:
        if job.state == "running":
            if job.cancel_at is None:
                job.cancel_at, job.reason = self.now, reason
            return "asked"
        self.finish(job, "cancel", "cancelled", reason=reason)
        return "cancelled"

    def replay(self, job_id: str, delay: int = 0) -> str:
        """A finished job starts anew, now or later: attempt, crashes and expiry are reset, id and epoch are kept."""
        job = self.jobs.get(job_id)
        if job is None:
            return "unknown"
        if not job.finished:
            return "not_finished"
        replayed = self._replay(job, delay)
        self.admit()
        return "replayed" if replayed else "conflict"

    def replay_many(self, states: Collection[State], delay: int = 0) -> tuple[int, int]:
        """Start anew what is finished, in one of these states; how many were, and how many found their unique slot taken."""
        these = [job for job in self.jobs.values() if job.finished and job.state in states]
        replayed = [self._replay(job, delay) for job in these]
        self.admit()
        return replayed.count(True), replayed.count(False)

    def unreplay(self) -> tuple[int, int]:
        """What was replayed and not claimed since is as it was before; how many are, and how many that have not ended are not."""
        these = [job for job in self.jobs.values() if not job.finished]
        back = [job for job in these if job.was is not None and job.was["epoch"] == job.epoch]
        for job in back:
            was = job.was or {}
            self.move(job, "unreplay", was["state"])
            for name, value in was.items():
                setattr(job, name, value)
            self.free(job)
        self.admit()
        return len(back), len(these) - len(back)

    def _replay(self, job: Job, delay: int) -> bool:
        was = {name: getattr(job, name) for name in _REPLAYED}
        if not self.come_back(job, "replay", delay):
            return False
        job.was = was
        job.attempt = job.crashes = 0
        job.started_at = job.expires_at = None
        # Its crashes belong to a life that is over.
        job.story = {e: a._replace(by=None) if a.by == "reclaim" else a for e, a in job.story.items()}
        return True

    def discard(self) -> int:
        """Dead jobs end as cancelled, now; what they died of stays in the reason. How many."""
        these = [job for job in self.jobs.values() if job.state == "dead"]
        for job in these:
            self.move(job, "discard", "cancelled")
            job.was = {"state": "dead", "finished_at": job.finished_at, "reason": job.reason}
            job.finished_at = self.now
            job.reason = "discarded" if job.reason is None else f"discarded: {job.reason}"
        return len(these)

    def restore(self) -> int:
        """What was discarded is dead again, as it was; how many."""
        these = [(j, j.was) for j in self.jobs.values() if j.state == "cancelled" and j.was is not None]
        for job, was in these:
            self.move(job, "restore", was["state"])
            job.finished_at, job.reason, job.was = was["finished_at"], was["reason"], None
        return len(these)

    def pause(self, queue: str) -> None:
        """Nothing more is claimed from the queue; what runs goes on."""
        if self.pauses.get(queue) is None:
            self.pauses[queue] = self.now

    def resume(self, queue: str) -> bool:
        """It is claimed from again; whether it was paused."""
        was = self.pauses.get(queue) is not None
        if was:
            self.pauses[queue] = None
        return was

    # The chores. A claim does the first three by itself.

    def expire(self) -> int:
        """Past its expiry a pending job that never started is cancelled; one already tried is dead. How many."""
        over = [j for j in self.jobs.values() if j.state in PENDING]
        over = [j for j in over if j.expires_at is not None and j.expires_at <= self.now]
        for job in over:
            tried = job.attempt > 0 or job.crashes > 0 or job.started_at is not None
            self.finish(job, "expire", "dead" if tried else "cancelled", reason="expired")
        self.admit()
        return len(over)

    def promote(self) -> int:
        """Due jobs enter the line; how many."""
        due = [j for j in self.jobs.values() if j.state == "scheduled" and j.run_at <= self.now]
        due = [j for j in due if j.expires_at is None or j.expires_at > self.now]
        for job in due:
            self.move(job, "promote", "ready" if job.ask.group is None or job.held else "waiting")
        self.admit(*(j.ask.group for j in due if j.ask.group is not None))
        return len(due)

    def reclaim(self) -> int:
        """Take back what runs past its lease; how many. It crashed if it had started and its worker beats no more."""
        overdue = [j for j in self.jobs.values() if self.overdue(j)]
        for job in overdue:
            if self.alive(job.worker):
                self.take_back(job, "reclaim", suspicion(job))
            elif job.doubt is None:
                self.crash(job, "reclaim")
            else:
                self.take_back(job, "reclaim", SUSPECT)
        self.admit()
        return len(overdue)

    def overdue(self, job: Job) -> bool:
        """Whether a lease has run out."""
        return job.state == "running" and job.lease_until is not None and job.lease_until <= self.now

    def vanished(self, worker: str, started: Collection[tuple[str, int]] = (), story: str = "") -> int:
        """Somebody saw the worker go: all it held is taken back at once, and what it had `started` has crashed; how many."""
        mine = [j for j in self.jobs.values() if j.state == "running" and j.worker == worker]
        for job in mine:
            if (job.id, job.epoch) in started:
                self.crash(job, "vanished", story)
            else:
                self.take_back(job, "vanished", suspicion(job))
        self.admit()
        self.beats.pop(worker, None)
        return len(mine)

    def retain(self, ages: Mapping[State, int]) -> int:
        """Delete what finished longer ago than its state's age; how many. Dead jobs only go if their age is said."""
        return self._delete(
            "retain", lambda j: j.state in ages and (j.finished_at or 0) <= self.now - ages[j.state]
        )

    def purge(self, states: Collection[State]) -> int:
        """Delete what is finished, in one of these states; how many."""
        return self._delete("purge", lambda j: j.state in states)

    def _delete(self, cause: str, gone: Callable[[Job], bool]) -> int:
        these = [job for job in self.jobs.values() if job.finished and gone(job)]
        for job in these:
            self.moves.append(Move(job.id, cause, job.state, None))
            del self.jobs[job.id]
        return len(these)

    def beat(self, worker: str) -> None:
        """A worker says that it lives."""
        self.beats[worker] = self.now

    def leave(self, worker: str) -> None:
        """A worker says goodbye."""
        self.beats.pop(worker, None)
