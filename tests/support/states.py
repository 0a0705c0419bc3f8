"""Jobs brought to where a test needs them, and claim loops that take what there is."""

from __future__ import annotations

from typing import Any

import tenure

__all__ = ["STATES", "drain", "job_in", "look", "take"]

STATES = [state.value for state in tenure.State]


def look(q: tenure.Queue, job_id: str) -> tenure.JobSeen:
    """The job, which must be there."""
    job = q.get(job_id)
    assert job is not None
    return job


def take(q: tenure.Queue, job_id: str) -> tenure.Claim:
    """A claim on this job, which must be the next of its kind in its queue."""
    job = look(q, job_id)
    [claim] = q.claim(kinds=[job.kind], queues=[job.queue])
    assert claim.id == job_id
    return claim


def job_in(q: tenure.Queue, state: str, kind: str = "k", **options: Any) -> tenure.JobId:
    """A new job in this state; its kind must have no ready job in its queue. `waiting` makes a `holder` to wait for."""
    match state:
        case "scheduled":
            options = {"delay": "1h", **options}
        case "waiting":
            options = {"group": "busy", **options}
            q.enqueue("holder", group=options["group"])
        case _:
            pass
    job_id = q.enqueue(kind, **options).id
    match state:
        case "running":
            take(q, job_id)
        case "done":
            q.settle(take(q, job_id), tenure.Done())
        case "dead":
            q.settle(take(q, job_id), tenure.Bury("buried", "a bad day"))
        case "cancelled":
            q.cancel(job_id)
        case _:
            pass
    assert look(q, job_id).state == state
    return job_id


def drain(q: tenure.Queue, limit: int = 1) -> list[tenure.JobId]:
    """A bare worker: claim and settle until nothing is left; the ids in the order of their claims."""
    ids = []
    while claims := q.claim(limit):
        for claim in claims:
            assert q.settle(claim, tenure.Done())
            ids.append(claim.id)
    return ids
