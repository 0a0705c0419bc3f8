"""next_due: how long until something happens by itself."""

from __future__ import annotations

import pytest

import tenure
from tests.support.claiming import job_of
from tests.support.clock import MovedClock, move_machine_clock
from tests.support.places import Place


def test_nothing_is_due_where_nothing_waits_for_its_time(cq: tenure.Queue) -> None:
    assert cq.next_due() is None
    cq.enqueue("k")
    assert cq.next_due() is None


def test_the_earliest_scheduled_job_counts(cq: tenure.Queue, clock: MovedClock) -> None:
    for delay in ("2m", "90s", "1h"):
        cq.enqueue("k", delay=delay)
    assert cq.next_due() == 90.0
    clock.advance("30s")
    assert cq.next_due() == 60.0


def test_a_lease_that_runs_out_first_counts(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k")
    cq.enqueue("k", delay="1h")
    [claim] = cq.claim(lease="20s")
    assert cq.next_due() == 20.0
    clock.advance("5s")
    assert cq.renew([claim], lease="20s").kept == {claim.id}
    assert cq.next_due() == 20.0
    assert cq.settle(claim, tenure.Done())
    assert cq.next_due() == 3_595.0


def test_a_lease_alone_counts(cq: tenure.Queue) -> None:
    cq.enqueue("k")
    cq.claim(lease="20s")
    assert cq.next_due() == 20.0


@pytest.mark.parametrize("late", ["1m", "61s", "1h"])
def test_what_is_overdue_is_due_now(late: str, cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k", delay="1m")
    clock.advance(late)
    assert cq.next_due() == 0.0


def test_a_retry_is_due_after_its_delay(cq: tenure.Queue) -> None:
    cq.enqueue("k")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Fail("no", retry_in="45s"))
    assert cq.next_due() == 45.0


def test_the_store_s_own_clock_is_asked(
    place: Place, q: tenure.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not this process's, which is set half an hour ahead meanwhile; a file has no other clock than its machine's."""
    job = q.enqueue("k", delay="1h")
    move_machine_clock(monkeypatch, "30m")
    run_at = job_of(q, job.id).run_at
    most = (run_at - place.now()).total_seconds()
    due = q.next_due()
    least = (run_at - place.now()).total_seconds()
    assert due is not None
    assert least - 1 <= due <= most + 1
    assert (due > 1_800) is (place.store == "postgres")
