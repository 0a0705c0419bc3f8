"""watch: who waits for jobs hears of them at once; a hint, which may come for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import tenure
from tenure.store.base import Watch
from tests.support.child import run_child
from tests.support.places import Place
from tests.support.watching import heard_during, quiet


@pytest.fixture
def watch(place: Place) -> Iterator[Watch]:
    """A watch in a queue of its own, which hears and has nothing left to tell."""
    with tenure.open(place.url) as mine:
        yield quiet(mine.watch())


WAYS: dict[str, Callable[[tenure.Queue], object]] = {
    "enqueue": lambda q: q.enqueue("k"),
    "enqueue with options": lambda q: q.enqueue("k", priority=5, tags=["a"]),
    "enqueue for later": lambda q: q.enqueue("k", delay="1h"),
    "enqueue unique": lambda q: q.enqueue("k", unique="u", unique_for="1h"),
    "enqueue into a group": lambda q: q.enqueue("k", group="g"),
    "enqueue_many, few": lambda q: q.enqueue_many([tenure.NewJob(kind="k")] * 3),
    "enqueue_many, many": lambda q: q.enqueue_many([tenure.NewJob(kind="k")] * 100),
    "enqueue_many, many with options": lambda q: q.enqueue_many([tenure.NewJob(kind="k", delay=9)] * 100),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_wait_under_way_returns_when_a_job_is_enqueued(way: str, watch: Watch, q: tenure.Queue) -> None:
    assert heard_during(watch, lambda: WAYS[way](q)) == [True]


def test_every_enqueue_is_heard_not_only_the_first(watch: Watch, q: tenure.Queue) -> None:
    for _ in range(3):
        assert heard_during(watch, lambda: q.enqueue("k")) == [True]
        quiet(watch)


def test_a_job_that_is_replayed_is_heard(watch: Watch, q: tenure.Queue) -> None:
    job = q.enqueue("k")
    [claim] = q.claim()
    q.settle(claim, tenure.Bury("no"))
    quiet(watch)
    assert heard_during(watch, lambda: q.replay(job.id)) == [True]


ENQUEUE = """
import sys, tenure
with tenure.open(sys.argv[1]) as q:
    q.enqueue("k")
"""


def test_an_enqueue_by_another_process_is_heard(watch: Watch, place: Place) -> None:
    assert heard_during(watch, lambda: run_child(ENQUEUE, place.url)) == [True]


def test_a_queue_hears_its_own_enqueues(place: Place) -> None:
    with tenure.open(place.url) as mine:
        assert heard_during(quiet(mine.watch()), lambda: mine.enqueue("k")) == [True]


def test_what_was_enqueued_between_two_waits_is_heard_by_the_second(watch: Watch, q: tenure.Queue) -> None:
    q.enqueue("k")
    assert watch.wait(10)


def test_what_was_enqueued_before_the_first_wait_is_heard(place: Place, q: tenure.Queue) -> None:
    with tenure.open(place.url) as mine:
        watch = mine.watch()
        q.enqueue("k")
        assert watch.wait(10)


def test_all_who_wait_hear(place: Place, watch: Watch, q: tenure.Queue) -> None:
    with tenure.open(place.url) as mine:
        other = quiet(mine.watch())
        q.enqueue("k")
        assert watch.wait(10)
        assert other.wait(10)


def test_a_job_in_a_transaction_of_the_caller_s_is_heard_when_it_commits(own_place: Place) -> None:
    with tenure.open(own_place.url) as mine:
        watch = quiet(mine.watch())

        def enqueue() -> None:
            with own_place.transaction() as tx:
                tx.queue.enqueue("k")

        assert heard_during(watch, enqueue) == [True]


def test_an_enqueue_that_was_rolled_back_breaks_nothing(own_place: Place) -> None:
    with tenure.open(own_place.url) as mine:
        watch = quiet(mine.watch())
        with pytest.raises(ZeroDivisionError), own_place.transaction() as tx:
            tx.queue.enqueue("k")
            raise ZeroDivisionError
        assert heard_during(quiet(watch), lambda: mine.enqueue("k")) == [True]
        assert len(mine.claim(10)) == 1


def test_a_wait_with_nothing_new_returns_false(watch: Watch) -> None:
    assert watch.hears
    assert [watch.wait(0.05) for _ in range(3)] == [False] * 3
    assert watch.wait(0) is False


def test_reading_wakes_nobody(watch: Watch, q: tenure.Queue) -> None:
    q.enqueue("k")
    quiet(watch)
    q.list()
    q.counts()
    q.next_due()
    assert watch.wait(0.3) is False


def test_a_wait_under_way_can_be_interrupted(watch: Watch) -> None:
    assert heard_during(watch, watch.interrupt) == [True]
    assert watch.wait(0.05) is False


def test_an_interrupt_between_waits_ends_the_next_one(watch: Watch) -> None:
    watch.interrupt()
    watch.interrupt()
    assert watch.wait(10)
    assert watch.wait(0.05) is False


def test_a_watch_can_be_closed_while_somebody_waits(watch: Watch) -> None:
    assert heard_during(watch, watch.close) == [True]
    assert not watch.hears


def test_a_closed_watch_makes_nobody_wait(watch: Watch) -> None:
    watch.close()
    watch.close()
    watch.interrupt()
    assert watch.wait(1_000)


def test_a_queue_that_is_closed_closes_its_watches(place: Place) -> None:
    mine = tenure.open(place.url)
    watch = quiet(mine.watch())
    assert heard_during(watch, mine.close) == [True]
    assert watch.wait(1_000)
    with pytest.raises(tenure.UsageError, match="closed"):
        mine.watch()


def test_two_threads_need_two_watches(watch: Watch) -> None:
    def also() -> None:
        with pytest.raises(tenure.UsageError, match="one of its own"):
            watch.wait(0)
        watch.interrupt()

    assert heard_during(watch, also) == [True]


def test_who_did_not_wait_for_a_while_hears_again_once_it_waits(watch: Watch, q: tenure.Queue) -> None:
    for _ in range(2):
        q.enqueue("k")
        assert heard_during(quiet(watch), lambda: q.enqueue("k")) == [True]


def test_who_did_not_wait_as_a_job_came_is_told_to_look(watch: Watch, q: tenure.Queue) -> None:
    q.enqueue("k")
    assert watch.wait(10)
