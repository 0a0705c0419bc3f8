"""get: one job, wherever it is."""

from __future__ import annotations

from uuid import UUID

import pytest

import tenure
from tests.support.states import STATES, job_in

NOBODY = "01900000-0000-7000-8000-000000000000"


@pytest.mark.parametrize("state", STATES)
def test_get_finds_a_job_in_every_state(q: tenure.Queue, state: str) -> None:
    job_id = job_in(q, state)
    job = q.get(job_id)
    assert job is not None
    assert (job.id, job.state) == (job_id, state)


def test_get_answers_none_for_an_unknown_id(q: tenure.Queue) -> None:
    q.enqueue("k")
    assert q.get(NOBODY) is None


def test_get_takes_an_id_in_any_spelling_of_a_uuid(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    assert [job and job.id for job in (q.get(job_id.upper()), q.get(UUID(job_id).hex))] == [job_id, job_id]


def test_get_refuses_what_is_no_uuid(q: tenure.Queue) -> None:
    with pytest.raises(tenure.FieldError, match="id: must be a UUID, got 'seven'"):
        q.get("seven")


def test_get_tells_every_option_of_a_job(q: tenure.Queue) -> None:
    parent = q.enqueue("parent").id
    job_id = q.enqueue(
        "k", {"a": [1, "ü"]}, queue="mail", priority=-7, max_attempts=3, unique="u", group="g", group_limit=2,
        order="start", expires_in="1h", timeout="90s", tags=["red", "blue"], meta={"trace": "t1"}, parent=parent,
        flow="f", tenant="acme",
    ).id  # fmt: skip
    job = q.get(job_id)
    assert job is not None
    assert job.expires_at is not None
    assert (job.kind, job.payload) == ("k", {"a": [1, "ü"]})
    assert (job.queue, job.priority, job.max_attempts) == ("mail", -7, 3)
    assert (job.unique, job.group, job.group_limit, job.order) == ("u", "g", 2, "start")
    assert ((job.expires_at - job.created_at).seconds, job.timeout and job.timeout.seconds) == (3600, 90)
    assert (job.tags, job.meta) == (("red", "blue"), {"trace": "t1"})
    assert (job.parent, job.flow, job.tenant) == (parent, "f", "acme")
