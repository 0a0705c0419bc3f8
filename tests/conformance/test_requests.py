"""The requests of many jobs that are enqueued together: each keeps its own, byte for byte, and duplicates keep none."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

import tenure
from tests.support.connections import Kind, every_kind
from tests.support.places import WAYS, Loop, Place

BODIES = [b"", b"\x00", bytes(range(256)) * 9, b"'; --", "☃".encode(), b'{"a": 1}', b"\\x41", b"x" * 100_000]
HEADERS = {"content-type": "application/json", "x-note": 'it\'s ☃ "quoted" \\ {}'}
everywhere = pytest.mark.parametrize(
    "place", [pytest.param(w, id=w[0]) for w in WAYS if w[1] == "async"], indirect=True
)


def sent(n: int) -> tenure.Request:
    return tenure.Request(BODIES[n % len(BODIES)] + str(n).encode() * (n % 3), {**HEADERS, "x-n": str(n)})


def test_each_job_of_a_bulk_keeps_its_own_request(q: tenure.Queue) -> None:
    jobs = [tenure.NewJob(kind="hook", request=None if n % 5 == 4 else sent(n)) for n in range(60)]
    answers = q.enqueue_many(jobs)
    assert [q.request(answer.id) for answer in answers] == [job.request for job in jobs]


def test_of_bulk_after_bulk_of_webhooks_one_of_each_group_is_ready(q: tenure.Queue) -> None:
    for turn in range(1, 6):
        jobs = [
            tenure.NewJob(
                kind="hook", unique=f"{turn}-{n}", unique_for="1h", group=f"chat {turn}-{n % 11}", order="start",
                expires_in="1h", request=sent(n),
            )
            for n in range(37)
        ]  # fmt: skip
        answers = q.enqueue_many(jobs)
        assert all(answer.inserted for answer in answers)
        assert [q.request(answer.id) for answer in answers[30:]] == [sent(n) for n in range(30, 37)]
        counts = q.counts()["default"]
        assert (counts["ready"], counts["waiting"]) == (11 * turn, 26 * turn)


def test_a_duplicate_in_a_bulk_keeps_no_request(q: tenure.Queue, place: Place) -> None:
    first = q.enqueue("hook", unique="0", unique_for="1h", request=sent(0))
    jobs = [
        tenure.NewJob(kind="hook", unique=str(n % 4), unique_for="1h", request=sent(n + 1)) for n in range(8)
    ]
    answers = q.enqueue_many(jobs)
    assert [answer.inserted for answer in answers] == [False, True, True, True, *[False] * 4]
    assert answers[0].id == answers[4].id == first.id
    assert [q.request(answer.id) for answer in answers[:4]] == [sent(0), sent(2), sent(3), sent(4)]
    assert place.sql("SELECT count(*) FROM tenure.requests") == [(4,)]


def test_requests_of_many_megabytes_are_kept_together(q: tenure.Queue) -> None:
    bodies = [bytes([n]) * 6_000_000 for n in range(4)]
    answers = q.enqueue_many([tenure.NewJob(kind="hook", request=tenure.Request(b, {})) for b in bodies])
    kept = [q.request(answer.id) for answer in answers]
    assert [request and request.body for request in kept] == bodies


@every_kind
def test_requests_enqueued_inside_commit_with_the_callers_transaction(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        answers = q.using(own.connection).enqueue_many(
            tenure.NewJob(kind="hook", request=sent(n)) for n in range(len(BODIES))
        )
        own.commit()
    assert [q.request(answer.id) for answer in answers] == [sent(n) for n in range(len(BODIES))]


@everywhere
def test_webhooks_that_share_a_commit_are_each_answered_as_if_they_were_alone(
    place: Place, loop: Loop
) -> None:
    aq = cast("tenure.AsyncQueue", cast("Any", place.open()).target)

    def webhook(n: int) -> tenure.NewJob:
        return tenure.NewJob(
            kind="hook", unique=str(n % 30), unique_for="48h", group=f"chat {n % 7}", order="start",
            expires_in="24h", request=sent(n % 30),
        )  # fmt: skip

    async def work() -> list[tenure.Enqueued]:
        return await asyncio.gather(*(aq.enqueue_job(webhook(n)) for n in range(90)))

    answers = loop.wait(work())
    for n in range(30):
        same = answers[n::30]
        assert [answer.inserted for answer in same].count(True) == 1
        assert {answer.id for answer in same} == {same[0].id}
        assert loop.wait(aq.request(same[0].id)) == sent(n)
    assert loop.wait(aq.counts())["default"] == {
        **dict.fromkeys(("scheduled", "running", "done", "dead", "cancelled"), 0), "ready": 7, "waiting": 23,
    }  # fmt: skip
