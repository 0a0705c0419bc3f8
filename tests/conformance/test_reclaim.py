"""reclaim: jobs of workers that are gone come back, and only the guilty pay."""

from __future__ import annotations

import pytest

import tenure
from tests.support.claims import every_outcome, seen, start
from tests.support.clock import MovedClock
from tests.support.places import Place


def vanish(q: tenure.Queue, clock: MovedClock, worker: str = "w") -> tenure.Claim:
    """A worker claims the one ready job, starts it and is never heard of again; the job is taken back."""
    [claim] = q.claim(worker=worker)
    clock.advance("1m")
    assert q.reclaim() == 1
    return claim


def test_a_job_is_claimable_within_five_seconds_of_its_lease(cq: tenure.Queue, clock: MovedClock) -> None:
    lost = start(cq)
    clock.advance("29s")
    assert cq.claim() == []
    clock.advance("6s")
    [again] = cq.claim()
    assert (again.id, seen(cq, lost.id).state) == (lost.id, "running")


def test_another_process_gets_the_job_by_a_bare_loop_of_claims(place: Place) -> None:
    q = place.open()
    job = q.enqueue("k")
    q.claim(lease="1ms", worker="first")
    other = place.open()
    while not (again := other.claim(worker="second")):
        pass
    assert [c.id for c in again] == [job.id]


def test_a_claim_gets_fresh_and_overdue_jobs_in_their_order(cq: tenure.Queue, clock: MovedClock) -> None:
    lost = start(cq)
    clock.advance("1m")
    fresh = cq.enqueue("k")
    assert [c.id for c in cq.claim(limit=5)] == [lost.id, fresh.id]


def test_a_bounded_chore_frees_every_overdue_job_in_the_end(cq: tenure.Queue, clock: MovedClock) -> None:
    jobs = {a.id for a in cq.enqueue_many([tenure.NewJob(kind="k") for _ in range(1_200)])}
    cq.claim(limit=1_200, started=False)
    clock.advance("1m")
    found: set[str] = set()
    while more := cq.claim(limit=1_200):
        found |= {c.id for c in more}
    assert found == jobs


def test_reclaim_says_how_many(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k") for _ in range(3)])
    claims = cq.claim(limit=3)
    clock.advance("1m")
    assert cq.reclaim() == 3
    assert cq.reclaim() == 0
    assert {seen(cq, c.id).state for c in claims} == {tenure.State.READY}


def test_reclaim_takes_no_more_than_its_limit(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k") for _ in range(3)])
    cq.claim(limit=3)
    clock.advance("1m")
    assert [cq.reclaim(limit=2), cq.reclaim(limit=2)] == [2, 1]


def test_reclaim_leaves_a_running_lease_alone(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    before = seen(cq, claim.id)
    clock.advance("29s")
    assert cq.reclaim() == 0
    assert seen(cq, claim.id) == before


def test_reclaim_takes_only_what_is_overdue_by_that_long(cq: tenure.Queue, clock: MovedClock) -> None:
    start(cq)
    clock.advance("89s")
    assert cq.reclaim("1m") == 0
    clock.advance("2s")
    assert cq.reclaim("1m") == 1


def test_overdue_by_means_at_least_that_long(cq: tenure.Queue, clock: MovedClock) -> None:
    start(cq)
    clock.advance("90s")
    assert cq.reclaim("1m") == 1


def test_a_job_taken_back_is_as_it_was_before_the_claim(cq: tenure.Queue, clock: MovedClock) -> None:
    due = seen(cq, cq.enqueue("k").id).run_at
    job = seen(cq, vanish(cq, clock).id)
    assert (job.state, job.attempt, job.run_at, job.worker, job.lease_until) == ("ready", 0, due, None, None)


def test_an_attempt_taken_back_is_never_below_zero(cq: tenure.Queue, place: Place, clock: MovedClock) -> None:
    claim = start(cq)
    place.sql("UPDATE tenure.jobs SET attempt = 0")
    clock.advance("1m")
    cq.reclaim()
    assert seen(cq, claim.id).attempt == 0


def test_a_started_job_whose_worker_vanished_crashed_once(cq: tenure.Queue, clock: MovedClock) -> None:
    began = clock.now
    job = cq.enqueue("k")
    claim = vanish(cq, clock, "w1")
    assert seen(cq, job.id).crashes == 1
    [story] = cq.history(job.id)
    assert (story.error_kind, story.worker, story.attempt, story.epoch, story.started_at, story.finished_at) == (
        "Crash", "w1", 1, claim.epoch, began, clock.now,
    )  # fmt: skip


def test_a_claim_that_takes_back_a_job_counts_its_crash_too(cq: tenure.Queue, clock: MovedClock) -> None:
    start(cq)
    clock.advance("1m")
    [again] = cq.claim()
    assert again.job.crashes == 1


def test_a_worker_whose_beat_stopped_has_vanished(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.beat("w")
    claim = start(cq, worker="w")
    clock.advance("31s")
    assert cq.reclaim() == 1
    assert seen(cq, claim.id).crashes == 1


def test_a_lease_lost_by_a_worker_that_lives_is_no_crash(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq, worker="w")
    clock.advance("31s")
    cq.beat("w")
    assert cq.reclaim() == 1
    job = seen(cq, claim.id)
    assert (job.state, job.attempt, job.crashes, cq.history(claim.id)) == ("ready", 0, 0, [])


def test_the_beat_of_another_worker_saves_nobody(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq, worker="w1")
    clock.advance("31s")
    cq.beat("w2")
    cq.reclaim()
    assert seen(cq, claim.id).crashes == 1


def test_a_job_that_only_waited_in_a_buffer_never_dies_of_it(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k", max_attempts=1)
    for _ in range(5):
        [claim] = cq.claim(started=False)
        assert claim.id == job.id
        clock.advance("1m")
        assert cq.reclaim(max_crashes=1) == 1
    kept = seen(cq, job.id)
    assert (kept.state, kept.crashes, kept.attempt, cq.history(job.id)) == ("ready", 0, 0, [])


def test_a_buffered_job_is_not_guilty_of_what_an_earlier_worker_started(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job = cq.enqueue("k")
    vanish(cq, clock)
    cq.claim(started=False)
    clock.advance("1m")
    cq.reclaim()
    assert seen(cq, job.id).crashes == 1


def test_a_job_of_a_vanished_buffer_is_suspect_and_runs_apart(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k")
    cq.claim(started=False)
    clock.advance("1m")
    cq.reclaim()
    assert (seen(cq, job.id).suspect, seen(cq, job.id).crashes) == (True, 0)
    [claim] = cq.claim(started=False)
    assert (claim.apart, claim.job.suspect, seen(cq, job.id).suspect) == (True, True, True)


def test_a_suspect_never_dies_of_waiting_however_often(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k")
    for n in range(10):
        [claim] = cq.claim(started=False, worker=f"w{n}")
        assert claim.apart == (n > 0)
        clock.advance("1m")
        assert cq.reclaim(max_crashes=1) == 1
    kept = seen(cq, job.id)
    assert (kept.state, kept.crashes, kept.attempt, kept.suspect, cq.history(job.id)) == (
        "ready",
        0,
        0,
        True,
        [],
    )


def test_a_suspect_that_is_claimed_to_run_at_once_is_under_no_doubt(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job = cq.enqueue("k")
    cq.claim(started=False)
    clock.advance("1m")
    cq.reclaim()
    vanish(cq, clock)
    assert (seen(cq, job.id).suspect, seen(cq, job.id).crashes) == (False, 1)


@pytest.mark.parametrize("suspect", [True, False])
def test_a_lease_lost_in_the_buffer_of_a_worker_that_lives_changes_no_doubt(
    cq: tenure.Queue, clock: MovedClock, suspect: bool
) -> None:
    job = cq.enqueue("k")
    if suspect:
        cq.claim(started=False)
        clock.advance("1m")
        cq.reclaim()
    cq.claim(started=False, worker="w")
    clock.advance("1m")
    cq.beat("w")
    assert cq.reclaim() == 1
    kept = seen(cq, job.id)
    assert (kept.state, kept.suspect, kept.crashes, kept.started_at) == ("ready", suspect, 0, None)


def test_a_job_that_crashed_before_runs_apart(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k")
    vanish(cq, clock)
    [claim] = cq.claim()
    assert (claim.apart, claim.job.suspect) == (True, False)


def test_the_third_crash_is_the_end(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k", max_attempts=20)
    for worker in ("w1", "w2"):
        vanish(cq, clock, worker)
        assert seen(cq, job.id).state == "ready"
    vanish(cq, clock, "w3")
    dead = seen(cq, job.id)
    assert (dead.state, dead.reason, dead.crashes, dead.attempt, dead.finished_at) == (
        "dead",
        "poison",
        3,
        0,
        clock.now,
    )
    assert [(a.error_kind, a.worker) for a in cq.history(job.id)] == [
        ("Crash", "w1"),
        ("Crash", "w2"),
        ("Crash", "w3"),
    ]


def test_a_claim_convicts_a_poison_job_itself(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k")
    for _ in range(3):
        assert [c.id for c in cq.claim()] == [job.id]
        clock.advance("1m")
    assert cq.claim() == []
    assert (seen(cq, job.id).state, seen(cq, job.id).reason) == ("dead", "poison")


@pytest.mark.parametrize(("most", "state"), [(1, "dead"), (2, "ready")])
def test_how_many_crashes_are_too_many_is_a_setting(
    cq: tenure.Queue, clock: MovedClock, most: int, state: str
) -> None:
    claim = start(cq)
    clock.advance("1m")
    cq.reclaim(max_crashes=most)
    assert seen(cq, claim.id).state == state


def test_crashes_do_not_use_up_attempts(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k", max_attempts=1)
    vanish(cq, clock)
    vanish(cq, clock)
    [last] = cq.claim()
    assert (last.job.attempt, last.job.crashes) == (1, 2)
    cq.settle(last, tenure.Fail("boom"))
    dead = seen(cq, job.id)
    assert (dead.state, dead.reason, dead.attempt, dead.crashes) == ("dead", "failed", 1, 2)


def test_failures_do_not_count_as_crashes(cq: tenure.Queue, clock: MovedClock) -> None:
    job = cq.enqueue("k", max_attempts=10)
    for _ in range(4):
        [claim] = cq.claim()
        cq.settle(claim, tenure.Fail("boom", retry_in=0))
    vanish(cq, clock)
    kept = seen(cq, job.id)
    assert (kept.state, kept.attempt, kept.crashes, kept.error) == ("ready", 4, 1, "boom")


def test_a_job_asked_to_cancel_and_taken_back_is_cancelled(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq)
    cq.cancel(claim.id)
    clock.advance("1m")
    assert cq.reclaim() == 1
    job = seen(cq, claim.id)
    assert (job.state, job.finished_at, job.epoch > claim.epoch) == ("cancelled", clock.now, True)
    assert not cq.settle(claim, tenure.Done())


@every_outcome
def test_a_settled_claim_is_never_taken_back(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    claim = start(cq)
    cq.settle(claim, outcome)
    before = seen(cq, claim.id)
    clock.advance("1h")
    assert cq.reclaim() == 0
    assert seen(cq, claim.id) == before


@pytest.mark.parametrize(
    ("options", "field"),
    [({"overdue_by": "-1s"}, "overdue_by"), ({"limit": 0}, "limit"), ({"max_crashes": 0}, "max_crashes")],
    ids=["overdue_by", "limit", "max_crashes"],
)
def test_a_reclaim_that_cannot_be_is_refused(
    cq: tenure.Queue, clock: MovedClock, options: dict[str, int], field: str
) -> None:
    claim = start(cq)
    clock.advance("1h")
    with pytest.raises(tenure.FieldError) as caught:
        cq.reclaim(**options)
    assert caught.value.field == field
    assert seen(cq, claim.id).state == "running"
