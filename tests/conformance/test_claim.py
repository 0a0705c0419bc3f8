"""claim: what is handed out, to whom, and what the claim says."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

import tenure
from tenure.store.losses import Losses
from tests.support.claiming import claim_all, ids, job_of, payloads, settle_all
from tests.support.clock import MovedClock, move_machine_clock
from tests.support.places import Place

SLACK = timedelta(seconds=1)
"""More than two readings of one clock may differ by rounding, and much less than a day."""


def test_nothing_to_claim_is_an_empty_list(q: tenure.Queue) -> None:
    assert q.claim() == []


def test_a_claim_adds_one_to_attempt_and_to_epoch(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    assert (claim.job.attempt, claim.job.epoch, claim.epoch) == (1, 1, 1)
    job = job_of(q, answer.id)
    assert (job.state, job.attempt, job.epoch) == ("running", 1, 1)


def test_each_claim_of_a_failing_job_adds_one_more(cq: tenure.Queue) -> None:
    cq.enqueue("k")
    seen = []
    for _ in range(3):
        [claim] = cq.claim()
        seen.append((claim.job.attempt, claim.epoch))
        cq.settle(claim, tenure.Fail("no", retry_in=0))
    assert seen == [(1, 1), (2, 2), (3, 3)]


def test_a_claim_takes_one_job_unless_told_otherwise(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k")] * 3)
    assert len(q.claim()) == 1


def test_a_claim_takes_no_more_than_its_limit(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k")] * 5)
    assert [len(q.claim(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_the_limit_holds_over_several_kinds_and_queues(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=k, queue=line) for k in "ab" for line in "xy"] * 3)
    assert [len(q.claim(5)) for _ in range(4)] == [5, 5, 2, 0]


def test_only_the_named_queues_are_claimed_from(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", queue=name, payload=name) for name in ("a", "b", "c")])
    assert payloads(q.claim(10, queues=["a", "c"])) == ["a", "c"]


def test_all_queues_but_the_excepted_ones_are_claimed_from(q: tenure.Queue) -> None:
    names = ["a", "a b", "aa", "b", "c", "\u4e2d", "\U0001f980"]
    q.enqueue_many([tenure.NewJob(kind="k", queue=name, payload=name) for name in names])
    assert payloads(q.claim(10, except_queues=["\u4e2d", "a", "c", "a"])) == ["a b", "aa", "b", "\U0001f980"]
    assert payloads(q.claim(10, except_queues=[])) == ["a", "c", "\u4e2d"]


def test_excepted_queues_and_named_kinds_go_together(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=k, queue=line, payload=line + k) for line in "xyz" for k in "ab"])
    assert payloads(q.claim(10, except_queues=["y"], kinds=["b"])) == ["xb", "zb"]


def test_a_new_queue_is_found_at_once_beside_an_excepted_one(q: tenure.Queue) -> None:
    for queue in ("m", "excepted", "a", "z", "excepted too"):
        answer = q.enqueue("k", queue=queue)
        assert ids(q.claim(5, except_queues=["excepted"])) == ([] if queue == "excepted" else [answer.id])


def test_order_holds_over_all_queues_but_the_excepted_ones(q: tenure.Queue) -> None:
    q.enqueue_many(
        [
            tenure.NewJob(kind="k", queue=line, priority=n, payload=f"{line}{n}")
            for n in range(3)
            for line in "abc"
        ]
    )
    assert payloads(claim_all(q, 2, except_queues=["b"])) == ["a2", "c2", "a1", "c1", "a0", "c0"]


def test_queues_and_excepted_queues_are_not_said_together(q: tenure.Queue) -> None:
    q.enqueue("k", queue="a")
    with pytest.raises(tenure.FieldError) as caught:
        q.claim(queues=["a"], except_queues=["b"])
    assert caught.value.field == "except_queues"
    with pytest.raises(tenure.FieldTypeError) as caught:
        q.claim(except_queues="a")
    assert caught.value.field == "except_queues"
    assert len(q.claim()) == 1


def test_only_the_named_kinds_are_claimed(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=name, payload=name) for name in ("a", "b", "c")])
    assert payloads(q.claim(10, kinds=["c", "a"])) == ["a", "c"]


def test_queues_and_kinds_together_must_both_fit(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=k, queue=line, payload=line + k) for line in "xyz" for k in "abc"])
    assert payloads(q.claim(10, queues=["x", "z"], kinds=["a", "b"])) == ["xa", "xb", "za", "zb"]


def test_jobs_of_unknown_kinds_are_left_as_they_are(q: tenure.Queue) -> None:
    foreign = q.enqueue("foreign")
    q.enqueue("known")
    settle_all(q, claim_all(q, kinds=["known"]))
    job = job_of(q, foreign.id)
    assert (job.state, job.attempt, job.epoch) == ("ready", 0, 0)


def test_foreign_jobs_of_higher_priority_do_not_hide_the_known_ones(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=f"foreign{i % 7}", priority=5 + i % 3) for i in range(60)])
    answer = q.enqueue("known", priority=-3)
    assert ids(q.claim(10, kinds=["known"])) == [answer.id]


def test_many_foreign_kinds_do_not_hide_a_known_one(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=f"foreign{i}") for i in range(80)])
    answer = q.enqueue("known")
    assert ids(q.claim(kinds=["known"])) == [answer.id]


@pytest.mark.parametrize("nothing", [{"queues": []}, {"kinds": []}], ids=["queues", "kinds"])
def test_an_empty_list_of_names_claims_nothing(q: tenure.Queue, nothing: dict[str, Any]) -> None:
    q.enqueue("k")
    assert q.claim(**nothing) == []
    assert len(q.claim()) == 1


def test_a_name_said_twice_is_as_if_said_once(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", queue="x")] * 3)
    assert [len(q.claim(2, queues=["x", "x"], kinds=["k", "k"])) for _ in range(3)] == [2, 1, 0]


def test_names_are_data(q: tenure.Queue) -> None:
    names = ["Éclair", "a%b", "it's", "naïve", "z;--", "x_y", "日本", "😀"]
    q.enqueue_many([tenure.NewJob(kind=name, queue=name) for name in names])
    assert sorted(c.kind for name in names for c in q.claim(10, queues=[name], kinds=[name])) == sorted(names)


def test_a_claimer_of_everything_meets_every_name(q: tenure.Queue) -> None:
    names = [a + b for a in ("", "A", "a", "Z", "é", "日", "😀", "-", "~") for b in ("b", "B", "_", "ÿ")]
    q.enqueue_many([tenure.NewJob(kind=k, queue=line) for k in names[::3] for line in names[1::3]])
    assert Counter((c.kind, c.job.queue) for c in claim_all(q, 7)) == {
        (k, line): 1 for k in names[::3] for line in names[1::3]
    }


def test_the_lowest_and_the_highest_priority_are_claimed_too(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", priority=p, payload=p) for p in (-32_768, 32_767)])
    assert payloads(claim_all(q)) == [32_767, -32_768]


def test_a_claim_carries_the_whole_job(cq: tenure.Queue, clock: MovedClock) -> None:
    parent = cq.enqueue("first", queue="other")
    cq.enqueue(
        "k", {"n": [1, None, "é"]}, queue="mail", priority=7, max_attempts=9, unique="u", group="g", group_limit=2,
        order="start", expires_in="1h", timeout="5m", tags=["t"], meta={"m": "v"}, parent=parent.id, flow="f",
        tenant="acme",
    )  # fmt: skip
    [claim] = cq.claim(queues=["mail"])
    job = claim.job
    assert (claim.kind, claim.group, claim.seq) == ("k", "g", job.seq)
    assert (job.kind, job.payload, job.queue, job.priority) == ("k", {"n": [1, None, "é"]}, "mail", 7)
    assert (job.max_attempts, job.unique, job.group, job.order) == (9, "u", "g", "start")
    assert (job.expires_at, job.timeout) == (clock.at("1h"), timedelta(minutes=5))
    assert (job.tags, job.meta, job.parent, job.flow, job.tenant) == (
        ("t",),
        {"m": "v"},
        parent.id,
        "f",
        "acme",
    )
    assert (job.state, job.started_at, job.run_at, job.created_at) == (
        "running",
        clock.now,
        clock.now,
        clock.now,
    )


def test_a_claim_carries_the_last_error(cq: tenure.Queue) -> None:
    cq.enqueue("k")
    [claim] = cq.claim()
    cq.settle(claim, tenure.Fail("out of paper", retry_in=0))
    [claim] = cq.claim()
    assert claim.job.error == "out of paper"


def test_the_worker_is_recorded(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim(worker="w1")
    assert (claim.worker, claim.job.worker, job_of(q, answer.id).worker) == ("w1", "w1", "w1")


def test_a_claim_without_a_worker_is_the_queues_own(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    assert (claim.worker, job_of(q, answer.id).worker) == (q.worker, q.worker)


def test_the_default_worker_is_fresh_for_every_queue_opened(place: Place) -> None:
    assert len({place.open().worker for _ in range(3)}) == 3


@pytest.mark.parametrize(
    ("options", "length"), [({}, "30s"), ({"lease": "5m"}, "5m"), ({"lease": 0.25}, "250ms")], ids=str
)
def test_a_lease_is_as_long_as_asked(
    cq: tenure.Queue, clock: MovedClock, options: dict[str, Any], length: str
) -> None:
    answer = cq.enqueue("k")
    [claim] = cq.claim(**options)
    assert (claim.job.lease_until, job_of(cq, answer.id).lease_until) == (clock.at(length), clock.at(length))


def test_the_store_s_own_clock_sets_the_lease(
    place: Place, q: tenure.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not this process's, which is a day ahead; a file has no other clock than its machine's."""
    move_machine_clock(monkeypatch, "1d")
    q.enqueue("k")
    before = place.now()
    [claim] = q.claim(lease="5m")
    told, between = claim.job.lease_until, place.now()
    assert q.renew([claim], lease="5m").kept == {claim.id}
    renewed, after = job_of(q, claim.id).lease_until, place.now()
    for since, until, by in ((before, told, between), (between, renewed, after)):
        assert until is not None
        assert since - SLACK <= until - timedelta(minutes=5) <= by + SLACK


def test_the_store_s_own_clock_says_when_a_job_is_due_and_when_it_expires(
    place: Place, q: tenure.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_machine_clock(monkeypatch, "1d")
    before = place.now() + timedelta(hours=1)
    q.enqueue("failing")
    [claim] = q.claim()
    assert q.settle(claim, tenure.Fail("no", retry_in="1h"))
    delayed, expiring = q.enqueue("k", delay="1h"), q.enqueue("k", expires_in="1h")
    [many] = q.enqueue_many([tenure.NewJob(kind="k", delay="1h")])
    after = place.now() + timedelta(hours=1)
    said = [job_of(q, job).run_at for job in (claim.id, delayed.id, many.id)]
    for moment in (*said, job_of(q, expiring.id).expires_at):
        assert moment is not None
        assert before - SLACK <= moment <= after + SLACK


@pytest.mark.parametrize("started", [True, False])
def test_a_claim_says_since_when_it_is_held(cq: tenure.Queue, clock: MovedClock, started: bool) -> None:
    answer = cq.enqueue("k")
    [claim] = cq.claim(started=started)
    assert (claim.job.started_at, job_of(cq, answer.id).started_at) == (clock.now, clock.now)
    assert (claim.apart, claim.job.suspect) == (False, False)


def test_a_claimed_job_is_not_handed_out_again(q: tenure.Queue) -> None:
    q.enqueue("k")
    assert len(q.claim()) == 1
    assert q.claim() == []


def test_a_claimed_job_is_not_handed_out_to_others(place: Place) -> None:
    first, second = place.open(), place.open()
    first.enqueue("k")
    assert len(first.claim()) == 1
    assert second.claim(10) == []


def test_a_job_is_held_for_as_long_as_its_lease(place: Place, cq: tenure.Queue, clock: MovedClock) -> None:
    other = place.open(clock=clock)
    answer = cq.enqueue("k")
    cq.claim(lease="10m")
    clock.advance("9m59s")
    assert other.claim() == []
    clock.advance("1s")
    assert ids(other.claim()) == [answer.id]


@pytest.mark.parametrize(
    "filters", [{}, {"queues": ["default"]}, {"kinds": ["k"]}], ids=["all", "queues", "kinds"]
)
def test_a_job_enqueued_after_an_empty_claim_is_found_at_once(
    q: tenure.Queue, filters: dict[str, Any]
) -> None:
    for _ in range(5):
        assert q.claim(**filters) == []
        answer = q.enqueue("k")
        assert ids(q.claim(**filters)) == [answer.id]


def test_a_job_enqueued_while_others_wait_is_found_by_the_same_queue(q: tenure.Queue) -> None:
    enqueued, claimed = [q.enqueue("k").id, q.enqueue("k").id], []
    for _ in range(20):
        claimed += ids(q.claim())
        enqueued.append(q.enqueue("k").id)
    assert claimed == enqueued[:20]
    assert ids(claim_all(q)) == enqueued[20:]


def test_jobs_of_new_queues_kinds_and_priorities_are_found_at_once(q: tenure.Queue) -> None:
    q.enqueue("m", queue="m")
    assert len(q.claim(10)) == 1
    for queue in ("m", "a", "z"):
        for kind in ("m", "b", "y"):
            for priority in (0, 3, -3, 9, 1):
                answer = q.enqueue(kind, queue=queue, priority=priority)
                assert ids(q.claim(10)) == [answer.id], (queue, kind, priority)


def test_a_new_kind_is_found_at_once_by_a_claimer_of_named_kinds(q: tenure.Queue) -> None:
    for kind in ("b", "a", "foreign", "c", "b"):
        answer = q.enqueue(kind, queue=f"line of {kind}")
        assert ids(q.claim(5, kinds=["a", "b", "c"])) == ([] if kind == "foreign" else [answer.id])


def test_a_job_enqueued_by_another_queue_object_is_found_at_once(place: Place) -> None:
    claimer, producer = place.open(), place.open()
    for kind in ("a", "b", "a", "c"):
        answer = producer.enqueue(kind)
        assert ids(claimer.claim()) == [answer.id]


def test_a_released_job_is_found_at_once_when_nothing_else_waits(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    for _ in range(3):
        [claim] = q.claim()
        assert claim.id == answer.id
        q.settle(claim, tenure.Release())


def test_a_job_due_earlier_than_those_already_claimed_is_not_missed(q: tenure.Queue) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    late = q.enqueue("k", run_at=claim.job.run_at - timedelta(days=1))
    assert ids(q.claim()) == [late.id]


def test_claims_with_different_filters_do_not_hide_jobs_from_each_other(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind=k, queue=line) for k in "ab" for line in "xy"] * 2)
    taken = [*q.claim(kinds=["a"]), *q.claim(queues=["y"]), *q.claim(queues=["x"], kinds=["b"])]
    taken += claim_all(q)
    assert len(set(ids(taken))) == len(taken) == 8


def test_a_bare_loop_of_claim_and_settle_ends_every_job(
    place: Place, cq: tenure.Queue, clock: MovedClock
) -> None:
    vanished = place.open(clock=clock)
    lost = cq.enqueue_many([tenure.NewJob(kind="lost")] * 3)
    assert len(vanished.claim(3)) == 3
    cq.enqueue_many([tenure.NewJob(kind="plain")] * 5)
    cq.enqueue_many([tenure.NewJob(kind="later", delay=f"{n}h") for n in range(1, 6)])
    cq.enqueue_many([tenure.NewJob(kind="failing", max_attempts=3)] * 4)
    cq.enqueue_many([tenure.NewJob(kind="in line", group="g")] * 4)
    for _ in range(500):
        for claim in cq.claim(4):
            fails = claim.kind == "failing"
            assert cq.settle(claim, tenure.Fail("no") if fails else tenure.Done())
        clock.advance("1m")
    jobs = cq.list(limit=100)
    assert Counter((job.kind, job.state) for job in jobs) == {
        ("lost", "done"): 3, ("plain", "done"): 5, ("later", "done"): 5, ("failing", "dead"): 4, ("in line", "done"): 4,
    }  # fmt: skip
    assert {job.attempt for job in jobs if job.kind == "failing"} == {3}
    assert [job_of(cq, answer.id).crashes for answer in lost] == [1, 1, 1]


@pytest.mark.parametrize("chore", ["promote", "reclaim", "commit"])
def test_what_a_claim_took_is_its_callers_though_the_chores_failed(place: Place, chore: str) -> None:
    q, other = place.open(), place.open()
    q.enqueue("k")
    q.claim()  # looked from the start: the next claim begins with what it finds
    if chore != "reclaim":
        other.enqueue("late", delay=timedelta(microseconds=1))
    else:
        other.enqueue("late")
        other.claim(kinds=["late"], lease=timedelta(microseconds=1))
    break_what_moves(place, at_the_end=chore == "commit")
    q.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in (1, 2)])
    if place.store == "postgres":
        assert payloads(q.claim(5)) == [1, 2]
    else:  # all of a claim is one transaction in a file: nothing is taken
        with pytest.raises(tenure.StoreError, match="stuck"):
            q.claim(5)
        assert [job.payload for job in q.list(tenure.Filter(states=["ready"], kinds=["k"]))] == [2, 1]
    with pytest.raises(tenure.StoreError, match="stuck"):
        assert not [q.claim(5) for _ in range(2)]
    mend(place)
    assert {c.job.kind for c in q.claim(5)} >= {"late"}


def break_what_moves(place: Place, *, at_the_end: bool) -> None:
    """No job can leave a state in which its chore finds it; on PostgreSQL that can be found out when it is committed."""
    if place.store == "postgres":
        place.sql(
            "CREATE FUNCTION tenure.stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stuck'; END $$"
        )
        when = (
            "CREATE CONSTRAINT TRIGGER stuck AFTER UPDATE ON tenure.jobs DEFERRABLE INITIALLY DEFERRED"
            if at_the_end
            else "CREATE TRIGGER stuck BEFORE UPDATE ON tenure.jobs"
        )
        place.sql(f"{when} FOR EACH ROW WHEN (old.kind = 'late') EXECUTE FUNCTION tenure.stuck()")
    else:
        place.sql(
            "CREATE TRIGGER tenure_stuck BEFORE UPDATE ON tenure_jobs WHEN old.kind = 'late' BEGIN SELECT RAISE(ABORT, 'stuck'); END"
        )


def mend(place: Place) -> None:
    if place.store == "postgres":
        place.sql("DROP FUNCTION tenure.stuck CASCADE")
    else:
        place.sql("DROP TRIGGER tenure_stuck")


def test_an_error_of_the_chores_own_undoes_them_whole(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one of a statement: what was moved before it must not stand without what follows."""
    q, other = place.open(), place.open()
    q.enqueue("k")
    q.claim()
    late = other.enqueue("late").id
    other.claim(kinds=["late"], lease=timedelta(microseconds=1))
    q.enqueue("k", 1)
    with monkeypatch.context() as patch:
        patch.setattr(Losses, "write", broken)
        if place.store == "postgres":
            assert payloads(q.claim(5)) == [1]
        else:
            with pytest.raises(LookupError):
                q.claim(5)
    job = job_of(q, late)
    assert (job.state, job.crashes) == ("running", 0)
    assert late in ids(q.claim(5))


def broken(*_: object, **__: object) -> None:
    raise LookupError("broken")
