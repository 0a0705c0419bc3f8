"""pulse: how the queues stand, for who asks often."""

from __future__ import annotations

from datetime import timedelta

import pytest

import tenure
from tests.support.clock import MovedClock


def test_an_empty_store_has_no_pulse(cq: tenure.Queue, clock: MovedClock) -> None:
    found = cq.pulse()
    assert (found.counts, found.oldest_ready, found.paused) == ({}, {}, frozenset())
    assert (found.overdue_leases, found.overdue_scheduled, found.capped) == (0, 0, False)
    assert found.at == clock()


def test_what_has_not_ended_is_counted_by_queue_and_state(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind=f"k{n}", queue="mail", priority=n) for n in range(3)])
    cq.enqueue("k", queue="later", delay="1h")
    cq.enqueue_many([tenure.NewJob(kind="k", queue="chat", group="g") for _ in range(3)])
    [claim] = cq.claim(queues=["mail"])
    [other] = cq.claim(queues=["mail"])
    assert cq.settle(other, tenure.Done())
    assert cq.pulse().counts == {
        "chat": {"ready": 1, "scheduled": 0, "waiting": 2, "running": 0},
        "later": {"ready": 0, "scheduled": 1, "waiting": 0, "running": 0},
        "mail": {"ready": 1, "scheduled": 0, "waiting": 0, "running": 1},
    }
    assert cq.pulse().ready == {("chat", "k"): 1, ("mail", "k0"): 1}
    cq.enqueue("other", queue="later", delay="1h")
    cq.enqueue("other", queue="chat", group="g")
    assert cq.pulse().later == {
        ("chat", "k"): 2,
        ("chat", "other"): 1,
        ("later", "k"): 1,
        ("later", "other"): 1,
    }
    assert cq.settle(claim, tenure.Done())
    assert cq.pulse().counts["mail"]["running"] == 0


def test_the_oldest_ready_job_is_told_by_queue_whatever_its_kind(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("first", queue="mail")
    clock.advance("90s")
    cq.enqueue("second", queue="mail", priority=9)
    cq.enqueue("k", queue="chat")
    cq.enqueue("k", queue="later", delay="1h")
    clock.advance("10s")
    assert cq.pulse().oldest_ready == {
        "chat": timedelta(seconds=10), "later": timedelta(0), "mail": timedelta(seconds=100),
    }  # fmt: skip


def test_a_queue_that_was_paused_is_told_though_it_is_empty(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.pause("mail")
    cq.pause("chat")
    cq.resume("chat")
    found = cq.pulse()
    assert found.paused == {"mail"}
    assert found.counts["mail"] == {"ready": 0, "scheduled": 0, "waiting": 0, "running": 0}


def test_what_nobody_saw_to_is_overdue_after_the_margin(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("held")
    assert len(cq.claim(lease="30s")) == 1
    cq.enqueue("later", delay="30s")
    clock.advance("39s")
    assert (cq.pulse().overdue_leases, cq.pulse().overdue_scheduled) == (0, 0)
    assert (cq.pulse(overdue_by=0).overdue_leases, cq.pulse(overdue_by="5s").overdue_scheduled) == (1, 1)
    clock.advance("2s")
    assert (cq.pulse().overdue_leases, cq.pulse().overdue_scheduled) == (1, 1)
    cq.promote()
    cq.reclaim()
    assert (cq.pulse().overdue_leases, cq.pulse().overdue_scheduled) == (0, 0)


def test_counts_end_at_the_cap_and_say_so(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind=kind, queue="mail") for kind in "ab" for _ in range(5)])
    cq.enqueue_many([tenure.NewJob(kind="k", queue="later", delay="1h") for _ in range(5)])
    cq.enqueue("k", queue="post")
    found = cq.pulse(cap=3)
    assert (found.counts["mail"]["ready"], found.counts["later"]["scheduled"], found.capped) == (6, 3, True)
    assert (found.more, found.more_ready) == (frozenset({"ready", "scheduled"}), frozenset({"mail"}))
    assert not cq.pulse(cap=6).capped


def test_dead_jobs_are_counted_by_queue_beside_what_has_not_ended(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    for queue in ("mail", "mail", "post"):
        cq.enqueue("k", queue=queue, max_attempts=1)
        [claim] = cq.claim(queues=[queue])
        cq.settle(claim, tenure.Fail("no"))
    found = cq.pulse()
    assert (found.dead, found.counts, found.capped) == ({"mail": 2, "post": 1}, {}, False)
    found = cq.pulse(cap=3)
    assert (found.dead, found.more, found.capped) == ({"mail": 2, "post": 1}, frozenset({"dead"}), True)
    cq.replay_many(tenure.Filter(queues=["mail"]))
    assert cq.pulse().dead == {"post": 1}


def test_many_lanes_share_what_is_counted_and_it_is_told_which_states_may_be_more(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue_many([tenure.NewJob(kind=f"k{n}", queue="mail") for n in range(20) for _ in range(2)])
    cq.enqueue_many([tenure.NewJob(kind="k", queue=queue, delay="1h") for queue in ("a", "b")])
    found = cq.pulse(cap=4)
    assert (found.counts["mail"]["ready"], found.more) == (20, frozenset({"ready"}))
    found = cq.pulse(cap=2)
    assert found.more == {"ready", "scheduled"}
    found = cq.pulse(cap=12)
    assert (found.counts["mail"]["ready"], found.more, found.capped) == (40, frozenset(), False)


def test_where_not_all_lanes_are_looked_at_it_is_told_of_which_queues_more_may_be_ready(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue("k", queue="chat")
    cq.enqueue_many([tenure.NewJob(kind=f"k{n}", queue="mail") for n in range(999)])
    cq.enqueue("k", queue="news", delay="1h")
    cq.enqueue("k", queue="post")
    found = cq.pulse()
    assert found.more_ready == {"mail", "news"}
    assert [found.more_in(queue) for queue in ("chat", "mail", "news")] == [[], ["ready"], ["ready"]]
    assert found.capped
    cq.claim(100, queues=["mail"])
    assert cq.pulse().more_ready == set()
    assert cq.pulse().counts["post"]["ready"] == 1


@pytest.mark.parametrize("cap", [0, 1_000_001, True, "many"])
def test_a_cap_that_is_none_is_refused(cq: tenure.Queue, cap: object) -> None:
    with pytest.raises((tenure.FieldError, tenure.FieldTypeError), match="cap"):
        cq.pulse(cap=cap)  # type: ignore[arg-type]
