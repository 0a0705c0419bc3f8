"""settle_in: the handler's writes and the job's end commit together, or roll back together."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.connections import Kind, each, every_kind, one_per_way
from tests.support.places import Place

OUTCOMES = [
    (tenure.Done({"sent": 3}), "done"),
    (tenure.Fail("oops", "1m"), "scheduled"),
    (tenure.Snooze("1m"), "scheduled"),
    (tenure.Release(), "ready"),
    (tenure.Bury("useless"), "dead"),
    (tenure.Cancelled("asked"), "cancelled"),
]
each_outcome = pytest.mark.parametrize(
    ("outcome", "state"), [pytest.param(o, s, id=type(o).__name__) for o, s in OUTCOMES]
)


@pytest.fixture
def oq(own_place: Place, clock: MovedClock) -> tenure.Queue:
    """A queue whose clock the test moves, beside a table of the caller's own."""
    queue = own_place.open(clock=clock)
    own_place.sql("CREATE TABLE tenure.effects (job text)")
    return queue


def effects(place: Place) -> list[str]:
    """What the caller's own transactions wrote, of those that committed."""
    return [job for (job,) in place.sql("SELECT job FROM tenure.effects ORDER BY job")]


def effect(job: tenure.Claim) -> str:
    """The caller's own write."""
    return f"INSERT INTO tenure.effects VALUES ('{job.id}')"


def state(q: tenure.Queue, claim: tenure.Claim) -> str:
    job = q.get(claim.id)
    assert job is not None
    return job.state


def meanwhile(work: Callable[[], Any]) -> Any:
    """Do something in another thread, which must not have to wait for what this one holds; its answer."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(work()), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits for the open transaction"
    return answers[0]


@every_kind
def test_the_handlers_write_and_the_jobs_end_commit_together(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.execute(effect(claim))
        own.settle_in(claim, tenure.Done({"sent": 3}))
        assert state(oq, claim) == "running"
        own.commit()
    job = oq.get(claim.id)
    assert job is not None
    assert (job.state, job.result) == ("done", {"sent": 3})
    assert effects(own_place) == [claim.id]


@every_kind
def test_the_handlers_write_and_the_jobs_end_roll_back_together(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.execute(effect(claim))
        own.settle_in(claim, tenure.Done())
        own.rollback()
    job = oq.get(claim.id)
    assert job is not None
    assert (job.state, job.epoch, job.attempt) == ("running", claim.epoch, 1)
    assert effects(own_place) == []


@every_kind
def test_a_handler_that_lost_its_claim_is_told_so_and_its_write_rolls_back(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock
) -> None:
    oq.enqueue("k")
    [lost] = oq.claim(worker="slow")
    clock.advance("31s")
    [taken] = oq.claim(worker="other")
    with kind.open(own_place) as own:
        own.execute(effect(lost))
        with pytest.raises(tenure.ClaimLost, match="roll back") as told:
            own.settle_in(lost, tenure.Done())
        own.rollback()
    assert (told.value.job_id, told.value.epoch) == (lost.id, lost.epoch)
    assert effects(own_place) == []
    assert oq.settle(taken, tenure.Done())


@one_per_way
@each_outcome
def test_every_outcome_can_end_a_job_inside(
    own_place: Place, kind: Kind, oq: tenure.Queue, outcome: tenure.Outcome, state: str
) -> None:
    answer = oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.settle_in(claim, outcome)
        own.commit()
    job = oq.get(answer.id)
    assert job is not None
    assert job.state == state


@one_per_way
@each_outcome
def test_no_outcome_of_a_lost_claim_changes_anything(
    own_place: Place, kind: Kind, oq: tenure.Queue, outcome: tenure.Outcome, state: str
) -> None:
    oq.enqueue("k")
    [lost] = oq.claim()
    oq.settle(lost, tenure.Release() if not isinstance(outcome, tenure.Release) else tenure.Snooze(0))
    [taken] = oq.claim()
    with kind.open(own_place) as own:
        with pytest.raises(tenure.ClaimLost):
            own.settle_in(lost, outcome)
        own.commit()
    job = oq.get(lost.id)
    assert job is not None
    assert (job.state, job.epoch, job.worker) == ("running", taken.epoch, taken.worker)


@one_per_way
@each_outcome
def test_after_a_rollback_the_claim_still_stands_and_can_be_settled(
    own_place: Place, kind: Kind, oq: tenure.Queue, outcome: tenure.Outcome, state: str
) -> None:
    oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.settle_in(claim, outcome)
        own.rollback()
    assert oq.renew([claim]).kept == {claim.id}
    assert oq.settle(claim, tenure.Fail("the transaction rolled back"))
    assert [(a.attempt, a.message) for a in oq.history(claim.id)] == [(1, "the transaction rolled back")]


@one_per_way
def test_an_expired_lease_that_nobody_took_back_may_still_be_settled_inside(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock
) -> None:
    oq.enqueue("k")
    [claim] = oq.claim()
    clock.advance("1h")
    with kind.open(own_place) as own:
        own.settle_in(claim, tenure.Done())
        own.commit()
    assert state(oq, claim) == "done"


@one_per_way
def test_settling_again_outside_after_a_lost_reply_answers_as_the_first_did(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.settle_in(claim, tenure.Done())
        own.commit()
    assert oq.settle(claim, tenure.Done()) is True


@one_per_way
@each_outcome
def test_a_second_transaction_for_an_ended_claim_is_told_so_and_its_write_rolls_back(
    own_place: Place, kind: Kind, oq: tenure.Queue, outcome: tenure.Outcome, state: str
) -> None:
    """The caller's COMMIT was done but its reply was lost: doing it all again must not do it twice."""
    oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.execute(effect(claim))
        own.settle_in(claim, outcome)
        own.commit()
    with kind.open(own_place) as own:
        own.execute(effect(claim))
        with pytest.raises(tenure.ClaimLost):
            own.settle_in(claim, outcome)
        own.rollback()
    assert effects(own_place) == [claim.id]


@one_per_way
def test_a_lost_claim_leaves_the_transaction_usable(own_place: Place, kind: Kind, oq: tenure.Queue) -> None:
    oq.enqueue("k")
    [lost] = oq.claim()
    oq.settle(lost, tenure.Release())
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.execute(effect(lost))
        with pytest.raises(tenure.ClaimLost):
            own.settle_in(lost, tenure.Done())
        own.settle_in(claim, tenure.Done())
        own.commit()
    assert state(oq, claim) == "done"
    assert effects(own_place) == [claim.id]


@one_per_way
def test_the_next_job_of_a_chain_is_enqueued_where_this_one_ends(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("first")
    [claim] = oq.claim()
    for end, expected in (("rollback", []), ("commit", ["second"])):
        with kind.open(own_place) as own:
            own.settle_in(claim, tenure.Done())
            oq.using(own.connection).enqueue("second", parent=claim.id)
            getattr(own, end)()
        assert [c.kind for c in oq.claim(5)] == expected


@one_per_way
def test_a_groups_next_job_is_ready_once_the_head_ended_inside(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("k", group="g")
    second = oq.enqueue("k", group="g")
    [head] = oq.claim(5)
    with kind.open(own_place) as own:
        own.settle_in(head, tenure.Done())
        own.rollback()
    assert oq.claim(5) == []
    with kind.open(own_place) as own:
        own.settle_in(head, tenure.Done())
        own.commit()
    assert [c.id for c in oq.claim(5)] == [second.id]


@one_per_way
def test_a_unique_slot_frees_with_the_commit_that_ends_its_job(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("k", unique="a")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.settle_in(claim, tenure.Done())
        assert oq.using(own.connection).enqueue("k", unique="a").inserted
        own.rollback()
    assert oq.enqueue("k", unique="a") == tenure.Enqueued(claim.id, inserted=False)
    with kind.open(own_place) as own:
        own.settle_in(claim, tenure.Done())
        own.commit()
    assert oq.enqueue("k", unique="a").inserted


@one_per_way
def test_a_bad_outcome_is_refused_and_the_transaction_goes_on(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.execute(effect(claim))
        with pytest.raises(tenure.PayloadError, match="result"):
            own.settle_in(claim, tenure.Done(object()))
        own.settle_in(claim, tenure.Done())
        own.commit()
    assert state(oq, claim) == "done"
    assert effects(own_place) == [claim.id]


@one_per_way
def test_a_connection_that_cannot_carry_it_leaves_nothing_said_of_the_claim(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue("k")
    [claim] = oq.claim()
    with kind.open(own_place) as own:
        own.close()
        with pytest.raises(tenure.UsageError, match="closed"):
            own.settle_in(claim, tenure.Done())
        assert claim.settled_as is None
    with kind.open(own_place) as own:
        own.settle_in(claim, tenure.Release())
        assert not claim.unawaited
        assert claim.settled_as == tenure.Release()


ROW_LOCKS = ("psycopg", "psycopg-async", "asyncpg", "psycopg-Session", "asyncpg-AsyncSession")


@each(*ROW_LOCKS)
def test_a_transaction_held_past_the_lease_costs_no_neighbour_its_claim(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock
) -> None:
    oq.enqueue_many([tenure.NewJob(kind="k") for _ in range(3)])
    held, neighbour = oq.claim(2)
    with kind.open(own_place) as own:
        own.settle_in(held, tenure.Done())
        clock.advance("25s")
        renewed = meanwhile(lambda: oq.renew([held, neighbour]))
        assert (renewed.kept, renewed.lost) == ({held.id, neighbour.id}, frozenset())
        clock.advance("20s")
        assert meanwhile(lambda: oq.reclaim()) == 0
        assert [c.id not in (held.id, neighbour.id) for c in meanwhile(lambda: oq.claim(5))] == [True]
        own.commit()
    assert state(oq, held) == "done"
    assert oq.settle(neighbour, tenure.Done())


@each(*ROW_LOCKS)
def test_a_job_whose_row_is_held_is_passed_over_when_its_worker_is_said_to_have_vanished(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    oq.enqueue_many([tenure.NewJob(kind="k") for _ in range(3)])
    held, *others = oq.claim(3, worker="w")
    with kind.open(own_place) as own:
        own.settle_in(held, tenure.Done())
        assert meanwhile(lambda: oq.vanished("w", started=[(held.id, held.epoch)])) == 2
        own.commit()
    assert [state(oq, c) for c in (held, *others)] == ["done", "ready", "ready"]


@each(*ROW_LOCKS)
def test_a_job_whose_row_is_held_is_taken_back_only_after_the_transaction_rolled_back(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock
) -> None:
    oq.enqueue("k")
    [held] = oq.claim()
    with kind.open(own_place) as own:
        own.settle_in(held, tenure.Fail("oops"))
        clock.advance("1h")
        assert meanwhile(lambda: oq.claim(5)) == []
        assert meanwhile(lambda: oq.promote()) == 0
        own.rollback()
    [taken] = oq.claim(5)
    assert (taken.id, taken.epoch > held.epoch) == (held.id, True)


@each(*ROW_LOCKS)
def test_an_overdue_neighbour_is_taken_back_while_a_row_is_held(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock
) -> None:
    oq.enqueue_many([tenure.NewJob(kind="k") for _ in range(3)])
    held, *overdue = oq.claim(3)
    with kind.open(own_place) as own:
        own.settle_in(held, tenure.Done())
        clock.advance("31s")
        taken = meanwhile(lambda: oq.claim(5))
        own.commit()
    assert {c.id for c in taken} == {c.id for c in overdue}
    assert state(oq, held) == "done"


@each("sqlite3", "aiosqlite", "pysqlite-Session", "aiosqlite-AsyncSession")
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_where_writers_wait_everything_is_right_once_the_transaction_ended(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock, end: str
) -> None:
    oq.enqueue_many([tenure.NewJob(kind="k") for _ in range(2)])
    held, neighbour = oq.claim(2)
    answers: list[tenure.Renewed] = []
    thread = threading.Thread(target=lambda: answers.append(oq.renew([held, neighbour])))
    with kind.open(own_place) as own:
        own.settle_in(held, tenure.Done())
        clock.advance("25s")
        thread.start()
        assert oq.get(neighbour.id).state == "running"  # type: ignore[union-attr]
        getattr(own, end)()
    thread.join(30)
    assert not thread.is_alive()
    ended = end == "commit"
    assert answers[0].kept == ({neighbour.id} if ended else {held.id, neighbour.id})
    clock.advance("20s")
    assert oq.reclaim() == 0
    assert oq.settle(neighbour, tenure.Done())
    assert state(oq, held) == ("done" if ended else "running")


@each("sqlite3", "aiosqlite", "pysqlite-Session", "aiosqlite-AsyncSession")
@pytest.mark.parametrize("first", ["renew", "claim"])
def test_where_writers_wait_past_the_lease_a_neighbour_keeps_its_claim_if_its_worker_comes_first(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock, first: str
) -> None:
    """A known limit: nobody can renew meanwhile. Who comes too late is told so, and settles nothing."""
    oq.enqueue_many([tenure.NewJob(kind="k") for _ in range(2)])
    held, neighbour = oq.claim(2)
    with kind.open(own_place) as own:
        own.settle_in(held, tenure.Done())
        clock.advance("35s")
        own.commit()
    assert state(oq, held) == "done"
    if first == "renew":
        assert oq.renew([neighbour]).kept == {neighbour.id}
        assert own_place.open(clock=clock).claim(5) == []
        assert oq.settle(neighbour, tenure.Done())
    else:
        [taken] = own_place.open(clock=clock).claim(5)
        assert taken.id == neighbour.id
        assert oq.renew([neighbour]).lost == {neighbour.id}
        assert oq.settle(neighbour, tenure.Done()) is False
        assert oq.settle(taken, tenure.Done())
        assert oq.get(neighbour.id).crashes == 0  # type: ignore[union-attr]


@one_per_way
@pytest.mark.parametrize("seed", [1, 2])
def test_each_jobs_effect_is_there_exactly_once_whatever_was_rolled_back_or_expired(
    own_place: Place, kind: Kind, oq: tenure.Queue, clock: MovedClock, seed: int
) -> None:
    chance = random.Random(seed)
    jobs = {answer.id for answer in oq.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(50)])}
    workers = {name: list[tenure.Claim]() for name in ("one", "two", "three", "four")}
    lost = rolled_back = 0
    for _ in range(2_000):
        if not any(workers.values()) and oq.counts()["default"]["done"] == len(jobs):
            break
        name = chance.choice(list(workers))
        mine = workers[name]
        if not mine:
            for worker in workers:
                oq.beat(worker)
            mine += oq.claim(chance.randint(1, 3), worker=name)
            continue
        claim = mine.pop()
        if chance.random() < 0.15:
            clock.advance("31s")
            continue
        with kind.open(own_place) as own:
            own.execute(effect(claim))
            try:
                own.settle_in(claim, tenure.Done())
            except tenure.ClaimLost:
                lost += 1
                own.rollback()
                continue
            if chance.random() < 0.3:
                own.rollback()
                rolled_back += 1
                mine.append(claim)
            else:
                own.commit()
    assert lost > 0
    assert rolled_back > 0
    assert oq.counts()["default"] == {**dict.fromkeys(oq.counts()["default"], 0), "done": 50}
    assert effects(own_place) == sorted(jobs)


@one_per_way
def test_workers_side_by_side_write_each_jobs_effect_exactly_once(
    own_place: Place, kind: Kind, oq: tenure.Queue
) -> None:
    jobs = {answer.id for answer in oq.enqueue_many([tenure.NewJob(kind="k") for _ in range(50)])}

    def work(name: str, seed: int) -> None:
        chance = random.Random(seed)
        with kind.open(own_place) as own:
            while claims := oq.claim(3, worker=name):
                for claim in claims:
                    again = True
                    while again:
                        own.execute(effect(claim))
                        own.settle_in(claim, tenure.Done())
                        again = chance.random() < 0.3
                        (own.rollback if again else own.commit)()

    threads = [threading.Thread(target=work, args=(f"w{n}", n), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert effects(own_place) == sorted(jobs)
    assert oq.counts()["default"]["done"] == 50
