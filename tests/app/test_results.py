"""A job in the hands of who enqueued it: its result, its end, and another go."""

from __future__ import annotations

from datetime import date

import pytest

import tenure
from tests.app.front import Front, Receipt


def settle(front: Front, outcome: tenure.Outcome) -> None:
    """End the one job that is ready, as a worker would."""
    [claim] = front.app.queue.claim(limit=1)
    assert front.app.queue.settle(claim, outcome)


def test_a_result_is_waited_for_and_comes_as_the_return_annotation_has_it(front: Front) -> None:
    with front.at_work():
        sent = front.enqueue(front.send, "a")
        made = front.enqueue(front.receipt, 7, date(2024, 1, 1))
        assert front.do(sent, "result", timeout="30s") == "hi to a"
        assert front.do(made, "result", timeout=30) == Receipt(7, date(2024, 1, 1))


def test_a_result_can_be_read_again_by_anybody_who_has_the_job(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    settle(front, tenure.Done("sent"))
    assert [front.do(job, "result") for _ in range(2)] == ["sent", "sent"]
    assert front.seen(job).result == "sent"


def test_a_job_that_died_has_no_result_and_says_why(front: Front) -> None:
    with front.at_work():
        job = front.enqueue(front.explode, "the kettle")
        with pytest.raises(tenure.JobFailed, match=r"it is dead: .*the kettle") as failed:
            front.do(job, "result", timeout="30s")
    assert (failed.value.job_id, failed.value.state) == (job.id, "dead")


def test_a_job_that_was_cancelled_has_no_result_and_says_why(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    assert front.do(job, "cancel", "no longer wanted") == "cancelled"
    with pytest.raises(tenure.JobFailed, match="it is cancelled: no longer wanted"):
        front.do(job, "result")


def test_a_job_that_is_gone_has_no_result(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    settle(front, tenure.Done())
    front.app.queue.purge(tenure.Filter(ids=[job.id]))
    with pytest.raises(tenure.JobFailed, match="gone") as failed:
        front.do(job, "result")
    assert failed.value.state is None
    assert front.do(job, "get") is None


@pytest.mark.parametrize("timeout", [0, "20ms"])
def test_waiting_ends_in_time(front: Front, timeout: str | int) -> None:
    job = front.enqueue(front.send, "a")
    with pytest.raises(TimeoutError, match=job.id):
        front.do(job, "result", timeout=timeout)
    for bad in ("soon", -1):
        with pytest.raises(tenure.FieldError):
            front.do(job, "result", timeout=bad)


def test_a_result_that_is_there_is_given_even_without_any_time_to_wait(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    settle(front, tenure.Done("x"))
    assert front.do(job, "result", timeout=0) == "x"


def test_a_result_that_is_not_kept_is_told_as_such(front: Front) -> None:
    with front.at_work():
        job = front.enqueue(front.forget, "word")
        with pytest.raises(tenure.ResultNotKept, match=r"is done, but .* keep_result=False"):
            front.do(job, "result", timeout="30s")


def test_a_result_that_does_not_fit_the_annotation_says_so(front: Front) -> None:
    job = front.enqueue(front.receipt, 1, date(2024, 1, 1))
    settle(front, tenure.Done({"number": "x", "day": "2024-01-01"}))
    with pytest.raises(tenure.PayloadError, match=r"result\.number: expected `int`, got `str`"):
        front.do(job, "result")


def test_the_result_of_a_kind_only_others_know_is_plain_json(front: Front) -> None:
    job = front.do(front.app, "enqueue", "elsewhere", {}, force=True)
    settle(front, tenure.Done({"a": [1]}))
    assert front.do(job, "result") == {"a": [1]}


def test_a_running_job_is_asked_to_cancel(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    front.app.queue.claim(limit=1)
    assert front.do(job, "cancel") == "asked"


def test_a_finished_job_can_be_replayed(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    assert front.do(job, "replay") is tenure.Replayed.NOT_FINISHED
    settle(front, tenure.Bury("never"))
    assert front.do(job, "replay") is tenure.Replayed.REPLAYED
    assert front.seen(job).state == "ready"
    with front.at_work():
        assert front.do(job, "result", timeout="30s") == "hi to a"


def test_a_job_tells_what_it_is(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    assert repr(job) == f"Job(id={job.id!r}, kind='send', inserted=True)"
