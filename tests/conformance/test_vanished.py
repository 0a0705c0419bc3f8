"""vanished: somebody who knows that a worker's process is gone says so, and nobody waits for a lease."""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tests.support.claims import seen, start
from tests.support.clock import MovedClock
from tests.support.places import Place


def claimed(q: tenure.Queue, count: int, worker: str = "w", **options: Any) -> list[tenure.Claim]:
    """That many new jobs, in the buffer of this worker."""
    q.enqueue_many([tenure.NewJob(kind="k", **options) for _ in range(count)])
    return q.claim(count, worker=worker, started=False)


def test_what_the_worker_ran_has_crashed_at_once(cq: tenure.Queue, clock: MovedClock) -> None:
    claim = start(cq, worker="w")
    clock.advance("1s")
    assert cq.vanished("w", started=[(claim.id, claim.epoch)], story="killed by signal 9") == 1
    job = seen(cq, claim.id)
    assert (job.state, job.attempt, job.crashes, job.worker, job.lease_until) == ("ready", 0, 1, None, None)
    assert (job.epoch > claim.epoch, job.suspect) == (True, False)
    [row] = cq.history(claim.id)
    assert (row.error_kind, row.message, row.worker, row.finished_at) == (
        "Crash", "killed by signal 9", "w", clock.now,
    )  # fmt: skip


def test_what_it_ran_may_be_told_by_seq_as_marks_have_it(q: tenure.Queue) -> None:
    ran, waited, older = claimed(q, 3)
    assert q.vanished("w", started=[(ran.seq, ran.epoch), (older.seq, older.epoch - 1)]) == 3
    assert [seen(q, c.id).crashes for c in (ran, waited, older)] == [1, 0, 0]


def test_without_a_story_the_usual_words_are_kept(q: tenure.Queue) -> None:
    claim = start(q, worker="w")
    q.vanished("w", started=[(claim.id, claim.epoch)])
    [row] = q.history(claim.id)
    assert "worker w vanished" in row.message


def test_what_only_waited_is_taken_back_under_no_doubt(q: tenure.Queue) -> None:
    ran, *waited = claimed(q, 4)
    assert q.vanished("w", started=[(ran.id, ran.epoch)]) == 4
    jobs = [seen(q, c.id) for c in waited]
    assert {(j.state, j.attempt, j.crashes, j.suspect, j.started_at) for j in jobs} == {
        ("ready", 0, 0, False, None)
    }
    assert [q.history(c.id) for c in waited] == [[], [], []]
    assert seen(q, ran.id).crashes == 1
    assert [c.apart for c in q.claim(5, started=False)] == [True, False, False, False]


def test_what_ran_in_a_child_has_not_crashed_where_another_job_ran_inside_the_worker(q: tenure.Queue) -> None:
    inside, apart, waited = claimed(q, 3)
    q.renew([inside, apart], started=[inside, apart])
    assert q.vanished("w", started=[(inside.seq, inside.epoch)], apart=[(apart.seq, apart.epoch)]) == 3
    assert [seen(q, c.id).crashes for c in (inside, apart, waited)] == [1, 0, 0]
    job = seen(q, apart.id)
    assert (job.state, job.attempt, job.suspect, q.history(apart.id)) == ("ready", 0, False, [])
    assert [c.id for c in q.claim(3) if c.apart] == [inside.id]


def test_what_ran_in_a_child_has_crashed_where_nothing_else_was_in_flight(q: tenure.Queue) -> None:
    ended, apart, waited = claimed(q, 3)
    q.settle(ended, tenure.Done())
    gone, ran = [(ended.seq, ended.epoch)], [(apart.id, apart.epoch)]
    assert q.vanished("w", started=gone, apart=ran, story="killed by signal 9") == 2
    assert [seen(q, c.id).crashes for c in (apart, waited)] == [1, 0]
    assert [row.message for row in q.history(apart.id)] == ["killed by signal 9"]


def test_a_suspect_that_only_waited_stays_suspect(cq: tenure.Queue, clock: MovedClock) -> None:
    [lost] = claimed(cq, 1, worker="lost")
    clock.advance("10m")
    cq.reclaim()
    [claim] = cq.claim(worker="w", started=False)
    assert (claim.id, claim.apart) == (lost.id, True)
    assert cq.vanished("w") == 1
    job = seen(cq, lost.id)
    assert (job.state, job.crashes, job.suspect) == ("ready", 0, True)


def test_a_job_that_had_started_but_was_not_running_has_not_crashed(q: tenure.Queue) -> None:
    claim = start(q, worker="w")
    assert q.vanished("w") == 1
    job = seen(q, claim.id)
    assert (job.state, job.attempt, job.crashes) == ("ready", 0, 0)


def test_the_jobs_of_other_workers_stay_where_they_are(q: tenure.Queue) -> None:
    [mine] = claimed(q, 1, "w")
    [other] = claimed(q, 1, "other")
    assert q.vanished("w", started=[(other.id, other.epoch)]) == 1
    assert (seen(q, mine.id).state, seen(q, other.id).state) == ("ready", "running")
    assert q.settle(other, tenure.Done())


def test_the_claims_of_the_vanished_worker_are_lost(q: tenure.Queue) -> None:
    ran, waited = claimed(q, 2)
    q.vanished("w", started=[(ran.id, ran.epoch)])
    assert q.settle_many([(ran, tenure.Done()), (waited, tenure.Done())]) == [False, False]
    assert q.renew([ran, waited]).lost == {ran.id, waited.id}


def test_an_epoch_that_is_over_convicts_nobody(q: tenure.Queue) -> None:
    claim = start(q, worker="w")
    q.settle(claim, tenure.Release())
    [again] = q.claim(worker="w")
    assert q.vanished("w", started=[(claim.id, claim.epoch)]) == 1
    assert (again.id, seen(q, claim.id).crashes) == (claim.id, 0)


def test_a_settled_job_is_left_alone(q: tenure.Queue) -> None:
    claim = start(q, worker="w")
    q.settle(claim, tenure.Done())
    before = seen(q, claim.id)
    assert q.vanished("w", started=[(claim.id, claim.epoch)]) == 0
    assert seen(q, claim.id) == before


def test_the_third_crash_told_of_is_the_end(q: tenure.Queue) -> None:
    job = q.enqueue("k")
    for _ in range(3):
        [claim] = q.claim(worker="w")
        q.vanished("w", started=[(claim.id, claim.epoch)], story="out of memory")
    dead = seen(q, job.id)
    assert (dead.state, dead.reason, dead.crashes) == ("dead", "poison", 3)
    assert dead.error is not None
    assert "out of memory" in dead.error


def test_the_queue_s_own_setting_says_how_many_are_too_many(place: Place) -> None:
    q = place.open(max_crashes=1)
    claim = start(q, worker="w")
    q.vanished("w", started=[(claim.id, claim.epoch)])
    assert seen(q, claim.id).state == "dead"


def test_a_job_asked_to_cancel_is_cancelled(q: tenure.Queue) -> None:
    claim = start(q, worker="w")
    q.cancel(claim.id)
    assert q.vanished("w") == 1
    assert seen(q, claim.id).state == "cancelled"


def test_the_worker_is_no_longer_among_the_living(q: tenure.Queue) -> None:
    q.beat("w")
    q.beat("other")
    assert q.vanished("w") == 0
    assert [w.id for w in q.workers()] == ["other"]


def test_saying_it_twice_changes_nothing_more(q: tenure.Queue) -> None:
    claim = start(q, worker="w")
    started = [(claim.id, claim.epoch)]
    assert [q.vanished("w", started=started), q.vanished("w", started=started)] == [1, 0]
    assert seen(q, claim.id).crashes == 1


def test_more_jobs_than_fit_a_batch_are_all_taken_back(q: tenure.Queue) -> None:
    claims = claimed(q, 2_300)
    assert len(claims) == 2_300
    assert q.vanished("w", started=[(claims[-1].id, claims[-1].epoch)]) == 2_300
    assert q.counts()["default"]["ready"] == 2_300
    assert (seen(q, claims[-1].id).crashes, seen(q, claims[0].id).crashes) == (1, 0)


@pytest.mark.parametrize("guilty", [0, 1], ids=["alone", "beside another"])
def test_those_in_children_are_judged_once_every_batch_was_looked_at(q: tenure.Queue, guilty: int) -> None:
    claims = claimed(q, 2_300)
    apart = [(c.id, c.epoch) for c in claims[:1_100]]
    started = [(c.id, c.epoch) for c in claims[-1:]] * guilty
    assert q.vanished("w", started=started, apart=apart) == 2_300
    assert q.counts()["default"]["ready"] == 2_300
    assert {seen(q, c.id).crashes for c in claims[:1_100:100]} == {1 - guilty}
    assert [seen(q, c.id).crashes for c in claims[-2:]] == [0, guilty]


def test_the_slots_of_groups_are_kept_by_those_who_had_them(q: tenure.Queue) -> None:
    first, second = (q.enqueue("k", group="g").id for _ in range(2))
    q.claim(worker="w")
    q.vanished("w")
    assert [c.id for c in q.claim(5)] == [first]
    assert seen(q, second).state == "waiting"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"worker": ""}, "worker"),
        ({"worker": 7}, "worker"),
        ({"worker": "w", "started": "a"}, "started"),
        ({"worker": "w", "started": ["a"]}, "started"),
        ({"worker": "w", "apart": "a"}, "apart"),
        ({"worker": "w", "apart": [("a", 1)]}, "apart"),
        ({"worker": "w", "started": [("a", 1)]}, "started"),
        ({"worker": "w", "started": [("0190a8c0-0000-7000-8000-000000000000", "1")]}, "started"),
        ({"worker": "w", "started": [("0190a8c0-0000-7000-8000-000000000000", -1)]}, "started"),
    ],
    ids=[
        "no name",
        "a number",
        "text",
        "no pair",
        "text apart",
        "no id apart",
        "no id",
        "no epoch",
        "epoch below zero",
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_taken_back(
    q: tenure.Queue, given: dict[str, Any], field: str
) -> None:
    claim = start(q, worker="w")
    with pytest.raises(tenure.FieldError) as caught:
        q.vanished(**given)
    assert caught.value.field == field
    assert seen(q, claim.id).state == "running"
