"""People and workers at the same job at once: replay and its undoing, purge and retain against each other (races of one's own making)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import tenure
from tests.support.places import Place


def _dead(q: tenure.Queue, **options: str) -> tenure.JobId:
    answer = q.enqueue("k", request=tenure.Request(b"body", {}), unique=options.get("unique"))
    [claim] = q.claim()
    assert q.settle(claim, tenure.Bury())
    return answer.id


def test_of_many_who_replay_a_job_one_does(place: Place, q: tenure.Queue) -> None:
    job = _dead(q)
    queues = [place.open() for _ in range(6)]
    start = threading.Barrier(6)

    def replay(one: tenure.Queue) -> tenure.Replayed:
        start.wait(30)
        return one.replay(job)

    with ThreadPoolExecutor(6) as threads:
        answers = sorted(threads.map(replay, queues))
    assert answers == ["not_finished"] * 5 + ["replayed"]
    assert [claim.id for claim in q.claim(10)] == [job]


def test_a_job_replayed_while_it_was_to_be_purged_keeps_its_request_and_history_or_is_gone(
    place: Place, q: tenure.Queue
) -> None:
    jobs = [_dead(q) for _ in range(20)]
    start = threading.Barrier(2)
    other = place.open()

    def purge() -> int:
        start.wait(30)
        return other.purge(tenure.Filter(states=["dead"]))

    def replay() -> list[tenure.Replayed]:
        start.wait(30)
        return [q.replay(job) for job in jobs]

    with ThreadPoolExecutor(2) as threads:
        purging, replaying = threads.submit(purge), threads.submit(replay)
        answers = dict(zip(jobs, replaying.result(60), strict=True))
        purged = purging.result(60)
    kept = [job for job, answer in answers.items() if answer is tenure.Replayed.REPLAYED]
    assert len(kept) + purged == len(jobs)
    for job in kept:
        assert q.request(job) == tenure.Request(b"body", {})
        assert len(q.history(job)) == 1


def test_a_job_whose_replay_is_undone_while_workers_claim_is_claimed_or_as_before_and_never_both(
    place: Place, q: tenure.Queue
) -> None:
    jobs = [_dead(q) for _ in range(20)]
    assert q.replay_many(tenure.Filter(ids=jobs)).changed == len(jobs)
    start = threading.Barrier(2)
    other = place.open()

    def undo() -> tenure.Bulk:
        start.wait(30)
        return other.unreplay(tenure.Filter(ids=jobs))

    def claim() -> list[tenure.Claim]:
        start.wait(30)
        return [claim for _ in jobs for claim in q.claim()]

    with ThreadPoolExecutor(2) as threads:
        undoing, claiming = threads.submit(undo), threads.submit(claim)
        claims, undone = claiming.result(60), undoing.result(60)
    dead = {job.id for job in q.list(tenure.Filter(states=["dead"]))}
    assert len(dead) == undone.changed == len(jobs) - len(claims)
    assert {*dead, *(claim.id for claim in claims)} == set(jobs)
    assert all(q.settle(claim, tenure.Done()) for claim in claims)


def test_a_job_is_never_in_two_places_however_often_it_is_replayed_at_once(
    place: Place, q: tenure.Queue
) -> None:
    job = _dead(q)
    queues = [place.open() for _ in range(4)]

    def churn(one: tenure.Queue) -> int:
        ended = 0
        for _ in range(15):
            one.replay(job)
            for claim in one.claim():
                ended += one.settle(claim, tenure.Done())
        return ended

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(churn, queues)) > 0
    for claim in q.claim():
        assert q.settle(claim, tenure.Done())
    assert [found.id for found in q.list()] == [job]
    assert sum(q.counts()["default"].values()) == 1
