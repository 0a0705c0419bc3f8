"""PostgreSQL goes away in the middle of a call: the reply is lost, the request is lost, the server restarts.

A real wire is cut at a chosen request. Whatever the queue asks again by itself must have happened once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import tenure
from tests.support.places import Loop, Place
from tests.support.postgres import PostgresServer
from tests.support.proxy import Cut, Proxy
from tests.worker.house import until

INSERT, COPIED, COMMIT, DONE = b"INSERT INTO", b"COPY ", b"COMMIT\0", b".finished"


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    """The event loop that async queues are called on."""
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    """The wire between the queue and PostgreSQL."""
    with Proxy(postgres_url) as proxy:
        yield proxy


@pytest.fixture(params=["sync", "async"])
def place(request: pytest.FixtureRequest, proxy: Proxy, postgres_url: str, loop: Loop) -> Iterator[Place]:
    """A fresh schema whose queues are opened through the wire; its SQL goes past it."""
    schema = f"t_{uuid4().hex[:16]}"
    made = Place("postgres", request.param, f"{proxy.url}&schema={schema}", None, postgres_url, schema, loop)
    yield made
    made.close()


@pytest.fixture
def q(place: Place) -> tenure.Queue:
    """A queue at the end of a wire that can be cut."""
    return place.open()


@pytest.fixture
def other(place: Place, postgres_url: str) -> Iterator[tenure.Queue]:
    """A queue on the same store over a wire of its own that nobody cuts."""
    with tenure.open(f"{postgres_url}?schema={place.schema}") as queue:
        yield queue


def ended(cut: Cut) -> bool:
    """Whether the wire was cut where the test said, and what was to be done meanwhile was done."""
    if cut.error is not None:
        raise cut.error
    return cut.happened.is_set()


def end_of(place: Place, options: dict[str, Any]) -> bytes:
    """The words of the request that commits such an enqueue: it needs a transaction, or is a statement alone."""
    alone = not options or (place.way == "sync" and options.keys() == {"unique"})
    return INSERT if alone else COMMIT


LOST = pytest.mark.parametrize("lose", [Proxy.lose_reply, Proxy.lose_request], ids=["reply", "request"])


OPTIONS = pytest.mark.parametrize(
    "options",
    [
        {},
        {"unique": "a"},
        {"unique": "a", "unique_for": "1h"},
        {"group": "g"},
        {"request": tenure.Request(b"body", {"a": "b"})},
    ],
    ids=["plain", "unique", "for a period", "grouped", "request"],
)


@LOST
@OPTIONS
@pytest.mark.parametrize("where", ["insert", "commit"])
def test_an_enqueue_whose_wire_was_cut_is_stored_once_and_answers_inserted(
    place: Place, q: tenure.Queue, proxy: Proxy, lose: Callable[..., Cut], options: dict[str, Any], where: str
) -> None:
    cut = lose(proxy, INSERT if where == "insert" else end_of(place, options))
    answer = q.enqueue("k", "payload", **options)
    assert ended(cut)
    assert answer.inserted
    # The first try's transaction may hold the group until its server has noticed: then the next claim decides who is ready.
    until(lambda: q.claim(1, kinds=["another"]) or q.list()[0].state == "ready")
    assert [(job.id, job.payload, job.state) for job in q.list()] == [(answer.id, "payload", "ready")]
    assert q.request(answer.id) == options.get("request")


@pytest.mark.parametrize("count", [60, 1_500])
@pytest.mark.parametrize(
    ("lose", "at"),
    [(Proxy.lose_request, COPIED), (Proxy.lose_request, COMMIT), (Proxy.lose_reply, COMMIT)],
    ids=["copy not sent", "commit not sent", "commit not answered"],
)
def test_many_jobs_whose_wire_was_cut_are_stored_once(
    q: tenure.Queue, proxy: Proxy, lose: Callable[..., Cut], at: bytes, count: int
) -> None:
    cut = lose(proxy, at)
    answers = q.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(count)])
    assert ended(cut)
    assert all(answer.inserted for answer in answers)
    assert q.counts()["default"]["ready"] == count
    assert [q.get(answers[n].id).payload for n in (0, count - 1)] == [0, count - 1]  # type: ignore[union-attr]


@OPTIONS
def test_a_job_that_another_worker_did_before_the_retry_is_not_enqueued_again(
    place: Place, q: tenure.Queue, other: tenure.Queue, proxy: Proxy, options: dict[str, Any]
) -> None:
    def work_it_off() -> None:
        [claim] = other.claim()
        assert other.settle(claim, tenure.Done())

    cut = proxy.lose_reply(end_of(place, options), then=work_it_off)
    answer = q.enqueue("k", **options)
    assert ended(cut)
    assert answer.inserted
    assert [(job.id, job.state) for job in other.list()] == [(answer.id, "done")]


def test_calls_at_once_whose_shared_commit_was_lost_are_each_stored_once(
    q: tenure.Queue, proxy: Proxy
) -> None:
    cut = proxy.lose_reply(INSERT)
    answers: list[tenure.Enqueued] = []
    threads = [threading.Thread(target=lambda: answers.append(q.enqueue("k"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert ended(cut)
    assert [answer.inserted for answer in answers] == [True] * 20
    assert {job.id for job in q.list()} == {answer.id for answer in answers}
    assert q.counts()["default"]["ready"] == 20


@LOST
def test_a_done_whose_wire_was_cut_answers_true_and_happened_once(
    q: tenure.Queue, proxy: Proxy, lose: Callable[..., Cut]
) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    cut = lose(proxy, DONE)
    assert q.settle(claim, tenure.Done({"n": 1})) is True
    assert ended(cut)
    job = q.get(claim.id)
    assert job is not None
    assert (job.state, job.result, job.attempt) == ("done", {"n": 1}, 1)
    assert q.counts()["default"]["done"] == 1


@LOST
@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (tenure.Fail("oops"), "scheduled"),
        (tenure.Snooze("1m"), "scheduled"),
        (tenure.Release(), "ready"),
        (tenure.Bury(), "dead"),
        (tenure.Cancelled(), "cancelled"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_other_outcome_whose_wire_was_cut_answers_true_and_happened_once(
    q: tenure.Queue, proxy: Proxy, lose: Callable[..., Cut], outcome: tenure.Outcome, state: str
) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    cut = lose(proxy, COMMIT)
    assert q.settle(claim, outcome) is True
    assert ended(cut)
    job = q.get(claim.id)
    assert job is not None
    kept = not isinstance(outcome, tenure.Snooze | tenure.Release)
    assert (job.state, job.attempt) == (state, int(kept))
    assert len(q.history(claim.id)) == isinstance(outcome, tenure.Fail | tenure.Bury)


def test_a_claim_whose_reply_was_lost_loses_no_job(
    q: tenure.Queue, other: tenure.Queue, proxy: Proxy
) -> None:
    first, second = q.enqueue("k"), q.enqueue("k")
    cut = proxy.lose_reply(b"SKIP LOCKED")
    [claim] = q.claim(lease="1ms")
    assert ended(cut)
    assert claim.id in (first.id, second.id)
    assert q.settle(claim, tenure.Done())
    left: list[tenure.Claim] = []
    while not left:
        left = other.claim(5)
    assert {claim.id, *(c.id for c in left)} == {first.id, second.id}


@pytest.mark.parametrize("call", ["replay", "replay_many"])
def test_a_replay_whose_reply_was_lost_is_not_repeated_in_silence(
    q: tenure.Queue, proxy: Proxy, call: str
) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    q.settle(claim, tenure.Bury())
    cut = proxy.lose_reply(COMMIT)
    with pytest.raises(tenure.StoreUnavailable, match="not known: look before you repeat it"):
        q.replay(answer.id) if call == "replay" else q.replay_many(tenure.Filter(states=["dead"]))
    assert ended(cut)
    job = q.get(answer.id)
    assert job is not None
    assert (job.state, job.epoch) == ("ready", claim.epoch)


def test_a_discard_whose_reply_was_lost_is_not_repeated_in_silence(q: tenure.Queue, proxy: Proxy) -> None:
    """Asked again it would find nothing, and its answer would name nobody to undo it for."""
    answer = q.enqueue("k")
    [claim] = q.claim()
    q.settle(claim, tenure.Bury())
    cut = proxy.lose_reply(COMMIT)
    with pytest.raises(tenure.StoreUnavailable, match="not known: look before you repeat it"):
        q.discard(tenure.Filter(states=["dead"]))
    assert ended(cut)
    assert [(job.id, job.state) for job in q.list()] == [(answer.id, "cancelled")]


def test_a_note_set_by_comparing_whose_reply_was_lost_is_not_compared_again(
    q: tenure.Queue, proxy: Proxy
) -> None:
    q.set_note("leader", "nobody")
    cut = proxy.lose_reply(b"notes SET value")
    with pytest.raises(tenure.StoreUnavailable, match="not known: look before you repeat it"):
        q.set_note("leader", "me", expect="nobody")
    assert ended(cut)
    assert q.note("leader") == "me"


def test_a_replay_that_broke_before_its_commit_was_asked_for_is_simply_done_again(
    q: tenure.Queue, proxy: Proxy
) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    q.settle(claim, tenure.Bury())
    cut = proxy.lose_reply(b"ON CONFLICT DO NOTHING")
    assert q.replay(answer.id) == "replayed"
    assert ended(cut)
    assert [(job.id, job.state) for job in q.list()] == [(answer.id, "ready")]


def test_a_call_goes_on_when_the_wire_is_cut_more_than_once(q: tenure.Queue, proxy: Proxy) -> None:
    cuts = [proxy.lose_reply(INSERT), proxy.lose_request(b"BEGIN")]
    answer = q.enqueue("k")
    assert [ended(cut) for cut in cuts] == [True, True]
    assert answer.inserted
    assert [job.id for job in q.list()] == [answer.id]


def hang_up(place: Place) -> int:
    """End every session of the queue's, as an administrator or a failover would; how many."""
    with psycopg.connect(place.postgres_url, autocommit=True) as connection:
        query = """
            SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
            WHERE application_name = 'tenure' AND datname = current_database()"""
        [(count,)] = connection.execute(query).fetchall()
        return int(count)


def test_between_two_calls_every_session_is_ended_and_the_queue_goes_on(
    place: Place, q: tenure.Queue
) -> None:
    first = q.enqueue("k")
    assert hang_up(place) >= 1
    [claim] = q.claim()
    assert hang_up(place) >= 1
    assert q.renew([claim]).kept == {first.id}
    assert hang_up(place) >= 1
    assert q.settle(claim, tenure.Fail("oops"))
    assert hang_up(place) >= 1
    second = q.enqueue("k")
    assert hang_up(place) >= 1
    answers = q.enqueue_many([tenure.NewJob(kind="k") for _ in range(60)])
    assert hang_up(place) >= 1
    counts = q.counts()["default"]
    assert (counts["scheduled"], counts["ready"]) == (1, 61)
    assert second.inserted
    assert all(answer.inserted for answer in answers)


def test_a_caller_whose_session_was_ended_gets_the_error_and_nothing_is_stored(
    place: Place, other: tenure.Queue, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url, application_name="tenure") as connection:
        tx = other.using(connection)
        tx.enqueue("k", "lost")
        hang_up(place)
        with pytest.raises(psycopg.OperationalError):
            tx.enqueue("k")
    assert other.list() == []


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of the test's own, to be stopped and started."""
    with PostgresServer() as server:
        yield server


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_restarts_between_two_calls_is_found_again(server: PostgresServer, mode: Any) -> None:
    with tenure.open(f"{server.url()}?schema=s_{mode}") as q:
        answer = q.enqueue("k")
        server.restart(mode)
        [claim] = q.claim()
        assert claim.id == answer.id
        server.restart(mode)
        assert q.settle(claim, tenure.Done())
        assert q.get(answer.id).state == "done"  # type: ignore[union-attr]


def test_an_outage_is_said_in_one_sentence_and_the_queue_works_again_after_it(server: PostgresServer) -> None:
    with tenure.open(f"{server.url()}?schema=s_outage") as q:
        kept = q.enqueue("k")
        server.stop()
        with pytest.raises(tenure.StoreUnavailable, match="check that the server runs"):
            q.enqueue("k")
        server.start()
        after = q.enqueue("k")
        assert [claim.id for claim in q.claim(5)] == [kept.id, after.id]
