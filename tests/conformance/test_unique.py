"""Unique keys: at most one job in flight, or in a period; who comes second is told the first one's id."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

import tenure
from tests.support.claiming import at_once, wait_until_blocked
from tests.support.clock import MovedClock
from tests.support.places import Place

IN_FLIGHT: dict[str, Any] = {"unique": "order 7"}
IN_PERIOD: dict[str, Any] = {"unique": "order 7", "unique_for": "1h"}
SCOPES = [pytest.param(IN_FLIGHT, id="in flight"), pytest.param(IN_PERIOD, id="for a period")]
THREADS = 8


def end(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    """Claim the one job there is, and settle it."""
    [claim] = q.claim()
    assert q.settle(claim, outcome)


def jobs_and_periods(place: Place) -> tuple[int, int]:
    """How many jobs are stored that have not finished, and how many periods."""
    unfinished = "" if place.store == "postgres" else "WHERE finished_at IS NULL"
    [(jobs,)] = place.sql(f"SELECT count(*) FROM tenure.jobs {unfinished}")
    [(periods,)] = place.sql("SELECT count(*) FROM tenure.ledger")
    return jobs, periods


@pytest.mark.parametrize("scope", SCOPES)
def test_a_duplicate_is_answered_with_the_first_jobs_id(q: tenure.Queue, scope: dict[str, Any]) -> None:
    first = q.enqueue("k", **scope)
    assert first.inserted
    assert q.enqueue("k", **scope) == tenure.Enqueued(first.id, inserted=False)
    assert [job.id for job in q.list()] == [first.id]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_duplicate_leaves_the_existing_row_untouched(
    cq: tenure.Queue, clock: MovedClock, scope: dict[str, Any]
) -> None:
    first = cq.enqueue("k", "first", **scope)
    before = cq.get(first.id)
    clock.advance("1m")
    cq.enqueue(
        "k", "second", queue="other", priority=9, delay="1h", max_attempts=1, expires_in="1s", group="g", tags=["t"],
        request=tenure.Request(b"second", {}), **scope,
    )  # fmt: skip
    assert (cq.get(first.id), cq.request(first.id), len(cq.list())) == (before, None, 1)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_belongs_to_its_kind(q: tenure.Queue, scope: dict[str, Any]) -> None:
    assert [q.enqueue(kind, **scope).inserted for kind in ("a", "b", "a")] == [True, True, False]


def test_a_kind_and_a_key_are_not_run_together(q: tenure.Queue) -> None:
    pairs = [("a", "b:c"), ("a:b", "c"), ("ab", "c"), ("a", "bc"), ("1:a", "b"), ("1", ":ab")]
    assert [q.enqueue(kind, unique=key).inserted for kind, key in pairs] == [True] * len(pairs)


def test_a_key_is_the_same_in_every_queue(q: tenure.Queue) -> None:
    first = q.enqueue("k", queue="one", unique="u")
    assert q.enqueue("k", queue="two", unique="u") == tenure.Enqueued(first.id, inserted=False)


def test_jobs_without_a_key_are_never_duplicates(q: tenure.Queue) -> None:
    assert [q.enqueue("k", "same").inserted for _ in range(3)] == [True] * 3


def test_keys_that_look_alike_are_different(q: tenure.Queue) -> None:
    keys = ["a", "A", "a ", " a", "á", "a\u0301", "a\n", "0", "00"]
    assert [q.enqueue("k", unique=key).inserted for key in keys] == [True] * len(keys)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_long_key_counts_to_its_last_character(q: tenure.Queue, scope: dict[str, Any]) -> None:
    keys = [("ключ" * 2_048)[:-1] + last for last in "xyx"]
    answers = [q.enqueue("k", **{**scope, "unique": key}) for key in keys]
    assert [a.inserted for a in answers] == [True, True, False]
    job = q.get(answers[0].id)
    assert job is not None
    assert (answers[2].id, job.unique) == (answers[0].id, keys[0])


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(lambda q: q.claim(), id="running"),
        pytest.param(lambda q: end(q, tenure.Fail("e")), id="waiting for its retry"),
        pytest.param(lambda q: end(q, tenure.Fail("e", retry_in=0)), id="ready for its retry"),
        pytest.param(lambda q: end(q, tenure.Snooze("1h")), id="snoozed"),
        pytest.param(lambda q: end(q, tenure.Release()), id="released"),
    ],
)
def test_the_slot_is_held_as_long_as_the_job_is_in_flight(
    q: tenure.Queue, held: Callable[[tenure.Queue], object]
) -> None:
    first = q.enqueue("k", unique="u")
    held(q)
    assert q.enqueue("k", unique="u") == tenure.Enqueued(first.id, inserted=False)


@pytest.mark.parametrize("options", [{"delay": "1h"}, {"group": "g"}], ids=["scheduled", "waiting"])
def test_the_slot_is_held_by_a_job_that_is_not_due_yet(q: tenure.Queue, options: dict[str, Any]) -> None:
    q.enqueue("head", group="g")
    first = q.enqueue("k", unique="u", **options)
    assert q.enqueue("k", unique="u") == tenure.Enqueued(first.id, inserted=False)


def test_the_slot_is_held_through_a_reclaim(cq: tenure.Queue, clock: MovedClock) -> None:
    first = cq.enqueue("k", unique="u")
    cq.claim(lease="30s")
    clock.advance("31s")
    assert cq.reclaim() == 1
    assert cq.enqueue("k", unique="u") == tenure.Enqueued(first.id, inserted=False)


@pytest.mark.parametrize(
    ("ends", "state"),
    [
        pytest.param(lambda q, _: end(q, tenure.Done()), "done", id="done"),
        pytest.param(lambda q, _: end(q, tenure.Fail("e")), "dead", id="failed for the last time"),
        pytest.param(lambda q, _: end(q, tenure.Bury()), "dead", id="buried"),
        pytest.param(lambda q, _: end(q, tenure.Cancelled()), "cancelled", id="cancelled while running"),
        pytest.param(lambda q, i: q.cancel(i), "cancelled", id="cancelled before it ran"),
    ],
)
def test_the_slot_frees_when_the_job_ends(
    q: tenure.Queue, ends: Callable[[tenure.Queue, str], object], state: str
) -> None:
    first = q.enqueue("k", unique="u", max_attempts=1)
    ends(q, first.id)
    second = q.enqueue("k", unique="u")
    assert (second.inserted, second.id != first.id) == (True, True)
    job = q.get(first.id)
    assert job is not None
    assert job.state == state


def test_the_slot_frees_when_the_job_expires(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k", unique="u", expires_in="1m")
    clock.advance("2m")
    cq.expire()
    assert cq.enqueue("k", unique="u").inserted


def test_the_slot_frees_when_the_job_dies_of_its_crashes(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k", unique="u")
    cq.claim(lease="30s")
    clock.advance("5m")
    assert cq.reclaim(max_crashes=1) == 1
    assert cq.enqueue("k", unique="u").inserted


@pytest.mark.parametrize("outcome", [tenure.Done(), tenure.Bury(), tenure.Cancelled()])
def test_a_period_outlives_its_job(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    first = q.enqueue("k", **IN_PERIOD)
    end(q, outcome)
    assert q.enqueue("k", **IN_PERIOD) == tenure.Enqueued(first.id, inserted=False)


def test_a_period_outlives_the_row_of_its_job(q: tenure.Queue) -> None:
    first = q.enqueue("k", **IN_PERIOD)
    end(q, tenure.Done())
    assert q.purge(tenure.Filter(ids=[first.id])) == 1
    assert q.get(first.id) is None
    assert q.enqueue("k", **IN_PERIOD) == tenure.Enqueued(first.id, inserted=False)
    assert q.counts() == {}


def test_a_period_runs_from_the_first_enqueue_however_often_it_is_asked_for(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue("k", **IN_PERIOD)
    clock.advance("30m")
    assert not cq.enqueue("k", **IN_PERIOD).inserted
    clock.advance("30m")
    assert cq.enqueue("k", **IN_PERIOD).inserted


def test_a_period_holds_to_its_last_moment(cq: tenure.Queue, clock: MovedClock) -> None:
    first = cq.enqueue("k", **IN_PERIOD)
    clock.advance(timedelta(hours=1) - timedelta(microseconds=1))
    assert cq.enqueue("k", **IN_PERIOD) == tenure.Enqueued(first.id, inserted=False)


def test_a_new_period_starts_with_the_enqueue_after_the_last(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue("k", **IN_PERIOD)
    clock.advance("90m")
    second = cq.enqueue("k", **IN_PERIOD)
    clock.advance("59m")
    assert cq.enqueue("k", **IN_PERIOD) == tenure.Enqueued(second.id, inserted=False)
    clock.advance("1m")
    assert cq.enqueue("k", **IN_PERIOD).inserted


def test_a_period_that_is_over_does_not_wait_for_its_job_to_end(cq: tenure.Queue, clock: MovedClock) -> None:
    first = cq.enqueue("k", delay="1d", **IN_PERIOD)
    clock.advance("1h")
    second = cq.enqueue("k", **IN_PERIOD)
    assert [(job.id, job.state) for job in cq.list()] == [(second.id, "ready"), (first.id, "scheduled")]


def test_retain_forgets_periods_that_are_over(cq: tenure.Queue, clock: MovedClock, place: Place) -> None:
    cq.enqueue("k", **IN_PERIOD)
    cq.enqueue("k", unique="other", unique_for="2h")
    clock.advance("1h")
    cq.retain()
    assert jobs_and_periods(place) == (2, 1)
    assert not cq.enqueue("k", unique="other", unique_for="2h").inserted


def test_retain_keeps_a_period_whose_job_it_deletes(cq: tenure.Queue, clock: MovedClock) -> None:
    first = cq.enqueue("k", **IN_PERIOD)
    end(cq, tenure.Done())
    clock.advance("30m")
    assert cq.retain(done="1m") == 1
    assert cq.enqueue("k", **IN_PERIOD) == tenure.Enqueued(first.id, inserted=False)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_bulk_answers_each_row_by_its_own_key(q: tenure.Queue, scope: dict[str, Any]) -> None:
    there = q.enqueue("k", **scope)
    answers = q.enqueue_many([
        tenure.NewJob(kind="k"),
        tenure.NewJob(kind="k", **scope),
        tenure.NewJob(kind="other", **scope),
        tenure.NewJob(kind="k", **{**scope, "unique": "another"}),
    ])  # fmt: skip
    assert [a.inserted for a in answers] == [True, False, True, True]
    assert answers[1].id == there.id
    assert {job.id for job in q.list()} == {there.id, *(a.id for a in answers)}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("count", [2, 200])
def test_the_first_of_a_key_in_one_bulk_wins(q: tenure.Queue, scope: dict[str, Any], count: int) -> None:
    jobs = [
        tenure.NewJob(kind="k", payload=(turn, key), **{**scope, "unique": f"key {key}"})
        for turn in range(2)
        for key in range(count)
    ]
    answers = q.enqueue_many(jobs)
    assert [a.inserted for a in answers] == [True] * count + [False] * count
    assert [a.id for a in answers[:count]] == [a.id for a in answers[count:]]
    assert sorted(job.payload for job in q.list(limit=1_000)) == [[0, key] for key in range(count)]


def test_a_bulk_may_mix_both_scopes(q: tenure.Queue) -> None:
    jobs = [
        tenure.NewJob(kind="flight", **IN_FLIGHT),
        tenure.NewJob(kind="period", **IN_PERIOD),
        tenure.NewJob(kind="free"),
    ]
    assert [a.inserted for a in q.enqueue_many(jobs * 2)] == [True, True, True, False, False, True]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_duplicate_in_a_bulk_keeps_no_request(q: tenure.Queue, scope: dict[str, Any]) -> None:
    first, again = q.enqueue_many([
        tenure.NewJob(kind="k", request=tenure.Request(b"first", {}), **scope),
        tenure.NewJob(kind="k", request=tenure.Request(b"again", {}), **scope),
    ])  # fmt: skip
    assert (again.id, q.request(first.id)) == (first.id, tenure.Request(b"first", {}))


@pytest.mark.parametrize("scope", SCOPES)
def test_a_bulk_that_is_refused_takes_no_slot(q: tenure.Queue, scope: dict[str, Any]) -> None:
    with pytest.raises(tenure.FieldError):
        q.enqueue_many([tenure.NewJob(kind="k", **scope), tenure.NewJob(kind="")])
    assert q.enqueue("k", **scope).inserted


@pytest.mark.parametrize("scope", SCOPES)
def test_an_enqueue_asked_again_under_its_id_is_told_the_same_id(
    q: tenure.Queue, scope: dict[str, Any]
) -> None:
    mine = tenure.JobId(str(uuid4()))
    answers = [q.enqueue("k", id=mine, **scope) for _ in range(2)]
    assert answers == [tenure.Enqueued(mine, inserted=True), tenure.Enqueued(mine, inserted=False)]
    assert len(q.list()) == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_of_many_who_race_for_a_key_one_inserts_and_all_are_told_its_id(
    place: Place, scope: dict[str, Any]
) -> None:
    queues = [place.open() for _ in range(THREADS)]
    for turn in range(5):
        own = {**scope, "unique": f"turn {turn}"}
        answers = at_once([partial(q.enqueue, "k", **own) for q in queues])
        assert sorted(a.inserted for a in answers) == [False] * (THREADS - 1) + [True]
        assert len({a.id for a in answers}) == 1
    assert len(queues[0].list()) == 5


@pytest.mark.parametrize("scope", SCOPES)
def test_threads_that_share_a_queue_race_for_a_key_as_others_do(
    q: tenure.Queue, scope: dict[str, Any]
) -> None:
    answers = at_once([partial(q.enqueue, "k", **scope)] * THREADS)
    assert sorted(a.inserted for a in answers) == [False] * (THREADS - 1) + [True]
    assert {a.id for a in answers} == {job.id for job in q.list()}


@pytest.mark.parametrize("scope", SCOPES)
def test_bulks_that_race_for_the_same_keys_share_them_out(place: Place, scope: dict[str, Any]) -> None:
    keys = [f"key {n}" for n in range(60)]
    jobs = [tenure.NewJob(kind="k", **{**scope, "unique": key}) for key in keys]
    ways = [jobs, jobs[::-1], jobs[30:] + jobs[:30], jobs]
    answers = at_once([partial(place.open().enqueue_many, way) for way in ways])
    told = [
        {job.unique: answer for job, answer in zip(way, answer, strict=True)}
        for way, answer in zip(ways, answers, strict=True)
    ]
    assert [len({by[key].id for by in told}) for key in keys] == [1] * len(keys)
    assert [sum(by[key].inserted for by in told) for key in keys] == [1] * len(keys)
    assert jobs_and_periods(place)[0] == len(keys)


@pytest.mark.parametrize("scope", SCOPES)
def test_transactions_that_take_the_same_keys_the_other_way_round_do_not_block_each_other_for_ever(
    own_place: Place, scope: dict[str, Any]
) -> None:
    def take(keys: list[str]) -> list[bool]:
        jobs = [tenure.NewJob(kind="k", **{**scope, "unique": key}) for key in keys]
        with own_place.transaction() as tx:
            return [answer.inserted for answer in tx.queue.enqueue_many(jobs)]

    for n in range(8):  # who of the two goes on first is chance
        one, other = f"one {n}", f"other {n}"
        with ThreadPoolExecutor(2) as pool:
            with pytest.raises(LookupError), own_place.transaction() as tx:
                tx.queue.enqueue("k", **{**scope, "unique": one})
                takes = [pool.submit(take, [one, other]), pool.submit(take, [other, one])]
                for waiting in takes:
                    wait_until_blocked(own_place, waiting)
                raise LookupError
            first, second = (waiting.result(30) for waiting in takes)
        assert sorted([*first, *second]) == [False, False, True, True]


@pytest.mark.parametrize("scope", SCOPES)
def test_who_waits_for_a_winner_that_rolls_back_inserts(own_place: Place, scope: dict[str, Any]) -> None:
    loser = own_place.open()
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(LookupError), own_place.transaction() as tx:
            winner = tx.queue.enqueue("k", "winner", **scope)
            waiting = pool.submit(loser.enqueue, "k", "loser", **scope)
            wait_until_blocked(own_place, waiting)
            raise LookupError
        answer = waiting.result(60)
    assert (winner.inserted, answer.inserted) == (True, True)
    assert [(job.id, job.payload) for job in loser.list()] == [(answer.id, "loser")]


@pytest.mark.parametrize("scope", SCOPES)
def test_who_waits_for_a_winner_that_commits_is_told_its_id(own_place: Place, scope: dict[str, Any]) -> None:
    loser = own_place.open()
    with ThreadPoolExecutor(1) as pool:
        with own_place.transaction() as tx:
            winner = tx.queue.enqueue("k", "winner", **scope)
            waiting = pool.submit(loser.enqueue, "k", "loser", **scope)
            wait_until_blocked(own_place, waiting)
        answer = waiting.result(60)
    assert answer == tenure.Enqueued(winner.id, inserted=False)
    assert [job.payload for job in loser.list()] == ["winner"]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_bulk_that_waits_for_a_winner_that_rolls_back_inserts(
    own_place: Place, scope: dict[str, Any]
) -> None:
    loser = own_place.open()
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(LookupError), own_place.transaction() as tx:
            tx.queue.enqueue("k", **scope)
            waiting = pool.submit(
                loser.enqueue_many, [tenure.NewJob(kind="k", **scope), tenure.NewJob(kind="k")]
            )
            wait_until_blocked(own_place, waiting)
            raise LookupError
        answers = waiting.result(60)
    assert [a.inserted for a in answers] == [True, True]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_slot_taken_in_a_transaction_is_given_back_with_it(own_place: Place, scope: dict[str, Any]) -> None:
    with pytest.raises(LookupError), own_place.transaction() as tx:
        assert tx.queue.enqueue("k", **scope).inserted
        assert not tx.queue.enqueue("k", **scope).inserted
        raise LookupError
    assert jobs_and_periods(own_place) == (0, 0)
    assert own_place.open().enqueue("k", **scope).inserted


def test_a_slot_freed_in_a_transaction_is_free_when_it_commits(own_place: Place) -> None:
    q = own_place.open()
    q.enqueue("k", unique="u")
    [claim] = q.claim()
    with own_place.transaction() as tx:
        tx.settle_in(claim, tenure.Done())
        second = tx.queue.enqueue("k", unique="u")
    assert second.inserted
    assert q.enqueue("k", unique="u") == tenure.Enqueued(second.id, inserted=False)


@pytest.mark.parametrize("outcome", [tenure.Done("r"), tenure.Bury("why", "error"), tenure.Cancelled("why")])
def test_a_replay_whose_slot_was_taken_answers_conflict_and_changes_nothing(
    q: tenure.Queue, outcome: tenure.Outcome
) -> None:
    first = q.enqueue("k", "first", unique="u")
    end(q, outcome)
    second = q.enqueue("k", "second", unique="u")
    before = [q.get(first.id), q.get(second.id), q.history(first.id)]
    assert q.replay(first.id) == tenure.Replayed.CONFLICT
    assert [q.get(first.id), q.get(second.id), q.history(first.id)] == before


def test_a_replayed_job_holds_its_slot_again(q: tenure.Queue) -> None:
    first = q.enqueue("k", unique="u")
    end(q, tenure.Bury())
    assert q.replay(first.id) == tenure.Replayed.REPLAYED
    assert q.enqueue("k", unique="u") == tenure.Enqueued(first.id, inserted=False)


def test_a_replay_that_met_a_conflict_works_once_the_slot_is_free(q: tenure.Queue) -> None:
    first = q.enqueue("k", unique="u")
    end(q, tenure.Bury())
    second = q.enqueue("k", unique="u")
    assert q.replay(first.id) == tenure.Replayed.CONFLICT
    q.cancel(second.id)
    assert q.replay(first.id) == tenure.Replayed.REPLAYED


def test_a_bulk_replay_counts_conflicts_and_replays_the_others(q: tenure.Queue) -> None:
    dead = []
    for options in ({"unique": "taken"}, {"unique": "shared"}, {"unique": "shared"}, {}):
        dead.append(q.enqueue("k", **options).id)  # type: ignore[arg-type]
        end(q, tenure.Bury())
    q.enqueue("k", unique="taken")
    answer = q.replay_many(tenure.Filter(states=["dead"]))
    assert (answer.changed, answer.conflicts, answer.after) == (2, 2, None)
    states = {job.id: job.state for job in q.list()}
    assert [states[i] for i in dead] == ["dead", "ready", "dead", "ready"]


@pytest.mark.parametrize("scope", SCOPES)
def test_who_holds_a_key_is_told_and_nothing_is_stored(q: tenure.Queue, scope: dict[str, Any]) -> None:
    job = tenure.NewJob(kind="ship", payload={}, **scope)
    assert q.holder(job) is None
    assert q.list() == []
    first = q.enqueue_job(job)
    assert q.holder(job) == first.id
    assert q.holder(tenure.NewJob(kind="bill", payload={}, **scope)) is None
    assert q.holder(tenure.NewJob(kind="ship", payload={})) is None


def test_a_key_in_flight_is_held_until_its_job_has_ended(q: tenure.Queue) -> None:
    job = tenure.NewJob(kind="ship", payload={}, **IN_FLIGHT)
    q.enqueue_job(job)
    end(q, tenure.Done())
    assert q.holder(job) is None


def test_a_key_is_held_for_its_period_alone(cq: tenure.Queue, clock: MovedClock) -> None:
    job = tenure.NewJob(kind="ship", payload={}, **IN_PERIOD)
    first = cq.enqueue_job(job)
    end(cq, tenure.Done())
    assert cq.holder(job) == first.id
    clock.advance("1h")
    assert cq.holder(job) is None


def test_who_asks_for_a_holder_names_a_job(q: tenure.Queue) -> None:
    wrong: Any = "order 7"
    with pytest.raises(tenure.FieldTypeError, match="must be a NewJob"):
        q.holder(wrong)
