"""What no worker lives to count is counted by who finds it: crashes of workers that are gone, and deaths by expiry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import tenure
from tenure.figures import ErrorGroup, Rollup
from tests.support.claims import start
from tests.support.clock import MovedClock

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
FAR = timedelta(days=400)


def figures(q: tenure.Queue) -> list[tuple[str, str, int, int, int]]:
    found: list[Rollup] = q.rollups(START - FAR, START + FAR, step="1d")
    return [(r.queue, r.kind, r.done, r.failed, r.dead) for r in found]


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
    assert figures(cq) == [("default", "tried", 0, 0, 1)]
    assert [(g.kind, g.error_kind, g.count, g.dead) for g in groups(cq)] == [("tried", "Expired", 1, 1)]


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
