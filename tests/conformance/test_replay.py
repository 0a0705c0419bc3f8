"""replay: finished jobs start anew."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import tenure
from tests.support.clock import MovedClock
from tests.support.states import STATES, drain, job_in, look, take

FINISHED = ["done", "dead", "cancelled"]


@pytest.mark.parametrize("state", FINISHED)
def test_a_finished_job_is_ready_again_under_the_same_id(q: tenure.Queue, state: str) -> None:
    job_id = job_in(q, state)
    assert q.replay(job_id) == "replayed"
    assert look(q, job_id).state == "ready"
    assert drain(q) == [job_id]


@pytest.mark.parametrize("state", FINISHED)
def test_the_epoch_is_never_lowered_by_a_replay(q: tenure.Queue, state: str) -> None:
    job_id = job_in(q, state)
    before = look(q, job_id).epoch
    q.replay(job_id)
    assert look(q, job_id).epoch == before
    assert take(q, job_id).epoch == before + 1


def test_a_replay_starts_attempts_crashes_expiry_and_all_that_was_told_from_zero(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    job_id = cq.enqueue("k", expires_in="1h", max_attempts=1).id
    take(cq, job_id)
    clock.advance("31s")
    claim = take(cq, job_id)
    cq.progress(claim, 0.5, "half way")
    cq.settle(claim, tenure.Fail("broken"))
    before = look(cq, job_id)
    assert (before.state, before.attempt, before.crashes, before.progress, before.error) == (
        "dead",
        1,
        1,
        0.5,
        "broken",
    )
    clock.advance("2h")
    assert cq.replay(job_id) == "replayed"
    after = look(cq, job_id)
    assert (after.state, after.attempt, after.crashes, after.expires_at, after.run_at) == (
        "ready",
        0,
        0,
        None,
        clock.now,
    )
    assert (after.error, after.reason, after.result, after.progress, after.progress_note) == (None,) * 5
    assert (after.started_at, after.finished_at, after.lease_until, after.cancel_asked_at) == (None,) * 4
    assert [c.id for c in cq.claim()] == [job_id]


def test_a_replay_of_a_done_job_drops_its_result(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    q.settle(take(q, job_id), tenure.Done({"sum": 42}))
    assert look(q, job_id).result == {"sum": 42}
    q.replay(job_id)
    assert look(q, job_id).result is None


def test_a_replayed_job_has_all_its_attempts_again(cq: tenure.Queue, clock: MovedClock) -> None:
    job_id = cq.enqueue("k", max_attempts=2).id
    for _ in range(2):
        cq.settle(take(cq, job_id), tenure.Fail(retry_in="1m"))
        clock.advance("1m")
    cq.replay(job_id)
    cq.settle(take(cq, job_id), tenure.Fail(retry_in="1m"))
    assert look(cq, job_id).state == "scheduled"


def test_a_replayed_job_that_was_asked_to_cancel_is_not_asked_any_more(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    claim = take(q, job_id)
    q.cancel(job_id)
    q.settle(claim, tenure.Cancelled())
    q.replay(job_id)
    assert q.renew([take(q, job_id)]).cancelling == frozenset()


def test_a_replay_keeps_the_history(q: tenure.Queue) -> None:
    job_id = q.enqueue("k", max_attempts=1).id
    q.settle(take(q, job_id), tenure.Fail("first life"))
    q.replay(job_id)
    q.settle(take(q, job_id), tenure.Fail("second life"))
    assert [(row.attempt, row.message) for row in q.history(job_id)] == [
        (1, "first life"),
        (1, "second life"),
    ]


def test_a_replay_keeps_payload_options_and_request(q: tenure.Queue) -> None:
    parent, request = q.enqueue("parent", queue="other").id, tenure.Request(b"\x00body", {"x": "y"})
    job_id = q.enqueue(
        "k", {"a": [1, "ü"]}, queue="mail", priority=7, max_attempts=3, unique="u", group="g", group_limit=2,
        order="start", timeout="90s", tags=["red"], meta={"trace": "t1"}, parent=parent, flow="f", tenant="acme",
        request=request,
    ).id  # fmt: skip
    new = look(q, job_id)
    q.settle(take(q, job_id), tenure.Done())
    q.replay(job_id)
    again = look(q, job_id)
    assert again == replace(new, epoch=again.epoch, run_at=again.run_at, outcome=again.outcome)
    assert q.request(job_id) == request


def test_a_claim_from_before_the_replay_changes_nothing(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    old = take(q, job_id)
    q.settle(old, tenure.Done())
    q.replay(job_id)
    assert not q.settle(old, tenure.Bury())
    new = take(q, job_id)
    assert not q.settle(old, tenure.Fail("late"))
    assert (look(q, job_id).state, look(q, job_id).epoch) == ("running", new.epoch)


def test_a_done_job_can_be_replayed_again_and_again(q: tenure.Queue) -> None:
    job_id = q.enqueue("k").id
    for _ in range(3):
        assert drain(q) == [job_id]
        assert q.replay(job_id) == "replayed"
    assert (look(q, job_id).epoch, look(q, job_id).attempt) == (3, 0)


@pytest.mark.parametrize("state", [s for s in STATES if s not in FINISHED])
def test_an_unfinished_job_is_not_replayed_and_not_changed(q: tenure.Queue, state: str) -> None:
    job_id = job_in(q, state)
    before = look(q, job_id)
    assert q.replay(job_id) == "not_finished"
    assert look(q, job_id) == before


def test_an_unknown_job_is_answered_unknown(q: tenure.Queue) -> None:
    assert q.replay("01900000-0000-7000-8000-000000000000") == "unknown"


def test_a_taken_unique_slot_is_a_conflict_and_changes_nothing(q: tenure.Queue) -> None:
    first = job_in(q, "dead", unique="u")
    second = q.enqueue("k", unique="u")
    assert second.inserted
    before, holder = look(q, first), look(q, second.id)
    assert q.replay(first) == "conflict"
    assert (look(q, first), look(q, second.id)) == (before, holder)


def test_a_replayed_job_takes_its_unique_slot_again(q: tenure.Queue) -> None:
    first = job_in(q, "dead", unique="u")
    q.replay(first)
    assert q.enqueue("k", unique="u") == tenure.Enqueued(first, inserted=False)


def test_a_conflict_is_gone_when_the_slot_is_free(q: tenure.Queue) -> None:
    first = job_in(q, "dead", unique="u")
    second = q.enqueue("k", unique="u").id
    assert q.replay(first) == "conflict"
    assert drain(q) == [second]
    assert q.replay(first) == "replayed"


def test_replay_many_replays_what_matches_and_nothing_else(q: tenure.Queue) -> None:
    mine = {job_in(q, "dead", "a"), job_in(q, "dead", "b")}
    for state in ("done", "cancelled"):
        job_in(q, state, "a")
    job_in(q, "dead", "c")
    assert q.replay_many(tenure.Filter(states=["dead"], kinds=["a", "b"])) == tenure.Bulk(2, 0, None)
    assert {job.id for job in q.list(tenure.Filter(states=["ready"]))} == mine


def test_replay_many_leaves_unfinished_jobs_alone(q: tenure.Queue) -> None:
    job_id = job_in(q, "running")
    before = look(q, job_id)
    assert q.replay_many(tenure.Filter(ids=[job_id])) == tenure.Bulk(0, 0, None)
    assert look(q, job_id) == before


def test_replay_many_goes_on_after_its_limit_until_nothing_is_left(q: tenure.Queue) -> None:
    made = [job_in(q, "dead", f"k{n}") for n in range(4)]
    which = tenure.Filter(states=["dead"])
    first = q.replay_many(which, limit=2)
    assert first == tenure.Bulk(2, 0, made[1])
    assert {job.id for job in q.list(which)} == set(made[2:])
    second = q.replay_many(which, limit=2, after=first.after)
    assert second == tenure.Bulk(2, 0, made[3])
    assert q.replay_many(which, limit=2, after=second.after) == tenure.Bulk(0, 0, None)


def test_replay_many_replays_a_job_that_ends_again_meanwhile_only_once(q: tenure.Queue) -> None:
    made = [job_in(q, "done", f"k{n}") for n in range(5)]
    replayed, after = 0, None
    for _ in range(len(made)):
        bulk = q.replay_many(tenure.Filter(), limit=2, after=after)
        replayed, after = replayed + bulk.changed, bulk.after
        drain(q)
        if after is None:
            break
    assert (replayed, after) == (5, None)
    assert [look(q, job_id).epoch for job_id in made] == [2] * 5


def test_replay_many_counts_conflicts_and_goes_on_past_them(q: tenure.Queue) -> None:
    stuck = [job_in(q, "dead", unique=f"u{n}") for n in range(2)]
    free = job_in(q, "dead")
    for n in range(2):
        assert q.enqueue("k", unique=f"u{n}").inserted
    first = q.replay_many(tenure.Filter(), limit=2)
    assert first == tenure.Bulk(0, 2, stuck[1])
    assert q.replay_many(tenure.Filter(), limit=2, after=first.after) == tenure.Bulk(1, 0, None)
    assert [look(q, job_id).state for job_id in (*stuck, free)] == ["dead", "dead", "ready"]


def test_of_two_finished_jobs_with_one_unique_key_replay_many_replays_one(q: tenure.Queue) -> None:
    twins = [job_in(q, "dead", unique="u") for _ in range(2)]
    assert q.replay_many(tenure.Filter()) == tenure.Bulk(1, 1, None)
    assert sorted(look(q, job_id).state for job_id in twins) == ["dead", "ready"]


def test_a_replayed_job_can_be_claimed_after_those_that_were_ready_before(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    replayed = job_in(cq, "done")
    clock.advance("1s")
    waiting = cq.enqueue("k").id
    clock.advance("1s")
    cq.replay(replayed)
    assert drain(cq) == [waiting, replayed]
