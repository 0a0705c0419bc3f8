"""progress: how far a held job is."""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tests.support.claims import every_outcome, seen, start
from tests.support.clock import MovedClock


@pytest.mark.parametrize("done", [0, 0.1, 0.75, 1])
def test_progress_is_shown_with_the_job(q: tenure.Queue, done: float) -> None:
    claim = start(q)
    assert q.progress(claim, done, "3 of 4 chapters")
    job = seen(q, claim.id)
    assert (job.progress, job.progress_note, job.state) == (done, "3 of 4 chapters", "running")


def test_a_job_that_told_nothing_has_no_progress(q: tenure.Queue) -> None:
    claim = start(q)
    job = seen(q, claim.id)
    assert (job.progress, job.progress_note) == (None, None)


def test_the_last_progress_counts(q: tenure.Queue) -> None:
    claim = start(q)
    q.progress(claim, 0.25, "a quarter")
    assert q.progress(claim, 0.5)
    job = seen(q, claim.id)
    assert (job.progress, job.progress_note) == (0.5, None)


def test_progress_is_cleared_at_the_next_claim(q: tenure.Queue) -> None:
    claim = start(q)
    q.progress(claim, 0.5, "half")
    q.settle(claim, tenure.Fail("boom", retry_in=0))
    assert seen(q, claim.id).progress == 0.5
    q.claim()
    job = seen(q, claim.id)
    assert (job.progress, job.progress_note, job.state) == (None, None, "running")


def test_progress_does_not_renew_the_lease(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    lease = seen(cq, claim.id).lease_until
    clock.advance("10s")
    assert cq.progress(claim, 0.5)
    assert seen(cq, claim.id).lease_until == lease


@pytest.mark.parametrize("done", [-0.01, 1.01, float("nan"), float("inf"), True, "0.5", None], ids=repr)
def test_progress_that_cannot_be_is_refused(q: tenure.Queue, done: Any) -> None:
    claim = start(q)
    with pytest.raises(tenure.FieldError) as caught:
        q.progress(claim, done)
    assert caught.value.field == "done"
    assert seen(q, claim.id).progress is None


@every_outcome
def test_progress_of_a_settled_claim_is_refused(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    claim = start(q)
    q.settle(claim, outcome)
    assert not q.progress(claim, 0.5)
    assert seen(q, claim.id).progress is None


def test_progress_of_a_claim_taken_back_is_refused(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    clock.advance("1m")
    cq.reclaim()
    assert not cq.progress(claim, 0.5)
    assert seen(cq, claim.id).progress is None


def test_progress_past_a_lease_that_nobody_took_back_is_kept(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    clock.advance("1m")
    assert cq.progress(claim, 0.5)
    assert seen(cq, claim.id).progress == 0.5


def test_a_note_that_no_store_can_keep_is_cleaned(q: tenure.Queue) -> None:
    claim = start(q)
    assert q.progress(claim, 0.5, "a\x00b\ud800c")
    note = seen(q, claim.id).progress_note
    assert note is not None
    assert (note[0], note[2], note[4], "\x00" in note, "\ud800" in note) == ("a", "b", "c", False, False)
