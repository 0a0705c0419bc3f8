"""enqueue: what is stored, and what is answered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place
from tests.support.states import job_in

PARENT = "01890000-0000-7000-8000-000000000001"
SOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)

# What is said at enqueue, and what the job then tells: each row is one option, or options that belong together.
# The clock stands at 2030-01-01 12:00 UTC.
OPTIONS: list[Any] = [
    pytest.param({"queue": "mail"}, {"queue": "mail"}, id="queue"),
    pytest.param({"queue": "Очередь 1/2 \\N '\";--"}, {"queue": "Очередь 1/2 \\N '\";--"}, id="queue of any letters"),
    pytest.param({"queue": "q" * 200}, {"queue": "q" * 200}, id="the longest queue name"),
    pytest.param({"priority": 7}, {"priority": 7}, id="priority"),
    pytest.param({"priority": 32_767}, {"priority": 32_767}, id="the highest priority"),
    pytest.param({"priority": -32_768}, {"priority": -32_768}, id="the lowest priority"),
    pytest.param({"run_at": SOON}, {"run_at": SOON}, id="run_at to the microsecond"),
    pytest.param(
        {"run_at": datetime(2030, 1, 1, 17, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))},
        {"run_at": datetime(2030, 1, 1, 12, tzinfo=UTC)},
        id="run_at of another zone",
    ),
    pytest.param(
        {"run_at": datetime(1969, 7, 20, tzinfo=UTC)}, {"run_at": datetime(1969, 7, 20, tzinfo=UTC)}, id="run_at long ago"
    ),
    pytest.param({"delay": "1h30m"}, {"run_at": datetime(2030, 1, 1, 13, 30, tzinfo=UTC)}, id="delay as text"),
    pytest.param({"delay": 0.25}, {"run_at": datetime(2030, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)}, id="delay in seconds"),
    pytest.param({"delay": 0}, {"run_at": datetime(2030, 1, 1, 12, tzinfo=UTC)}, id="no delay"),
    pytest.param({"max_attempts": 1}, {"max_attempts": 1}, id="max_attempts"),
    pytest.param({"expires_at": datetime(2031, 1, 1, tzinfo=UTC)}, {"expires_at": datetime(2031, 1, 1, tzinfo=UTC)}, id="expires_at"),
    pytest.param({"expires_in": "7d"}, {"expires_at": datetime(2030, 1, 8, 12, tzinfo=UTC)}, id="expires_in"),
    pytest.param({"timeout": "250ms"}, {"timeout": timedelta(milliseconds=250)}, id="timeout"),
    pytest.param({"unique": "order 7"}, {"unique": "order 7", "unique_for": None}, id="unique"),
    pytest.param(
        {"unique": "order 7", "unique_for": "1h"}, {"unique": "order 7", "unique_for": timedelta(hours=1)}, id="unique_for"
    ),
    pytest.param({"group": "user 7"}, {"group": "user 7", "group_limit": 1, "order": "strict"}, id="group"),
    pytest.param(
        {"group": "user 7", "group_limit": 3, "order": "start"},
        {"group": "user 7", "group_limit": 3, "order": "start"},
        id="group options",
    ),
    pytest.param({"tags": ["b", "a", "b", "тег"]}, {"tags": ("b", "a", "b", "тег")}, id="tags in their order"),
    pytest.param(
        {"meta": {"trace": "00-ab", "empty": "", "line": "a\tb\nc\\d"}},
        {"meta": {"trace": "00-ab", "empty": "", "line": "a\tb\nc\\d"}},
        id="meta",
    ),
    pytest.param({"parent": PARENT}, {"parent": PARENT}, id="parent"),
    pytest.param({"flow": "checkout\t7\\N"}, {"flow": "checkout\t7\\N"}, id="flow"),
    pytest.param({"tenant": "ACME \\. 株"}, {"tenant": "ACME \\. 株"}, id="tenant"),
    pytest.param({}, {
        "queue": "default", "priority": 0, "run_at": datetime(2030, 1, 1, 12, tzinfo=UTC), "max_attempts": 5, "expires_at": None,
        "timeout": None, "unique": None, "unique_for": None, "group": None, "group_limit": None, "order": None, "tags": (),
        "meta": {}, "parent": None, "flow": None, "tenant": None, "attempt": 0, "crashes": 0, "suspect": False, "epoch": 0, "worker": None,
        "created_at": datetime(2030, 1, 1, 12, tzinfo=UTC), "started_at": None, "finished_at": None, "lease_until": None,
        "error": None, "reason": None, "outcome": None, "result": None, "progress": None, "progress_note": None,
        "cancel_asked_at": None,
    }, id="nothing but the kind"),
]  # fmt: skip

# What a claim itself changes, or does not yet know.
CLAIMED = {"attempt", "epoch", "worker", "started_at", "lease_until"}

# Enough for the bulk path of every store.
MANY = 120


def told(job: tenure.JobSeen | None, names: Any) -> dict[str, Any]:
    """What the job says about these of its fields."""
    assert job is not None
    return {name: getattr(job, name) for name in names}


def test_a_job_is_ready_once_enqueue_returned(q: tenure.Queue) -> None:
    answer = q.enqueue("send_email", {"to": "a@b.c"})
    assert answer.inserted
    job = q.get(answer.id)
    assert job is not None
    assert (job.kind, job.payload, job.state, job.attempt, job.epoch) == (
        "send_email",
        {"to": "a@b.c"},
        "ready",
        0,
        0,
    )


def test_a_job_with_a_delay_is_scheduled_until_it_is_due(cq: tenure.Queue, clock: MovedClock) -> None:
    answer = cq.enqueue("k", delay="10m")
    assert cq.claim() == []
    clock.advance("10m")
    assert [c.id for c in cq.claim()] == [answer.id]


@pytest.mark.parametrize(("said", "kept"), OPTIONS)
def test_an_option_is_kept_as_it_was_said(
    cq: tenure.Queue, said: dict[str, Any], kept: dict[str, Any]
) -> None:
    answer = cq.enqueue("k", **said)
    assert told(cq.get(answer.id), kept) == kept


@pytest.mark.parametrize(("said", "kept"), OPTIONS)
def test_a_claim_tells_the_options_of_its_job(
    cq: tenure.Queue, clock: MovedClock, said: dict[str, Any], kept: dict[str, Any]
) -> None:
    cq.enqueue("k", **said)
    clock.advance("2h")
    [claim] = cq.claim()
    names = kept.keys() - CLAIMED
    assert told(claim.job, names) == {name: kept[name] for name in names}


@pytest.mark.parametrize(("said", "kept"), OPTIONS)
def test_a_bulk_keeps_every_option_as_one_job_would(
    cq: tenure.Queue, said: dict[str, Any], kept: dict[str, Any]
) -> None:
    [*_, last] = cq.enqueue_many([tenure.NewJob(kind="other")] * MANY + [tenure.NewJob(kind="k", **said)])
    assert told(cq.get(last.id), kept) == kept


@pytest.mark.parametrize(
    ("when", "state"),
    [
        ({"run_at": SOON}, "scheduled"),
        ({"delay": "1us"}, "scheduled"),
        ({"run_at": datetime(2030, 1, 1, 12, tzinfo=UTC)}, "ready"),
        ({"run_at": datetime(2029, 1, 1, tzinfo=UTC)}, "ready"),
        ({"delay": 0}, "ready"),
    ],
)
@pytest.mark.parametrize("count", [1, MANY])
def test_only_a_job_due_later_is_scheduled(
    cq: tenure.Queue, when: dict[str, Any], state: str, count: int
) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", **when)] * count)
    assert {job.state for job in cq.list(limit=1_000)} == {state}


def test_ids_are_made_fresh_and_in_order(q: tenure.Queue) -> None:
    ids = [q.enqueue("k").id for _ in range(20)]
    assert ids == sorted(set(ids))
    assert {UUID(i).version for i in ids} == {7}


def test_an_explicit_id_is_the_jobs_id(q: tenure.Queue) -> None:
    mine = str(uuid4())
    answer = q.enqueue("k", "mine", id=mine)
    assert answer == tenure.Enqueued(tenure.JobId(mine), inserted=True)
    [claim] = q.claim()
    assert (claim.id, claim.job.payload) == (mine, "mine")


@pytest.mark.parametrize(
    "spell",
    [
        pytest.param(lambda u: u, id="a UUID"),
        pytest.param(lambda u: str(u).upper(), id="capitals"),
        pytest.param(lambda u: u.hex, id="no hyphens"),
        pytest.param(lambda u: f"{{{u}}}", id="braces"),
        pytest.param(lambda u: u.urn, id="urn"),
        pytest.param(lambda u: f"{u.hex}----", id="hyphens elsewhere"),
    ],
)
def test_an_id_is_the_same_however_it_is_spelled(q: tenure.Queue, spell: Any) -> None:
    mine = UUID("0189abcd-0000-7000-8000-00000000beef")
    assert q.enqueue("k", id=spell(mine)).id == str(mine)
    assert [told(q.get(i), ["id"]) for i in (str(mine), spell(mine))] == [{"id": str(mine)}] * 2


def test_an_id_stored_before_leaves_the_first_job_alone(q: tenure.Queue) -> None:
    first = q.enqueue("k", "first")
    before = q.get(first.id)
    again = q.enqueue("other", "second", id=first.id, priority=9, request=tenure.Request(b"late", {}))
    assert again == tenure.Enqueued(first.id, inserted=False)
    assert (q.get(first.id), q.request(first.id), len(q.list())) == (before, None, 1)


def test_of_several_with_one_id_the_first_is_stored(q: tenure.Queue) -> None:
    mine = q.enqueue("elsewhere").id[:-4] + "beef"
    answers = q.enqueue_many(
        [
            tenure.NewJob(kind="first", id=mine),
            tenure.NewJob(kind="second", id=mine, request=tenure.Request(b"late", {})),
            tenure.NewJob(kind="third", id=mine, group="g"),
        ]
    )
    assert answers == [tenure.Enqueued(tenure.JobId(mine), inserted=n == 0) for n in range(3)]
    job = q.get(mine)
    assert job is not None
    assert (job.kind, q.request(mine), len(q.list())) == ("first", None, 2)


def test_an_id_whose_job_has_finished_is_stored_before_too(q: tenure.Queue) -> None:
    first = job_in(q, "done")
    before = q.get(first)
    assert q.enqueue("k", "again", id=first) == tenure.Enqueued(first, inserted=False)
    assert (q.get(first), q.claim(), len(q.list())) == (before, [], 1)


def test_the_request_is_kept_byte_for_byte_beside_the_job(q: tenure.Queue) -> None:
    body, headers = bytes(range(256)) * 4, {"Content-Type": "text/plain", "X-Имя": "значение", "X-Empty": ""}
    answer = q.enqueue("hook", request=tenure.Request(body, headers))
    assert q.request(answer.id) == tenure.Request(body, headers)


def test_an_empty_request_is_not_no_request(q: tenure.Queue) -> None:
    with_one, without = q.enqueue("hook", request=tenure.Request(b"", {})), q.enqueue("hook")
    assert (q.request(with_one.id), q.request(without.id)) == (tenure.Request(b"", {}), None)


def test_the_request_stays_until_the_job_is_purged(q: tenure.Queue) -> None:
    answer = q.enqueue("hook", request=tenure.Request(b"body", {}))
    [claim] = q.claim()
    q.settle(claim, tenure.Done())
    assert q.request(answer.id) == tenure.Request(b"body", {})
    q.purge(tenure.Filter(ids=[answer.id]))
    assert q.request(answer.id) is None


def test_a_job_that_was_never_enqueued_is_none(q: tenure.Queue) -> None:
    assert (q.get(str(uuid4())), q.request(str(uuid4()))) == (None, None)


def test_a_bulk_of_nothing_stores_nothing(q: tenure.Queue) -> None:
    assert q.enqueue_many([]) == []
    assert q.counts() == {}


@pytest.mark.parametrize("count", [1, 2, 49, 50, 51, 1_001])
def test_a_bulk_answers_each_job_in_its_order(q: tenure.Queue, count: int) -> None:
    answers = q.enqueue_many(tenure.NewJob(kind="k", payload=n) for n in range(count))
    assert all(a.inserted for a in answers)
    stored = {job.id: job.payload for job in q.list(limit=5_000)}
    assert [stored[a.id] for a in answers] == list(range(count))


@pytest.mark.parametrize("count", [3, MANY])
def test_a_bulk_arrives_in_its_order(q: tenure.Queue, count: int) -> None:
    q.enqueue("k", "first")
    q.enqueue_many(tenure.NewJob(kind="k", payload=n) for n in range(count))
    q.enqueue("k", "last")
    by_seq = sorted(q.list(limit=1_000), key=lambda job: job.seq)
    assert [job.payload for job in by_seq] == ["first", *range(count), "last"]
    assert len({job.seq for job in by_seq}) == count + 2


def test_jobs_alike_are_claimed_in_order_of_arrival(cq: tenure.Queue) -> None:
    one = [cq.enqueue("k").id for _ in range(3)]
    many = [a.id for a in cq.enqueue_many([tenure.NewJob(kind="k")] * MANY)]
    assert [c.id for c in cq.claim(limit=500)] == one + many


def test_a_bulk_may_mix_all_options(cq: tenure.Queue) -> None:
    rows = [(dict(p.values[0]), p.values[1]) for p in OPTIONS]
    given = str(uuid4())
    request = tenure.Request(b"\x00\xff", {"a": "b"})
    jobs = [tenure.NewJob(kind=f"k{at}", payload=at, **said) for at, (said, _) in enumerate(rows)]
    jobs += [tenure.NewJob(kind="given", id=given), tenure.NewJob(kind="hook", request=request)]
    answers = cq.enqueue_many(jobs)
    assert [told(cq.get(a.id), kept) for a, (_, kept) in zip(answers, rows, strict=False)] == [
        kept for _, kept in rows
    ]
    assert (answers[-2].id, cq.request(answers[-1].id)) == (given, request)


BAD_ROWS = [
    pytest.param({"priority": 40_000}, "priority", id="priority"),
    pytest.param({"payload": {"a": [float("nan")]}}, "payload.a[0]", id="payload"),
    pytest.param({"queue": ""}, "queue", id="queue"),
    pytest.param({"run_at": datetime(2030, 1, 1)}, "run_at", id="run_at"),  # noqa: DTZ001 - the point
]


@pytest.mark.parametrize("count", [3, MANY, 1_200])
@pytest.mark.parametrize(("bad", "field"), BAD_ROWS)
def test_one_bad_row_leaves_none_of_the_bulk_stored(
    q: tenure.Queue, count: int, bad: dict[str, Any], field: str
) -> None:
    jobs = [tenure.NewJob(kind="k")] * (count - 1) + [tenure.NewJob(kind="k", **bad)]
    with pytest.raises(tenure.FieldError) as caught:
        q.enqueue_many(jobs)
    assert caught.value.field == field
    assert q.counts() == {}


@pytest.mark.parametrize("count", [3, MANY])
def test_a_queue_works_on_after_a_refused_bulk(q: tenure.Queue, count: int) -> None:
    good = [tenure.NewJob(kind="k")] * count
    with pytest.raises(tenure.FieldError):
        q.enqueue_many([*good, tenure.NewJob(kind="")])
    assert len(q.enqueue_many(good)) == count
    assert q.counts()["default"]["ready"] == count


def test_a_bulk_is_seen_by_other_queues_at_once(place: Place) -> None:
    one, other = place.open(), place.open()
    one.enqueue_many([tenure.NewJob(kind="k")] * MANY)
    assert len(other.claim(limit=500)) == MANY
