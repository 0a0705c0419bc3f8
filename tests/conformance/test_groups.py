"""Groups: jobs that share a key run one after the other, or n at a time."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic

import pytest

import tenure
from tenure.janitor.alone import run_alone
from tests.support.clock import MovedClock
from tests.support.places import Place
from tests.support.states import drain, look, take


def line(q: tenure.Queue, count: int, group: str = "g", **options: object) -> list[tenure.JobId]:
    """Jobs of one group, in the order they came."""
    return [q.enqueue("k", group=group, **options).id for _ in range(count)]  # type: ignore[arg-type]


def states(q: tenure.Queue, ids: Iterable[str]) -> list[str]:
    return [look(q, job_id).state.value for job_id in ids]


def claimed(q: tenure.Queue, limit: int = 100) -> list[tenure.JobId]:
    """The ids of all that can be claimed now; they are running then."""
    return [claim.id for claim in q.claim(limit)]


def test_a_group_lets_its_first_job_be_ready_and_the_others_wait(q: tenure.Queue) -> None:
    ids = line(q, 3)
    assert states(q, ids) == ["ready", "waiting", "waiting"]
    assert claimed(q) == ids[:1]
    assert claimed(q) == []


@pytest.mark.parametrize("limit", [2, 3])
def test_a_group_lets_as_many_jobs_run_at_a_time_as_its_limit(q: tenure.Queue, limit: int) -> None:
    ids = line(q, 5, group_limit=limit)
    claims = q.claim(100)
    assert [claim.id for claim in claims] == ids[:limit]
    q.settle(claims[-1], tenure.Done())
    assert claimed(q) == [ids[limit]]


def test_a_group_is_a_line_in_the_order_of_arrival(q: tenure.Queue) -> None:
    ids = line(q, 10)
    assert drain(q, limit=10) == ids


def test_counts_show_the_jobs_that_wait_for_their_group(q: tenure.Queue) -> None:
    line(q, 4)
    counts = q.counts()["default"]
    assert (counts["ready"], counts["waiting"]) == (1, 3)


def test_the_highest_priority_of_a_group_is_the_next_but_overtakes_no_job_that_has_the_slot(
    q: tenure.Queue,
) -> None:
    head, low, high, middle = (q.enqueue("k", group="g", priority=p).id for p in (0, 0, 9, 5))
    assert drain(q) == [head, high, middle, low]


def test_groups_do_not_wait_for_each_other(q: tenure.Queue) -> None:
    a, b = line(q, 2, "a"), line(q, 2, "b")
    alone = q.enqueue("k").id
    assert claimed(q) == [a[0], b[0], alone]


def test_a_group_spans_queues_and_kinds(q: tenure.Queue) -> None:
    head = q.enqueue("a", queue="x", group="g").id
    second = q.enqueue("b", queue="y", group="g").id
    assert q.claim(queues=["y"], kinds=["b"]) == []
    q.settle(take(q, head), tenure.Done())
    assert [c.id for c in q.claim(queues=["y"], kinds=["b"])] == [second]


def test_a_bulk_of_one_group_is_a_line_too(q: tenure.Queue) -> None:
    ids = [a.id for a in q.enqueue_many(tenure.NewJob(kind="k", group="g") for _ in range(100))]
    assert (q.counts()["default"]["ready"], q.counts()["default"]["waiting"]) == (1, 99)
    assert drain(q) == ids


def test_a_thousand_groups_each_let_one_job_run(q: tenure.Queue) -> None:
    jobs = [
        tenure.NewJob(kind="k", group=f"key {n}", payload=turn) for turn in range(2) for n in range(1_000)
    ]
    q.enqueue_many(jobs)
    for turn in range(2):
        claims = q.claim(10_000)
        assert {claim.group for claim in claims} == {f"key {n}" for n in range(1_000)}
        assert [claim.job.payload for claim in claims] == [turn] * 1_000
        assert q.settle_many((claim, tenure.Done()) for claim in claims) == [True] * 1_000
    assert q.counts()["default"]["done"] == 2_000


@pytest.mark.parametrize(("first", "second", "together"), [(1, 2, True), (2, 1, False)])
def test_the_limit_of_the_job_that_waits_decides(
    q: tenure.Queue, first: int, second: int, together: bool
) -> None:
    ids = [q.enqueue("k", group="g", group_limit=limit).id for limit in (first, second)]
    assert claimed(q) == (ids if together else ids[:1])


def test_a_job_with_a_larger_limit_does_not_overtake_one_with_a_smaller(q: tenure.Queue) -> None:
    head, small, large = (q.enqueue("k", group="g", group_limit=limit).id for limit in (3, 1, 3))
    assert claimed(q) == [head]
    assert states(q, [small, large]) == ["waiting", "waiting"]


def settled(outcome: tenure.Outcome) -> Callable[[tenure.Queue, MovedClock, str], None]:
    def end(q: tenure.Queue, _: MovedClock, job_id: str) -> None:
        assert q.settle(take(q, job_id), outcome)

    return end


def failed_for_good(q: tenure.Queue, clock: MovedClock, job_id: str) -> None:
    for _ in range(look(q, job_id).max_attempts):
        assert q.settle(take(q, job_id), tenure.Fail(retry_in="1s"))
        clock.advance("1s")


def cancelled_while_pending(q: tenure.Queue, _: MovedClock, job_id: str) -> None:
    assert q.cancel(job_id) == "cancelled"


def cancelled_while_it_waits_for_a_retry(q: tenure.Queue, _: MovedClock, job_id: str) -> None:
    q.settle(take(q, job_id), tenure.Fail())
    assert q.cancel(job_id) == "cancelled"


def cancelled_while_running(q: tenure.Queue, _: MovedClock, job_id: str) -> None:
    claim = take(q, job_id)
    assert q.cancel(job_id) == "asked"
    assert q.settle(claim, tenure.Fail())


def cancelled_while_its_worker_is_gone(q: tenure.Queue, clock: MovedClock, job_id: str) -> None:
    take(q, job_id)
    assert q.cancel(job_id) == "asked"
    clock.advance("31s")


def expired_before_it_started(q: tenure.Queue, clock: MovedClock, job_id: str) -> None:
    clock.advance("2h")


def expired_while_it_waits_for_a_retry(q: tenure.Queue, clock: MovedClock, job_id: str) -> None:
    q.settle(take(q, job_id), tenure.Fail(retry_in="3h"))
    clock.advance("2h")


def poisoned(q: tenure.Queue, clock: MovedClock, job_id: str) -> None:
    for _ in range(3):
        take(q, job_id)
        clock.advance("31s")


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (settled(tenure.Done()), "done"),
        (settled(tenure.Bury()), "dead"),
        (settled(tenure.Cancelled()), "cancelled"),
        (failed_for_good, "dead"),
        (cancelled_while_pending, "cancelled"),
        (cancelled_while_it_waits_for_a_retry, "cancelled"),
        (cancelled_while_running, "cancelled"),
        (cancelled_while_its_worker_is_gone, "cancelled"),
        (expired_before_it_started, "cancelled"),
        (expired_while_it_waits_for_a_retry, "dead"),
        (poisoned, "dead"),
    ],
    ids=[
        "done", "bury", "cancelled", "failed for good", "cancelled pending", "cancelled retry", "cancelled running",
        "cancelled and reclaimed", "expired", "expired retry", "poison",
    ],
)  # fmt: skip
def test_every_end_of_the_head_lets_the_next_job_run(
    cq: tenure.Queue, clock: MovedClock, end: Callable[[tenure.Queue, MovedClock, str], None], state: str
) -> None:
    head = cq.enqueue("k", group="g", max_attempts=2, expires_in="1h").id
    second, third = line(cq, 2)
    end(cq, clock, head)
    assert claimed(cq) == [second]
    assert states(cq, [head, second, third]) == [state, "running", "waiting"]


def test_the_end_of_the_head_makes_the_next_job_ready_at_once(q: tenure.Queue) -> None:
    ids = line(q, 3)
    q.settle(take(q, ids[0]), tenure.Done())
    assert states(q, ids) == ["done", "ready", "waiting"]


def test_a_waiting_job_that_is_cancelled_frees_no_slot(q: tenure.Queue) -> None:
    head, second, third = line(q, 3)
    take(q, head)
    q.cancel(second)
    assert states(q, [head, second, third]) == ["running", "cancelled", "waiting"]


def test_deleting_finished_jobs_of_a_group_frees_no_slot(q: tenure.Queue) -> None:
    ids = line(q, 3)
    q.settle(take(q, ids[0]), tenure.Done())
    take(q, ids[1])
    assert q.purge(tenure.Filter(group="g")) == 1
    assert claimed(q) == []
    assert states(q, ids[1:]) == ["running", "waiting"]


@pytest.mark.parametrize("outcome", [tenure.Fail(retry_in="10m"), tenure.Snooze("10m")])
def test_a_strict_group_waits_for_its_head_to_be_tried_again(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    ids = line(cq, 2)
    cq.settle(take(cq, ids[0]), outcome)
    clock.advance("9m")
    assert claimed(cq) == []
    clock.advance("1m")
    assert drain(cq) == ids


@pytest.mark.parametrize("outcome", [tenure.Fail(retry_in="10m"), tenure.Snooze("10m")])
def test_with_order_start_a_head_that_waits_steps_aside(
    cq: tenure.Queue, clock: MovedClock, outcome: tenure.Outcome
) -> None:
    head, second, third = line(cq, 3, order="start")
    cq.settle(take(cq, head), outcome)
    take(cq, second)
    assert states(cq, [head, second, third]) == ["scheduled", "running", "waiting"]


def test_with_order_start_a_head_that_stepped_aside_comes_back_and_waits_for_a_free_slot(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    head, second = line(cq, 2, order="start")
    cq.settle(take(cq, head), tenure.Fail(retry_in="10m"))
    [running] = cq.claim(lease="1h")
    assert running.id == second
    clock.advance("11m")
    assert claimed(cq) == []
    assert look(cq, head).state == "waiting"
    cq.settle(running, tenure.Done())
    assert claimed(cq) == [head]


@pytest.mark.parametrize("order", ["strict", "start"])
def test_a_released_head_keeps_its_slot(q: tenure.Queue, order: tenure.job.Order) -> None:
    head, second = line(q, 2, order=order)
    q.settle(take(q, head), tenure.Release())
    [third] = line(q, 1, order=order)
    assert states(q, [head, second, third]) == ["ready", "waiting", "waiting"]
    assert drain(q) == [head, second, third]


@pytest.mark.parametrize("order", ["strict", "start"])
def test_a_head_whose_worker_is_gone_keeps_its_slot(
    cq: tenure.Queue, clock: MovedClock, order: tenure.job.Order
) -> None:
    head, second = line(cq, 2, order=order)
    take(cq, head)
    clock.advance("31s")
    assert cq.reclaim() == 1
    [third] = line(cq, 1, order=order)
    assert states(cq, [head, second, third]) == ["ready", "waiting", "waiting"]
    assert claimed(cq) == [head]


def test_a_delayed_job_joins_its_group_only_when_it_is_due(cq: tenure.Queue, clock: MovedClock) -> None:
    later = cq.enqueue("k", group="g", delay="10m").id
    first = cq.enqueue("k", group="g").id
    assert states(cq, [later, first]) == ["scheduled", "ready"]
    [claim] = cq.claim(lease="1h")
    clock.advance("10m")
    assert claimed(cq) == []
    assert look(cq, later).state == "waiting"
    cq.settle(claim, tenure.Done())
    assert claimed(cq) == [later]


def test_a_delayed_job_alone_in_its_group_runs_when_it_is_due(cq: tenure.Queue, clock: MovedClock) -> None:
    ids = line(cq, 2, delay="10m")
    clock.advance("10m")
    assert claimed(cq) == ids[:1]


def test_a_job_replayed_into_a_busy_group_waits_behind_those_that_wait(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    first, second, third = line(cq, 3)
    cq.settle(take(cq, first), tenure.Bury())
    clock.advance("1s")
    assert cq.replay(first) == "replayed"
    assert states(cq, [first, second, third]) == ["waiting", "ready", "waiting"]
    assert drain(cq) == [second, third, first]


def test_a_job_replayed_into_an_empty_group_is_ready(q: tenure.Queue) -> None:
    [job_id] = line(q, 1)
    q.settle(take(q, job_id), tenure.Bury())
    q.replay(job_id)
    assert look(q, job_id).state == "ready"


def test_a_group_replayed_in_bulk_is_a_line_again(q: tenure.Queue) -> None:
    ids = line(q, 3)
    for job_id in ids:
        q.settle(take(q, job_id), tenure.Bury())
    assert q.replay_many(tenure.Filter(group="g")).changed == 3
    assert sorted(states(q, ids)) == ["ready", "waiting", "waiting"]
    assert drain(q) == ids


def test_a_duplicate_of_a_group_takes_no_place_in_its_line(q: tenure.Queue) -> None:
    first = q.enqueue("k", group="g", unique="u")
    again = q.enqueue("k", group="g", unique="u")
    second = q.enqueue("k", group="g")
    assert (again.inserted, again.id) == (False, first.id)
    assert drain(q) == [first.id, second.id]


class Watch:
    """Sees what several workers run: who runs beside whom in a group, and in which order."""

    def __init__(self) -> None:
        self.beside: list[tuple[str, str]] = []
        self.order: dict[str, list[str]] = defaultdict(list)
        self.ended = 0
        self._running: dict[str, str] = {}
        self._lock = threading.Lock()

    def work(self, q: tenure.Queue, limit: int) -> None:
        """Claim, note, settle what there is now."""
        for claim in q.claim(limit):
            assert claim.group is not None
            with self._lock:
                if claim.group in self._running:
                    self.beside.append((self._running[claim.group], claim.id))
                self._running[claim.group] = claim.id
                self.order[claim.group].append(claim.id)
            with self._lock:
                del self._running[claim.group]
            assert q.settle(claim, tenure.Done())
            with self._lock:
                self.ended += 1


def test_eight_workers_never_run_two_jobs_of_a_group_at_once_and_keep_its_order(place: Place) -> None:
    queues = [place.open(), place.open()]
    jobs = [tenure.NewJob(kind="k", group=f"g{n % 20}") for n in range(400)]
    answers = queues[0].enqueue_many(jobs)
    watch, deadline = Watch(), monotonic() + 90

    def worker(n: int) -> None:
        while watch.ended < len(jobs) and monotonic() < deadline:
            watch.work(queues[n % 2], limit=1 + n % 3)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(worker, range(8)))
    assert watch.beside == []
    assert watch.order == {f"g{n}": [answer.id for answer in answers[n::20]] for n in range(20)}
    assert queues[0].counts()["default"]["done"] == 400


def test_jobs_enqueued_while_the_heads_of_their_groups_end_are_never_stranded(place: Place) -> None:
    q = place.open()
    watch, enqueuing = Watch(), threading.Event()
    enqueuing.set()

    def enqueuer(_: int) -> None:
        for turn in range(40):
            q.enqueue("k", group=f"g{turn}")

    def worker(_: int) -> None:
        while enqueuing.is_set():
            watch.work(q, limit=2)

    with ThreadPoolExecutor(8) as threads:
        working = [threads.submit(worker, n) for n in range(4)]
        try:
            for made in [threads.submit(enqueuer, n) for n in range(4)]:
                made.result()
        finally:
            enqueuing.clear()
        for work in working:
            work.result()
    assert len(drain(q)) + watch.ended == 160
    assert q.counts()["default"]["done"] == 160
    assert watch.beside == []


class Undone(Exception):
    """Rolls a transaction back."""


@contextmanager
def elsewhere(place: Place) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Gives a call that does something from elsewhere while a transaction is open; it has ended when the block ends.

    On PostgreSQL it ends before the transaction does. A file has one writer: there it can only begin before.
    """
    with ThreadPoolExecutor(1) as thread:
        begun: list[Future[object]] = []

        def begin(work: Callable[[], object]) -> None:
            begun.append(thread.submit(work))
            if place.store == "postgres":
                begun[-1].result(60)

        yield begin
        for work in begun:
            assert work.result(60)


def test_a_job_enqueued_in_a_transaction_while_the_head_ended_elsewhere_is_claimed_after_the_commit(
    own_place: Place,
) -> None:
    q = own_place.open()
    head = take(q, line(q, 1)[0])
    with elsewhere(own_place) as begin, own_place.transaction() as tx:
        second = tx.queue.enqueue("k", group="g").id
        begin(lambda: q.settle(head, tenure.Done()))
    assert drain(q) == [second]


def test_a_job_behind_one_that_was_rolled_back_while_the_head_ended_elsewhere_is_claimed(
    own_place: Place,
) -> None:
    q = own_place.open()
    ids = line(q, 2)
    head = take(q, ids[0])
    with elsewhere(own_place) as begin, pytest.raises(Undone), own_place.transaction() as tx:
        tx.queue.enqueue("k", group="g", priority=9)
        begin(lambda: q.settle(head, tenure.Done()))
        raise Undone
    assert drain(q) == ids[1:]


def test_a_job_enqueued_elsewhere_while_the_head_ended_in_a_transaction_is_claimed_after_the_commit(
    own_place: Place,
) -> None:
    q = own_place.open()
    head = take(q, line(q, 1)[0])
    with elsewhere(own_place) as begin, own_place.transaction() as tx:
        tx.settle_in(head, tenure.Done())
        begin(lambda: q.enqueue("k", group="g"))
    assert len(drain(q)) == 1
    assert q.counts()["default"]["done"] == 2


def test_a_head_whose_end_was_rolled_back_still_holds_those_behind_it(own_place: Place) -> None:
    q = own_place.open()
    head = take(q, line(q, 1)[0])
    with elsewhere(own_place) as begin, pytest.raises(Undone), own_place.transaction() as tx:
        tx.settle_in(head, tenure.Done())
        begin(lambda: q.enqueue("k", group="g"))
        raise Undone
    assert claimed(q) == []
    assert q.settle(head, tenure.Done())
    assert len(drain(q)) == 1


def test_a_line_enqueued_in_one_transaction_is_a_line(own_place: Place) -> None:
    q = own_place.open()
    with own_place.transaction() as tx:
        ids = [tx.queue.enqueue("k", group="g").id for _ in range(3)]
    assert states(q, ids) == ["ready", "waiting", "waiting"]
    assert drain(q) == ids


def test_a_limit_of_many_lets_many_be_ready(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", group="g", group_limit=1_500) for _ in range(1_600)])
    assert q.counts()["default"]["ready"] == 1_500


def test_a_group_somebodys_transaction_keeps_undecided_holds_up_no_other(own_place: Place) -> None:
    q = own_place.open()
    heads = {group: q.enqueue("k", group=group).id for group in ("busy", "free")}
    for group in heads:
        q.enqueue("k", group=group)
    claims = {claim.group: claim for claim in q.claim(10)}
    with own_place.transaction() as tx:
        tx.queue.enqueue("k", group="busy")
        if own_place.store == "postgres":
            assert q.settle(claims["free"], tenure.Done())
            assert [claim.group for claim in q.claim(10)] == ["free"]
    assert q.settle(claims["busy"], tenure.Done())
    assert "busy" in [claim.group for claim in q.claim(10)]


def test_a_sweep_goes_round_all_groups_and_finds_the_forgotten_behind_many_healthy_ones(place: Place) -> None:
    q = place.open()
    q.enqueue_many([tenure.NewJob(kind="k", group=f"g{n:03}") for n in range(120) for _ in range(3)])
    for _ in range(2):  # round once, and round again
        for group in ("g003", "g060", "g119"):
            place.sql(f"DELETE FROM tenure.jobs WHERE group_key = '{group}' AND held IS NOT NULL")
        assert q.counts()["default"]["ready"] == 117
        assert sum(q.promote(limit=25) for _ in range(5)) == 3
        assert q.counts()["default"]["ready"] == 120


def test_a_janitor_that_looks_once_looks_at_all_groups(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.janitor.janitor._BATCH", 25)
    app, q = tenure.App(place.url), place.open()
    q.enqueue_many([tenure.NewJob(kind="k", group=f"g{n:03}") for n in range(120) for _ in range(2)])
    for group in ("g003", "g060", "g119"):
        place.sql(f"DELETE FROM tenure.jobs WHERE group_key = '{group}' AND held IS NOT NULL")
    assert run_alone(app, once=True)["promote"] == 3
    assert q.counts()["default"]["ready"] == 120
