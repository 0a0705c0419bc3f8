"""What no worker lives to count is counted by who finds it: crashes of workers that are gone, deaths by expiry, cancelled jobs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import tenure
from tenure.figures import ErrorGroup, Rollup
from tenure.fingerprint import fingerprint
from tests.support.claims import start
from tests.support.clock import MovedClock

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
FAR = timedelta(days=400)


def figures(q: tenure.Queue) -> list[tuple[str, str, int, int, int]]:
    found: list[Rollup] = q.rollups(START - FAR, START + FAR, step="1d")
    return [(r.queue, r.kind, r.done, r.failed, r.dead) for r in found]


def cancelled(q: tenure.Queue) -> dict[str, int]:
    return {r.kind: r.cancelled for r in q.rollups(START - FAR, START + FAR, step="1d") if r.cancelled}


def groups(q: tenure.Queue) -> list[ErrorGroup]:
    return q.error_groups(START - FAR)


def test_a_crash_that_a_claim_finds_is_counted(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k", queue="mail").id
    for crash in range(3):
        assert len(cq.claim(worker=f"w{crash}", lease="10s")) == 1
        clock.advance("1m")
    assert cq.claim() == []
    assert figures(cq) == [("mail", "k", 0, 3, 1)]
    [group] = groups(cq)
    assert (group.kind, group.error_kind, group.count, group.dead) == ("k", "Crash", 3, 1)
    assert (group.sample_id, group.message.partition(" (")[0]) == (
        job_id,
        "worker w2 vanished while it ran this job",
    )


def test_what_a_vanished_worker_ran_is_counted_once_and_what_only_waited_is_not(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k") for _ in range(4)])
    claims = q.claim(4, worker="w", started=False)
    q.vanished("w", started=[(c.id, c.epoch) for c in claims[:2]], story="killed by signal 9")
    found = q.error_groups(datetime.now(UTC) - timedelta(hours=2))
    assert [(g.error_kind, g.message, g.count, g.dead) for g in found] == [
        ("Crash", "killed by signal 9", 2, 0)
    ]


def test_a_job_that_expires_after_a_try_died_and_one_that_never_began_did_not(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue("tried", expires_in="10m")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Fail("no", retry_in="5m"))
    cq.enqueue("untried", expires_in="10m")
    clock.advance("11m")
    assert cq.claim() == []
    assert figures(cq) == [("default", "tried", 0, 0, 1), ("default", "untried", 0, 0, 0)]
    assert cancelled(cq) == {"untried": 1}
    expired = [g for g in groups(cq) if g.error_kind == "Expired"]
    assert [(g.kind, g.count, g.dead) for g in expired] == [("tried", 1, 1)]


def test_a_lease_lost_by_a_worker_that_lives_is_not_counted(cq: tenure.Queue, clock: MovedClock) -> None:
    start(cq, worker="w")
    clock.advance("50s")
    cq.beat("w")
    clock.advance("20s")
    cq.reclaim()
    assert (figures(cq), groups(cq)) == ([], [])


def test_one_group_can_be_asked_for(cq: tenure.Queue, clock: MovedClock) -> None:
    for kind in ("a", "b"):
        cq.enqueue(kind)
        cq.claim(kinds=[kind], worker="w", lease="10s")
        clock.advance("1m")
        cq.reclaim()
    every = groups(cq)
    assert {g.kind for g in every} == {"a", "b"}
    [one] = cq.error_groups(START - FAR, fingerprint=every[1].fingerprint)
    assert one == every[1]
    assert cq.error_groups(START - FAR, fingerprint="nothing") == []


def test_jobs_that_are_cancelled_before_they_run_are_counted_once_and_are_no_failures(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    one = cq.enqueue("one").id
    cq.enqueue_many([tenure.NewJob(kind="many", delay="1h") for _ in range(3)])
    for _ in range(2):
        cq.cancel(one)
        cq.cancel_many(tenure.Filter(kinds=["many"]))
    assert cancelled(cq) == {"one": 1, "many": 3}
    assert groups(cq) == []


def test_a_job_that_was_asked_to_stop_and_lost_its_worker_is_counted_as_cancelled(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    held = start(cq, worker="w")
    cq.cancel(held.id)
    assert cancelled(cq) == {}
    clock.advance("2m")
    cq.reclaim()
    assert cancelled(cq) == {held.kind: 1}


@pytest.mark.parametrize(
    "outcome",
    [tenure.Snooze("1h"), tenure.Release(), tenure.Fail("no"), tenure.Crashed("killed by signal 9")],
    ids=["snooze", "release", "fail", "crashed"],
)
def test_a_job_that_was_asked_to_stop_is_counted_as_cancelled_whatever_its_worker_says_of_it(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    held = start(cq, worker="w")
    cq.cancel(held.id)
    for _ in range(2):  # whoever repeats it after a lost answer changes nothing
        assert cq.settle_many([(held, outcome)], counted=True) == [True]
    assert cancelled(cq) == {held.kind: 1}
    assert figures(cq) == [("default", held.kind, 0, 0, 0)]


def test_a_job_that_its_worker_cancels_is_left_for_the_worker_to_count(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    held = start(cq, worker="w")
    assert cq.settle_many([(held, tenure.Cancelled())], counted=True) == [True]
    assert cancelled(cq) == {}


def test_dead_jobs_that_are_discarded_are_counted_as_cancelled_once(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    for _ in range(3):
        cq.settle(start(cq, worker="w"), tenure.Bury("no"))
    kind = cq.list()[0].kind
    for _ in range(2):
        cq.discard(tenure.Filter(states=["dead"]))
    assert cancelled(cq) == {kind: 3}


@pytest.mark.parametrize("way", ["renew", "settle"])
def test_a_hook_s_job_of_a_death_that_was_none_is_counted_as_cancelled(
    cq: tenure.Queue, clock: MovedClock, way: str
) -> None:
    cq.hook("k", "tell")
    cq.enqueue("k")
    for _ in range(3):
        [claim] = cq.claim(kinds=["k"])
        clock.advance("1h")
        cq.reclaim()
    if way == "renew":
        cq.renew([claim])
    else:
        cq.settle(claim, tenure.Done())
    assert cancelled(cq) == {"tell": 1}


def test_failures_that_a_bare_loop_settles_are_put_together_once(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="mail", max_attempts=1 + n) for n in range(3)])
    cq.enqueue_many([tenure.NewJob(kind=kind) for kind in ("bury", "crash", "fine")])
    claims = cq.claim(6)
    ends: list[tenure.Outcome] = [
        *(tenure.Fail(f"no user {n}", kind="KeyError") for n in range(3)),
        tenure.Bury("never"),
        tenure.Crashed("killed by signal 9"),
        tenure.Done(),
    ]
    for _ in range(2):  # whoever repeats it after a lost answer changes nothing
        assert all(cq.settle_many(zip(claims, ends, strict=True)))
    assert {(g.kind, g.error_kind, g.message, g.count, g.dead) for g in groups(cq)} == {
        ("mail", "KeyError", "no user 2", 3, 1),
        ("bury", "Bury", "never", 1, 1),
        ("crash", "Crash", "killed by signal 9", 1, 0),
    }
    [alike] = [g for g in groups(cq) if g.kind == "mail"]
    assert (alike.sample_id, alike.fingerprint) == (
        claims[2].id,
        fingerprint("mail", "KeyError", "no user 7", None),
    )


def test_who_counts_its_failures_itself_has_none_counted(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k")
    [claim] = cq.claim()
    assert cq.settle_many([(claim, tenure.Fail("no"))], counted=True) == [True]
    assert (groups(cq), figures(cq)) == ([], [])
