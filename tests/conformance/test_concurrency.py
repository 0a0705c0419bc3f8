"""Many at once: no job twice, none lost, and one outcome stands."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

import tenure
from tests.support.claiming import at_once, claim_all, ids, job_of, settle_all
from tests.support.clock import MovedClock
from tests.support.places import Place

CLAIMERS = 32
JOBS = 600


def claim_until_empty(queue: tenure.Queue, limit: int) -> list[list[tenure.Claim]]:
    """What a claimer was handed, batch by batch, until it was handed nothing."""
    batches = []
    while claims := queue.claim(limit):
        batches.append(claims)
        settle_all(queue, claims)
    return batches


def flat(batches: list[list[tenure.Claim]]) -> list[tenure.Claim]:
    return [claim for batch in batches for claim in batch]


class Line:
    """What has been taken out of a line of so many jobs, by whoever did."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken: list[str] = []
        self._lock = threading.Lock()

    def work(self, queue: tenure.Queue, limit: int) -> None:
        """Claim and settle until everything was taken, or until this claimer has only gone empty-handed."""
        empty_handed = 0
        while len(self.taken) < self.total and empty_handed < 500:
            claims = queue.claim(limit)
            empty_handed = 0 if claims else empty_handed + 1
            if claims:
                settle_all(queue, claims)
                with self._lock:
                    self.taken += ids(claims)


def test_no_job_is_claimed_twice_and_none_is_lost(place: Place) -> None:
    queues = [place.open() for _ in range(CLAIMERS)]
    answers = queues[0].enqueue_many([tenure.NewJob(kind="k")] * JOBS)
    taken = at_once([partial(claim_until_empty, queue, 5) for queue in queues])
    claimed = [claim for batches in taken for claim in flat(batches)] + claim_all(queues[0])
    assert Counter(ids(claimed)) == dict.fromkeys(ids(answers), 1)
    assert {claim.epoch for claim in claimed} == {1}
    assert queues[0].counts()["default"]["done"] == JOBS


def test_each_claimer_is_handed_jobs_in_order(place: Place) -> None:
    queues = [place.open() for _ in range(CLAIMERS)]
    queues[0].enqueue_many([tenure.NewJob(kind="k")] * JOBS)
    for batches in at_once([partial(claim_until_empty, queue, 4) for queue in queues]):
        order = [claim.seq for claim in flat(batches)]
        assert order == sorted(order)


def test_one_queue_object_serves_many_threads(q: tenure.Queue) -> None:
    answers = q.enqueue_many(
        [tenure.NewJob(kind=f"k{i % 5}", queue=f"q{i % 3}", priority=i % 2) for i in range(JOBS)]
    )
    taken = at_once([partial(claim_until_empty, q, 4)] * 16)
    claimed = [claim for batches in taken for claim in flat(batches)] + claim_all(q)
    assert Counter(ids(claimed)) == dict.fromkeys(ids(answers), 1)


def test_a_limit_holds_while_others_claim(place: Place) -> None:
    queues = [place.open() for _ in range(8)]
    queues[0].enqueue_many([tenure.NewJob(kind=f"k{i % 4}", priority=i % 3) for i in range(JOBS)])
    for batches in at_once([partial(claim_until_empty, queue, 3) for queue in queues]):
        assert max(map(len, batches), default=0) <= 3


@pytest.mark.parametrize("limit", [1, 7])
def test_many_claimers_on_many_lanes_do_not_go_empty_handed_for_ever(place: Place, limit: int) -> None:
    queues = [place.open() for _ in range(16)]
    answers = queues[0].enqueue_many(
        [tenure.NewJob(kind=f"k{i % 5}", queue=f"q{i % 3}", priority=i % 4) for i in range(300)]
    )
    line = Line(len(answers))
    at_once([partial(line.work, queue, limit) for queue in queues])
    assert sorted(line.taken) == sorted(ids(answers))


def test_enqueuers_claimers_and_settlers_work_side_by_side(place: Place) -> None:
    taken: list[str] = []
    at_work = {"p0", "p1", "p2", "p3"}

    def enqueue(name: str, queue: tenure.Queue) -> None:
        for i in range(30):
            queue.enqueue(name, priority=i % 3)
        queue.enqueue_many([tenure.NewJob(kind="many", queue=name)] * 70)
        at_work.remove(name)

    def work(queue: tenure.Queue) -> None:
        more = True
        while more:
            last = not at_work
            claims = queue.claim(5)
            settle_all(queue, claims)
            taken.extend(ids(claims))
            more = bool(claims) or not last

    producers: list[Callable[[], None]] = [partial(enqueue, name, place.open()) for name in sorted(at_work)]
    at_once(producers + [partial(work, place.open()) for _ in range(8)])
    work(place.open())
    assert len(taken) == len(set(taken)) == 400
    states = Counter[str]()
    for counts in place.open().counts().values():
        states.update(counts)
    assert +states == {"done": 400}


def test_new_kinds_come_up_while_threads_share_one_queue_object(q: tenure.Queue) -> None:
    def work(name: str) -> list[str]:
        found = []
        for i in range(25):
            q.enqueue(f"{name} {i}")
            claims = q.claim(2)
            settle_all(q, claims)
            found += [claim.kind for claim in claims]
        return found

    found = at_once([partial(work, name) for name in "abcdefgh"])
    kinds = [kind for kinds in found for kind in kinds] + [claim.kind for claim in claim_all(q)]
    assert sorted(kinds) == sorted(f"{name} {i}" for name in "abcdefgh" for i in range(25))


def test_released_jobs_come_back_until_they_are_done(place: Place) -> None:
    queues = [place.open() for _ in range(8)]
    answers = queues[0].enqueue_many([tenure.NewJob(kind="k")] * 100)

    def work(queue: tenure.Queue) -> None:
        while claims := queue.claim(5):
            again = [claim.epoch < 5 for claim in claims]
            pairs = [
                (claim, tenure.Release() if back else tenure.Done())
                for claim, back in zip(claims, again, strict=True)
            ]
            assert queue.settle_many(pairs) == [True] * len(pairs)

    at_once([partial(work, queue) for queue in queues])
    work(queues[0])
    jobs = [job_of(queues[0], answer.id) for answer in answers]
    assert {(job.state, job.attempt, job.epoch) for job in jobs} == {("done", 1, 5)}


def test_failed_jobs_are_tried_by_all_until_they_are_dead(place: Place) -> None:
    queues = [place.open() for _ in range(8)]
    answers = queues[0].enqueue_many([tenure.NewJob(kind="k", max_attempts=3)] * 100)

    def work(queue: tenure.Queue) -> None:
        while claims := queue.claim(5):
            pairs = [(claim, tenure.Fail("no", retry_in=0)) for claim in claims]
            assert queue.settle_many(pairs) == [True] * len(pairs)

    at_once([partial(work, queue) for queue in queues])
    work(queues[0])
    jobs = [job_of(queues[0], answer.id) for answer in answers]
    assert {(job.state, job.attempt, job.epoch) for job in jobs} == {("dead", 3, 3)}
    assert {len(queues[0].history(job.id)) for job in jobs} == {3}


def test_due_jobs_are_promoted_once_by_many_claimers(place: Place, clock: MovedClock) -> None:
    queues = [place.open(clock=clock) for _ in range(8)]
    answers = queues[0].enqueue_many([tenure.NewJob(kind="k", delay="1m")] * 200)
    clock.advance("1m")
    taken = at_once([partial(claim_until_empty, queue, 5) for queue in queues])
    claimed = [claim for batches in taken for claim in flat(batches)] + claim_all(queues[0])
    assert Counter(ids(claimed)) == dict.fromkeys(ids(answers), 1)


def test_overdue_jobs_are_taken_back_once_by_many_claimers(place: Place, clock: MovedClock) -> None:
    queues = [place.open(clock=clock) for _ in range(8)]
    answers = queues[0].enqueue_many([tenure.NewJob(kind="k")] * 100)
    place.open(clock=clock).claim(100)
    clock.advance("1m")
    taken = at_once([partial(claim_until_empty, queue, 5) for queue in queues])
    claimed = [claim for batches in taken for claim in flat(batches)] + claim_all(queues[0])
    assert Counter(ids(claimed)) == dict.fromkeys(ids(answers), 1)
    assert {(claim.epoch, claim.job.crashes) for claim in claimed} == {(3, 1)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tenure.Done("a"), tenure.Bury("b")),
        (tenure.Done("a"), tenure.Fail("b", retry_in="1h")),
        (tenure.Fail("a", retry_in="1h"), tenure.Snooze("1h")),
        (tenure.Bury("a"), tenure.Cancelled("b")),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_of_two_different_ends_of_one_claim_exactly_one_stands(
    place: Place, one: tenure.Outcome, other: tenure.Outcome
) -> None:
    first, second = place.open(), place.open()
    states = {
        "Done": "done",
        "Bury": "dead",
        "Fail": "scheduled",
        "Snooze": "scheduled",
        "Cancelled": "cancelled",
    }
    for _ in range(10):
        first.enqueue("k")
        [claim] = first.claim()
        stands = at_once([partial(first.settle, claim, one), partial(second.settle, claim, other)])
        assert sorted(stands) == [False, True]
        winner = one if stands[0] else other
        job = job_of(first, claim.id)
        assert (job.outcome, job.state) == (type(winner).__name__.lower(), states[type(winner).__name__])
        first.cancel(claim.id)


def test_the_same_end_said_by_two_threads_is_told_once_and_stands_for_both(place: Place) -> None:
    first, second = place.open(), place.open()
    for _ in range(10):
        answer = first.enqueue("k")
        [claim] = first.claim()
        fail = tenure.Fail("no", retry_in="1h")
        assert at_once([partial(first.settle, claim, fail), partial(second.settle, claim, fail)]) == [
            True,
            True,
        ]
        assert (job_of(first, answer.id).attempt, len(first.history(answer.id))) == (1, 1)


def test_jobs_of_one_group_never_run_side_by_side(place: Place) -> None:
    queues = [place.open() for _ in range(8)]
    answers = queues[0].enqueue_many([tenure.NewJob(kind="k", group="g")] * 60)
    running: set[str] = set()
    order: list[str] = []

    def work(queue: tenure.Queue) -> None:
        empty_handed = 0
        while len(order) < len(answers) and empty_handed < 500:
            claims = queue.claim(3)
            empty_handed = 0 if claims else empty_handed + 1
            for claim in claims:
                running.add(claim.id)
                assert running == {claim.id}
                order.append(claim.id)
                running.remove(claim.id)
                assert queue.settle(claim, tenure.Done())

    at_once([partial(work, queue) for queue in queues])
    work(queues[0])
    assert order == ids(answers)
