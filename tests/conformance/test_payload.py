"""Payloads, results and error texts: what comes back exactly, what is refused, what is cleaned."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

import tenure
from tests.support.places import Place

MIB = 1_048_576
KIB64 = 65_536
TOKEN = "123456789:AAF-abcdefghijklmnopqrstuvwxyz01234"


def nested(levels: int, inside: Any = "x") -> Any:
    """`inside` within this many lists."""
    for _ in range(levels):
        inside = [inside]
    return inside


def text_of(size: int) -> str:
    """A text whose JSON is `size` bytes long."""
    return "x" * (size - 2)


def circle() -> list[Any]:
    """A list that holds itself."""
    ring: list[Any] = []
    ring.append({"again": ring})
    return ring


def settled(q: tenure.Queue, outcome: tenure.Outcome, **options: Any) -> tenure.JobSeen:
    """A job whose only claim ended so."""
    answer = q.enqueue("k", **options)
    [claim] = q.claim()
    assert q.settle(claim, outcome)
    job = q.get(answer.id)
    assert job is not None
    return job


@dataclass
class Address:
    street: str
    number: int


class Colour(Enum):
    RED = "red"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


SAME = [
    pytest.param(None, id="None"),
    pytest.param(True, id="true"),
    pytest.param(0, id="zero"),
    pytest.param("", id="empty text"),
    pytest.param([], id="empty list"),
    pytest.param({}, id="empty dict"),
    pytest.param({"": {"": [[], {}, None]}}, id="empty keys"),
    pytest.param("Żółć 日本語 \U0001f980 e\u0301 \u202e", id="unicode"),
    pytest.param({"ключ\u2028": "значение"}, id="unicode keys"),
    pytest.param("\ud800 and \udfff", id="lone surrogates"),
    pytest.param({"\udc00": 1}, id="lone surrogate in a key"),
    pytest.param("a\x00b", id="NUL"),
    pytest.param({"\x00": "\x00"}, id="NUL in a key"),
    pytest.param("".join(map(chr, range(1, 128))), id="all of ASCII"),
    pytest.param("\\N \\. \\u0000 \\\\ \t \r\n", id="what COPY would read otherwise"),
    pytest.param("'; DROP TABLE jobs; -- %s :now $1 {}", id="what SQL would read otherwise"),
    pytest.param([2**63, -(2**64), 10**400], id="big whole numbers"),
    pytest.param([0.1, 1e308, 5e-324, 1.7976931348623157e308, 1e22, 123456789.123456789], id="floats"),
    pytest.param({"z": 1, "a": 2, "m": {"y": 1, "b": 2}}, id="keys"),
    pytest.param(nested(100), id="100 levels"),
    pytest.param([nested(1) for _ in range(500)], id="wide, not deep"),
    pytest.param(text_of(MIB), id="1 MiB to the byte"),
]


@pytest.mark.parametrize("payload", SAME)
def test_a_payload_comes_back_as_it_went_in(q: tenure.Queue, payload: Any) -> None:
    answer = q.enqueue("k", payload)
    seen, [claim] = q.get(answer.id), q.claim()
    assert seen is not None
    assert seen.payload == payload
    assert claim.job.payload == payload


def test_payloads_come_back_from_a_bulk_as_they_went_in(q: tenure.Queue) -> None:
    payloads = [p.values[0] for p in SAME] * 3
    answers = q.enqueue_many(tenure.NewJob(kind="k", payload=p) for p in payloads)
    stored = {c.id: c.job.payload for c in q.claim(limit=500)}
    assert [stored[a.id] for a in answers] == payloads


def test_numbers_come_back_with_their_type_and_sign(q: tenure.Queue) -> None:
    answer = q.enqueue("k", [1, 1.0, True, -0.0])
    job = q.get(answer.id)
    assert job is not None
    assert repr(job.payload) == "[1, 1.0, True, -0.0]"


def test_keys_come_back_in_their_order(q: tenure.Queue) -> None:
    answer = q.enqueue("k", {"z": 1, "a": 2, "m": 3, "B": 4})
    job = q.get(answer.id)
    assert job is not None
    assert list(job.payload) == ["z", "a", "m", "B"]


def test_a_payload_is_decoded_anew_at_every_look(q: tenure.Queue) -> None:
    q.enqueue("k", {"list": [1]})
    [claim] = q.claim()
    job = claim.job
    job.payload["list"].append(2)
    assert job.payload == {"list": [1]}


@pytest.mark.parametrize(
    ("payload", "kept"),
    [
        pytest.param((1, (2, 3)), [1, [2, 3]], id="tuples"),
        pytest.param(Address("High St", 7), {"street": "High St", "number": 7}, id="a dataclass"),
        pytest.param(
            {"to": [Address("High St", 7)]},
            {"to": [{"street": "High St", "number": 7}]},
            id="a dataclass inside",
        ),
        pytest.param(UUID(int=7), "00000000-0000-0000-0000-000000000007", id="a UUID"),
        pytest.param(datetime(2030, 1, 1, tzinfo=UTC), "2030-01-01T00:00:00Z", id="a moment"),
        pytest.param(date(2030, 1, 1), "2030-01-01", id="a day"),
        pytest.param(Decimal("1.10"), "1.10", id="a decimal"),
        pytest.param(Colour.RED, "red", id="an enum"),
    ],
)
def test_what_msgspec_can_turn_into_json_is_kept_as_json(q: tenure.Queue, payload: Any, kept: Any) -> None:
    answer = q.enqueue("k", payload)
    job = q.get(answer.id)
    assert job is not None
    assert job.payload == kept


REFUSED = [
    pytest.param(float("nan"), "", id="NaN"),
    pytest.param({"a": [1, float("inf")]}, ".a[1]", id="Infinity inside"),
    pytest.param([[-float("inf")]], "[0][0]", id="-Infinity inside"),
    pytest.param({"to": Address("x", float("nan"))}, ".to.number", id="NaN in a dataclass"),  # type: ignore[arg-type]
    pytest.param(object(), "", id="an object"),
    pytest.param({"a": {"b": [0, object()]}}, ".a.b[1]", id="an object inside"),
    pytest.param({"f": len}, ".f", id="a function"),
    pytest.param({"c": 1j}, ".c", id="a complex number"),
    pytest.param({"e": ValueError("x")}, ".e", id="an exception"),
    pytest.param({"a": {1: "x"}}, ".a[1]", id="a number as key"),
    pytest.param({None: 1}, "[None]", id="None as key"),
    pytest.param([{True: 1}], "[0][True]", id="a truth as key"),
    pytest.param({(1, 2): 1}, "[(1, 2)]", id="a tuple as key"),
    pytest.param({b"a": 1}, "[b'a']", id="bytes as key"),
    pytest.param(nested(101), "[0]" * 101, id="101 levels"),
    pytest.param({"deep": nested(100)}, ".deep" + "[0]" * 100, id="101 levels with a key"),
    pytest.param(nested(700), "[0]" * 101, id="700 levels"),
    pytest.param(nested(5_000), "[0]" * 101, id="5000 levels"),
    pytest.param(text_of(MIB + 1), "", id="1 MiB and a byte"),
    pytest.param("é" * (MIB // 6 + 1), "", id="1 MiB once escaped"),
]


@pytest.mark.parametrize(("payload", "path"), REFUSED)
def test_a_payload_that_cannot_be_kept_is_refused_with_its_path(
    q: tenure.Queue, payload: Any, path: str
) -> None:
    with pytest.raises(tenure.PayloadError) as caught:
        q.enqueue("k", payload)
    assert (caught.value.path, caught.value.field) == (path, f"payload{path}")
    assert str(caught.value).startswith(f"payload{path}: must ")
    assert len(str(caught.value)) < 1_000
    assert q.counts() == {}


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(circle(), id="a list that holds itself"),
        pytest.param({"n": 10**5_000}, id="a number of 5000 digits"),
        pytest.param({"e": Unspeakable()}, id="an object that cannot be shown"),
        pytest.param(nested(100, []), id="101 levels, the last empty"),
    ],
)
def test_a_payload_that_is_hard_to_describe_is_refused_like_any_other(q: tenure.Queue, payload: Any) -> None:
    with pytest.raises(tenure.PayloadError) as caught:
        q.enqueue("k", payload)
    assert caught.value.field.startswith("payload")
    assert q.counts() == {}


def test_a_queue_may_set_its_own_payload_limit(place: Place) -> None:
    small = place.open(max_payload=100)
    small.enqueue("k", text_of(100))
    with pytest.raises(tenure.PayloadError) as caught:
        small.enqueue("k", text_of(101))
    assert "100 bytes" in caught.value.rule
    assert small.counts()["default"]["ready"] == 1


@pytest.mark.parametrize(
    "result",
    [
        *(p for p in SAME if p.id != "1 MiB to the byte"),
        pytest.param(text_of(KIB64), id="64 KiB to the byte"),
    ],
)
def test_a_result_is_kept_with_the_finished_job(q: tenure.Queue, result: Any) -> None:
    job = settled(q, tenure.Done(result))
    assert (job.state, job.result) == ("done", result)


@pytest.mark.parametrize("result", [0, False, "", [], {}])
def test_an_empty_result_is_not_no_result(q: tenure.Queue, result: Any) -> None:
    assert settled(q, tenure.Done(result)).result_text == json.dumps(result)


@pytest.mark.parametrize(
    ("result", "path"),
    [
        pytest.param(text_of(KIB64 + 1), "", id="64 KiB and a byte"),
        pytest.param({"a": [float("nan")]}, ".a[0]", id="NaN"),
        pytest.param([object()], "[0]", id="an object"),
        pytest.param({1: 2}, "[1]", id="a number as key"),
    ],
)
def test_a_result_that_cannot_be_kept_is_refused_and_the_claim_stands(
    q: tenure.Queue, result: Any, path: str
) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    with pytest.raises(tenure.PayloadError) as caught:
        q.settle(claim, tenure.Done(result))
    assert caught.value.field == f"result{path}"
    assert q.counts()["default"]["running"] == 1
    assert q.settle(claim, tenure.Done("short"))


def test_one_refused_result_settles_none_of_the_bulk(q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k")] * 2)
    one, two = q.claim(limit=2)
    with pytest.raises(tenure.PayloadError):
        q.settle_many([(one, tenure.Done()), (two, tenure.Done(object()))])
    assert q.counts()["default"]["running"] == 2


BROKEN = [
    pytest.param("'{oops'", id="no JSON"),
    pytest.param("''", id="empty"),
    pytest.param(f"'{'[' * 50_000}{']' * 50_000}'", id="too deep"),
    pytest.param(f"'{'9' * 5_000}'", id="too many digits"),
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_payload_that_does_not_decode_fails_only_who_looks_at_it(
    q: tenure.Queue, place: Place, broken: str
) -> None:
    ids = [q.enqueue("k", n).id for n in range(3)]
    place.sql(f"UPDATE tenure.jobs SET payload = {broken} WHERE id = '{ids[1]}'")
    first, bad, last = q.claim(limit=3)
    assert (first.job.payload, last.job.payload) == (0, 2)
    with pytest.raises(tenure.PayloadError) as caught:
        _ = bad.job.payload
    assert caught.value.field == "payload"
    assert (
        q.settle_many([(first, tenure.Done()), (bad, tenure.Bury("payload")), (last, tenure.Done())])
        == [True] * 3
    )
    assert [job.state for job in reversed(q.list())] == ["done", "dead", "done"]


def test_a_payload_that_does_not_decode_can_be_looked_at_as_text(q: tenure.Queue, place: Place) -> None:
    answer = q.enqueue("k")
    place.sql("UPDATE tenure.jobs SET payload = '{oops'")
    job = q.get(answer.id)
    assert job is not None
    assert (job.payload_text, [j.payload_text for j in q.list()]) == ("{oops", ["{oops"])


def test_a_payload_that_does_not_decode_is_replayed_as_it_is(q: tenure.Queue, place: Place) -> None:
    answer = q.enqueue("k")
    place.sql("UPDATE tenure.jobs SET payload = '{oops'")
    [claim] = q.claim()
    q.settle(claim, tenure.Bury())
    assert q.replay(answer.id) == "replayed"
    assert [c.job.payload_text for c in q.claim()] == ["{oops"]


# What was said, and what is kept of it.
CLEANED = [
    pytest.param("a\x00b", "a\ufffdb", id="NUL"),
    pytest.param("a\ud800b", "a?b", id="lone surrogate"),
    pytest.param("", "", id="empty"),
    pytest.param("x" * 4_096, "x" * 4_096, id="as long as may be"),
    pytest.param("x" * 4_097, "x" * 4_095 + "…", id="longer by one"),
    pytest.param("x" * 1_000_000, "x" * 4_095 + "…", id="far too long"),
    pytest.param("\U0001f980" * 5_000, "\U0001f980" * 4_095 + "…", id="too long in characters of four bytes"),
    pytest.param("\x00" * 5_000, "\ufffd" * 4_095 + "…", id="nothing but NUL"),
    pytest.param("line\r\n\ttab 日本 \\N ' \"", "line\r\n\ttab 日本 \\N ' \"", id="what is fine"),
    pytest.param("postgres://me:hunter2@db/x", "postgres://me:***@db/x", id="password in a URL"),
    pytest.param("password=hunter2&x=1", "password=***&x=1", id="password as parameter"),
    pytest.param(f"https://api/bot{TOKEN}/send", "https://api/bot[bot token]/send", id="bot token in a URL"),
]


@pytest.mark.parametrize(("said", "kept"), CLEANED)
def test_an_error_text_is_cleaned_and_the_job_waits_for_its_retry(
    q: tenure.Queue, said: str, kept: str
) -> None:
    job = settled(q, tenure.Fail(said))
    assert (job.state, job.attempt, job.error) == ("scheduled", 1, kept)
    assert [a.message for a in q.history(job.id)] == [kept]


@pytest.mark.parametrize(
    "secret",
    [
        f"token {TOKEN} was refused",
        "Authorization: Bearer hunter2hunter2",
        "{'Authorization': 'Basic hunter2hunter2'}",
        "amqp://guest:hunter2hunter2@mq:5672/",
        'PASSWORD = "hunter2hunter2"',
        "api_key=hunter2hunter2",
        '{"access_token": "hunter2hunter2"}',
        "client secret: hunter2hunter2",
        "x" * 4_080 + " password=hunter2hunter2",
    ],
)
@pytest.mark.parametrize("part", ["error", "kind", "traceback"])
def test_secrets_are_masked_wherever_a_failure_tells_them(q: tenure.Queue, secret: str, part: str) -> None:
    job = settled(q, tenure.Fail(**{part: secret}))
    [attempt] = q.history(job.id)
    kept = f"{job.error} {attempt.error_kind} {attempt.message} {attempt.traceback}"
    assert job.state == "scheduled"
    assert [word for word in ("hunter2", TOKEN[10:]) if word in kept] == []


def test_a_secret_that_the_cut_would_halve_is_still_masked(q: tenure.Queue) -> None:
    token = "123456789:" + "A" * 80
    # Masking shortens the text so much that what follows the 180th token, 36 characters of the next, is kept too.
    job = settled(q, tenure.Fail("x" * 59 + f" {token}" * 1_000))
    assert job.error is not None
    assert "AAAA" not in job.error


@pytest.mark.parametrize("said", ["\x00\ud800" * 10_000, f"password=hunter2 {'x' * 100_000}"])
def test_a_traceback_and_its_kind_are_cleaned_and_cut(q: tenure.Queue, said: str) -> None:
    job = settled(q, tenure.Fail("e", kind=said, traceback=said))
    [attempt] = q.history(job.id)
    assert attempt.traceback is not None
    assert (len(attempt.error_kind), len(attempt.traceback)) == (200, 16_384)
    assert not {"\x00", "\ud800"} & set(attempt.error_kind + attempt.traceback)
    assert "hunter2" not in attempt.error_kind + attempt.traceback


def test_an_exception_is_told_with_its_kind_and_traceback(q: tenure.Queue) -> None:
    job = settled(q, tenure.Fail.of(LookupError("no such chapter")))
    [attempt] = q.history(job.id)
    assert (attempt.error_kind, attempt.message) == ("LookupError", "no such chapter")
    assert "LookupError: no such chapter" in str(attempt.traceback)


def test_an_exception_without_words_is_told_by_its_repr(q: tenure.Queue) -> None:
    assert settled(q, tenure.Fail.of(KeyboardInterrupt())).error == "KeyboardInterrupt()"


def test_an_exception_whose_text_cannot_be_read_still_fails_the_job(q: tenure.Queue) -> None:
    job = settled(q, tenure.Fail.of(Unspeakable()))
    [attempt] = q.history(job.id)
    assert (job.state, attempt.error_kind) == ("scheduled", "Unspeakable")


def test_an_error_that_is_no_text_is_told_as_text(q: tenure.Queue) -> None:
    assert settled(q, tenure.Fail(ValueError("told"))).error == "told"  # type: ignore[arg-type]


def test_the_last_failure_kills_the_job_whatever_its_text(q: tenure.Queue) -> None:
    job = settled(q, tenure.Fail("\x00\ud800" * 5_000), max_attempts=1)
    assert (job.state, job.reason, len(str(job.error))) == ("dead", "failed", 4_096)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (tenure.Bury("\x00\ud800 password=hunter2 " + "x" * 500), "dead"),
        (tenure.Cancelled("\x00\ud800 password=hunter2 " + "x" * 500), "cancelled"),
    ],
)
def test_a_reason_is_cleaned_masked_and_cut(q: tenure.Queue, outcome: tenure.Outcome, state: str) -> None:
    job = settled(q, outcome)
    assert (job.state, job.reason) == (state, ("\ufffd? password=*** " + "x" * 500)[:199] + "…")


def test_the_reason_of_a_cancel_is_cleaned_masked_and_cut(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    assert q.cancel(answer.id, "\x00\ud800 password=hunter2 " + "x" * 500) == "cancelled"
    job = q.get(answer.id)
    assert job is not None
    assert job.reason == ("\ufffd? password=*** " + "x" * 500)[:199] + "…"


def test_a_note_of_progress_is_cleaned_masked_and_cut(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    assert q.progress(claim, 0.5, "\x00\ud800 password=hunter2 " + "x" * 1_000)
    job = q.get(answer.id)
    assert job is not None
    assert (job.progress, job.progress_note) == (0.5, ("\ufffd? password=*** " + "x" * 1_000)[:499] + "…")
