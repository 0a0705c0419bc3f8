"""A store with something to see on every page: jobs in every state, alike failures, a flow, schedules, a request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import tenure
from tests.dashboard.house import House

__all__ = ["Seeded", "seed"]

TRACE = (
    'Traceback (most recent call last):\n  File "/app/{file}.py", line 41, in send\n    raise TimeoutError\n'
)


@dataclass
class Seeded:
    """The ids of what stands out."""

    dead: str
    done: str
    running: str
    ready: str
    parent: str
    hook: str


def seed(
    house: House,
    words: str = "the server did not answer",
    error_kind: str = "TimeoutError",
    *,
    file: str = "mail",
    header: str = "x-words",
) -> Seeded:
    """Through the store's own verbs, so that it is there at once; `words` stand in every field that takes them.

    `file` is where it failed, by its traceback, and `header` the name of one that a request came with.
    """
    q = house.q
    for number in range(3):
        dead = _fail(q, q.enqueue("send_email", {"to": f"a{number}@b.c", "text": words}, queue="mail", max_attempts=1).id, words, error_kind, file)  # fmt: skip
    done = _done(q, q.enqueue("resize", {"text": words}, queue="pictures", tags=["vip"]).id, {"said": words})
    parent = q.enqueue("import_all", {"n": 2}, queue="imports", flow="night-import").id
    _done(q, parent, None)
    for number in range(2):
        child = q.enqueue("import_one", {"n": number}, queue="imports", parent=parent, flow="night-import").id
        _done(q, child, number)
    running = q.enqueue("crawl", {"url": "https://example.org"}, queue="slow").id
    _claim(q, running)
    hook = q.enqueue_job(
        tenure.NewJob(
            kind="on_event", payload={"id": 7}, queue="hooks", delay="1h",
            request=tenure.Request(headers={"content-type": "application/json", header: words}, body=json.dumps({"id": 7, words: words}).encode()),
        )
    ).id  # fmt: skip
    ready = q.enqueue("send_email", {"to": "x@y.z"}, queue="mail").id
    return Seeded(dead, done, running, ready, parent, hook)


def _claim(q: tenure.Queue, job_id: str) -> tenure.Claim:
    job = q.get(job_id)
    assert job is not None
    [claim] = q.claim(kinds=[job.kind], queues=[job.queue], worker="host-1")
    assert claim.id == job_id
    return claim


def _done(q: tenure.Queue, job_id: str, result: Any) -> str:
    assert q.settle(_claim(q, job_id), tenure.Done(result))
    return job_id


def _fail(q: tenure.Queue, job_id: str, words: str, error_kind: str, file: str) -> str:
    trace = f"{TRACE.format(file=file)}{error_kind}: {words}\n"
    assert q.settle(_claim(q, job_id), tenure.Fail(words, kind=error_kind, traceback=trace))
    return job_id
