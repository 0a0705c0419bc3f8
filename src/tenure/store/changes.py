"""What is decided about locked jobs: gathered one by one, written together in the transaction that holds the locks."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from msgspec import Struct

from tenure.fingerprint import fingerprint as alike
from tenure.job import SUSPECT, State
from tenure.store.dialect import Capabilities
from tenure.store.groups import admit
from tenure.store.hooks import call_hooks
from tenure.store.pack import pack
from tenure.store.plan import Plan, Statement

__all__ = ["MAX_CRASHES", "VANISHED", "Changes", "Held"]

MAX_CRASHES = 3
VANISHED = "its worker vanished while it ran"
"""What crashes have in common of which nobody says more."""


class Held(NamedTuple):
    """What `hold`, `overdue` and `of_worker` tell of a locked, running job."""

    id: str
    seq: int
    epoch: int
    attempt: int
    max_attempts: int
    crashes: int
    run_at: int
    cancel_at: int | None
    expires_at: int | None
    started_at: int | None
    worker: str | None
    group_key: str | None
    extra: str | None
    doubt: int | None
    now: int
    kind: str

    @property
    def given_back(self) -> int:
        """The attempt before this one."""
        return max(self.attempt - 1, 0)

    @property
    def untried(self) -> int | None:
        """When it started, unless this was its first time and does not count."""
        return None if self.given_back == 0 and self.crashes == 0 else self.started_at

    @property
    def suspicion(self) -> int | None:
        """The doubt that stays with a job given back unstarted."""
        return SUSPECT if self.doubt == SUSPECT else None


class Changes(Struct):
    """What was decided about locked jobs, to be written together."""

    finish: list[dict[str, Any]] = []
    requeue: list[dict[str, Any]] = []
    story: list[dict[str, Any]] = []
    freed: list[str] = []
    dead: list[str] = []

    def end(self, job: Any, state: State, outcome: str | None, **more: Any) -> None:
        """The job leaves the line for good, and its slot is free."""
        row = {"id": job.id, "seq": job.seq, "epoch": job.epoch, "finished_at": job.now, "state": state.value}
        self.finish.append(row | {"outcome": outcome, "reason": None, "error": None, "result": None} | more)
        if state is State.DEAD:
            self.dead.append(job.id)
        if job.group_key is not None:
            self.freed.append(job.group_key)

    def back(self, job: Held, *, run_at: int, **more: Any) -> None:
        """The job goes back to the line; waiting for later, it keeps its group's slot only where order is strict."""
        steps_aside = job.group_key is not None and run_at > job.now and _order(job) == "start"
        row = {
            "id": job.id, "seq": job.seq, "epoch": job.epoch, "attempt": job.attempt, "crashes": job.crashes,
            "run_at": run_at, "state": State.SCHEDULED.value if run_at > job.now else State.READY.value,
            "held": True if job.group_key is not None and not steps_aside else None, "started_at": job.started_at,
            "doubt": None, "settled_epoch": None, "trace": None, "outcome": None, "error": None,
        }  # fmt: skip
        self.requeue.append(row | more)
        if steps_aside and job.group_key is not None:
            self.freed.append(job.group_key)

    def crash(
        self, job: Held, by: str, words: str, *, max_crashes: int, like: str = VANISHED, **more: Any
    ) -> None:
        """The job crashed once more: ready again with its attempt given back, dead (poison) at `max_crashes`.

        `by` says who counted the crash; only one that `reclaim` counted can turn out to be none. `like` is what makes it one
        with others.
        """
        crashes = job.crashes + 1
        counted = {"outcome": None, "attempt": job.given_back, "crashes": crashes, **more}
        told = words or f"worker {job.worker} vanished while it ran this job (crash {crashes})"
        self.tell(job, "Crash", told, None, by, alike(job.kind, "Crash", like, None))
        if job.cancel_at is not None:
            self.end(job, State.CANCELLED, **counted)
        elif crashes >= max_crashes:
            last = f"it crashed {crashes} times; the last: {words}"
            why = last if words else f"its worker vanished {crashes} times while it ran"
            self.end(job, State.DEAD, reason="poison", error=f"poison: {why}", **counted)
        else:
            self.back(job, run_at=job.run_at, **counted)

    def take_back(self, job: Held, doubt: int | None) -> None:
        """The job is taken from its worker, which is no fault of the job: as it was before the claim, with this doubt."""
        taken = {"epoch": job.epoch + 1, "attempt": job.given_back}
        if job.cancel_at is not None:
            self.end(job, State.CANCELLED, None, **taken)
        else:
            began = job.started_at if job.doubt is None else job.untried
            self.back(job, run_at=job.run_at, started_at=began, doubt=doubt, **taken)

    def tell(
        self,
        job: Held,
        error_kind: str,
        message: str,
        traceback: str | None = None,
        outcome: str | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """The attempt goes into the job's history; `fingerprint` is what failures alike have in common."""
        self.story.append({
            "id": job.id, "epoch": job.epoch, "attempt": job.attempt, "worker": job.worker,
            "started_at": job.started_at, "finished_at": job.now, "outcome": outcome, "error_kind": error_kind, "message": message,
            "traceback": traceback, "fingerprint": fingerprint,
        })  # fmt: skip

    def write(self, can: Capabilities, *, now: int | None) -> Plan[None]:
        """All of it, and what hooks make of it, in the transaction that holds the locks."""
        if self.story:
            yield Statement("attempt_add", {"rows": pack(self.story)})
        if self.finish:
            yield Statement("finish", {"rows": pack(self.finish)})
        if self.requeue:
            yield Statement("requeue", {"rows": pack(self.requeue)})
        yield from admit(self.freed, can)
        yield from call_hooks(self.dead, can, now=now)


def _order(job: Held) -> str:
    return str(json.loads(job.extra).get("order", "strict")) if job.extra else "strict"
