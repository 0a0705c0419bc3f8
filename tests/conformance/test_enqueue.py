"""enqueue: what is stored, and what is answered."""

from __future__ import annotations

import tenure
from tests.support.clock import MovedClock


def test_a_job_is_ready_once_enqueue_returned(q: tenure.Queue) -> None:
    answer = q.enqueue("send_email", {"to": "a@b.c"})
    assert answer.inserted
    job = q.get(answer.id)
    assert job is not None
    assert (job.kind, job.payload, job.state, job.attempt, job.epoch) == ("send_email", {"to": "a@b.c"}, "ready", 0, 0)


def test_a_job_with_a_delay_is_scheduled_until_it_is_due(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", delay="10m")
    assert cq.claim() == []
    clock.advance("10m")
    assert [c.id for c in cq.claim()] == [answer.id]
