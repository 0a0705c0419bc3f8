"""Bad input gets an answer: the field, the rule and the value; and nothing is stored."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

import tenure
from tests.support.places import Place

NAIVE = datetime(2030, 1, 1)  # noqa: DTZ001 - the point
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
SOME_ID = "01890a5d-ac96-774b-bcce-b302099a8057"

BAD_NAMES: Mapping[str, Any] = {
    "empty": "",
    "too long": "x" * 201,
    "not text": 5,
    "bytes": b"mail",
    "None": None,
    "space before": " mail",
    "space after": "mail ",
    "only space": " ",
    "line end": "mail\n",
    "NUL": "ma\x00il",
    "lone surrogate": "ma\ud800il",
}
BAD_KEYS: Mapping[str, Any] = {
    "empty": "",
    "not text": 5,
    "bytes": b"key",
    "NUL": "a\x00b",
    "lone surrogate": "a\ud800b",
}
BAD_SPANS: Mapping[str, Any] = {
    "negative": -1,
    "negative text": "-5s",
    "negative timedelta": timedelta(seconds=-1),
    "empty text": "",
    "no number": "soon",
    "no unit": "5",
    "unknown unit": "5w",
    "space inside": "1h 30m",
    "two signs": "+-5s",
    "only a sign": "-",
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "a truth": True,
    "a list": [5],
    "a moment": MOMENT,
    "over 100 years": "36501d",
    "over 100 years in seconds": 10**10,
    "over what a float holds": 10**400,
    "the longest timedelta": timedelta.max,
}
BAD_MOMENTS: Mapping[str, Any] = {
    "naive": NAIVE,
    "text": "2030-01-01T00:00:00Z",
    "number": 1_893_456_000,
    "day": date(2030, 1, 1),
    "after the last moment of UTC": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    "before the first moment of UTC": datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
}
BAD_COUNTS: Mapping[str, Any] = {
    "zero": 0,
    "negative": -1,
    "too large": 2**31,
    "far too large": 10**5_000,
    "a truth": True,
    "a float": 1.0,
    "text": "5",
    "None": None,
}
BAD_PRIORITIES: Mapping[str, Any] = {
    "too high": 32_768,
    "too low": -32_769,
    "far too high": 10**5_000,
    "a truth": True,
    "a float": 1.0,
    "text": "1",
    "None": None,
}
BAD_LIMITS: Mapping[str, Any] = {
    "zero": 0,
    "negative": -1,
    "too many": 10_001,
    "a truth": True,
    "a float": 1.5,
    "text": "1",
    "None": None,
}
BAD_IDS: Mapping[str, Any] = {
    "no UUID": "not-a-uuid",
    "empty": "",
    "too short": SOME_ID[:-1],
    "too long": SOME_ID + "0",
    "no hex": "z" * 36,
    "a number": 7,
    "bytes": UUID(SOME_ID).bytes,
    "with NUL": SOME_ID[:-1] + "\x00",
}


def request(body: Any, headers: Any) -> tenure.Request:
    """A request of any types."""
    return tenure.Request(body, headers)


NOT_NONE = {what: bad for what, bad in BAD_NAMES.items() if bad is not None}
BAD_LISTS: Mapping[str, Any] = {"one name": "mail", "a number": 5}

# For each field, values that break its rules, and what must be said beside them.
FIELDS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "kind": ({**BAD_NAMES, "a star": "*"}, {}),
    "queue": ({**BAD_NAMES, "a star": "*"}, {}),
    "priority": (BAD_PRIORITIES, {}),
    "run_at": (BAD_MOMENTS, {}),
    "expires_at": (BAD_MOMENTS, {}),
    "delay": (BAD_SPANS, {}),
    "expires_in": (BAD_SPANS, {}),
    "timeout": ({**BAD_SPANS, "zero": 0}, {}),
    "max_attempts": (BAD_COUNTS, {}),
    "unique": ({**BAD_KEYS, "too long": "x" * 8_193}, {}),
    "unique_for": ({**BAD_SPANS, "zero": 0}, {"unique": "u"}),
    "group": ({**BAD_KEYS, "too long": "x" * 601}, {}),
    "group_limit": (BAD_COUNTS, {"group": "g"}),
    "order": ({"unknown": "sideways", "None": None, "a list": ["strict"]}, {"group": "g"}),
    "flow": ({**BAD_KEYS, "too long": "x" * 201}, {}),
    "tenant": ({**BAD_KEYS, "too long": "x" * 201}, {}),
    "parent": (BAD_IDS, {}),
    "id": (BAD_IDS, {}),
    "tags": ({"one text": "urgent", "a number": 5}, {}),
    "meta": ({"text": "a=b", "a list": ["a"], "pairs": [("a", "b")], "a number": 5}, {}),
    "request": ({"bytes": b"body", "a dict": {"body": b"", "headers": {}}}, {}),
}

# What is said, which field is named, and which value.
BESIDE: list[Any] = [
    pytest.param({"run_at": MOMENT, "delay": "5s"}, "delay", "5s", id="both run_at and delay"),
    pytest.param(
        {"expires_at": MOMENT, "expires_in": 5}, "expires_in", 5, id="both expires_at and expires_in"
    ),
    pytest.param({"unique_for": "1h"}, "unique_for", "1h", id="unique_for without unique"),
    pytest.param({"tags": ["ok", ""]}, "tags", "", id="an empty tag"),
    pytest.param({"tags": ["ok", 5]}, "tags", 5, id="a tag that is no text"),
    pytest.param({"tags": ["x" * 201]}, "tags", "x" * 201, id="a tag too long"),
    pytest.param({"tags": ["a\x00"]}, "tags", "a\x00", id="a tag with NUL"),
    pytest.param({"tags": ["t"] * 33}, "tags", 33, id="too many tags"),
    pytest.param({"meta": {5: "a"}}, "meta", 5, id="a meta key that is no text"),
    pytest.param({"meta": {"": "a"}}, "meta", "", id="an empty meta key"),
    pytest.param({"meta": {"a": 5}}, "meta.a", 5, id="a meta value that is no text"),
    pytest.param({"meta": {"a": None}}, "meta.a", None, id="a meta value that is None"),
    pytest.param({"meta": {"a": "\ud800"}}, "meta.a", "\ud800", id="a meta value with a lone surrogate"),
    pytest.param({"request": request("text", {})}, "request.body", "text", id="a request whose body is text"),
    pytest.param({"request": request(b"", {"a": 5})}, "request.headers.a", 5, id="a header that is no text"),
    pytest.param({"request": request(b"", None)}, "request.headers", None, id="a request without headers"),
]

# For each verb and argument, values that break its rules, and what must be said beside them.
ARGUMENTS: list[Any] = [
    pytest.param(verb, name, values, beside, id=f"{verb} {name}")
    for verb, name, values, beside in [
        ("claim", "limit", BAD_LIMITS, {}),
        ("promote", "limit", BAD_LIMITS, {}),
        ("expire", "limit", BAD_LIMITS, {}),
        ("reclaim", "limit", BAD_LIMITS, {}),
        ("retain", "limit", BAD_LIMITS, {"done": "1h"}),
        ("purge", "limit", BAD_LIMITS, {"which": tenure.Filter()}),
        ("replay_many", "limit", BAD_LIMITS, {"which": tenure.Filter()}),
        ("cancel_many", "limit", BAD_LIMITS, {"which": tenure.Filter()}),
        ("list", "limit", BAD_LIMITS, {}),
        ("list", "look", {"zero": 0, "a truth": True, "text": "1"}, {}),
        ("count", "look", {"zero": 0, "a truth": True, "text": "1"}, {}),
        ("count", "cap", {"zero": 0, "too many": 100_001, "text": "1"}, {}),
        ("claim", "lease", {**BAD_SPANS, "zero": 0}, {}),
        ("renew", "lease", {**BAD_SPANS, "zero": 0}, {"claims": []}),
        ("reclaim", "overdue_by", BAD_SPANS, {}),
        ("reclaim", "max_crashes", {"zero": 0, "negative": -1, "a truth": True, "text": "3"}, {}),
        ("retain", "done", BAD_SPANS, {}),
        ("retain", "dead", BAD_SPANS, {}),
        ("retain", "cancelled", BAD_SPANS, {}),
        ("retain", "queue", NOT_NONE, {}),
        ("claim", "worker", NOT_NONE, {}),
        ("beat", "worker", BAD_NAMES, {}),
        ("leave", "worker", BAD_NAMES, {}),
        ("pause", "queue", BAD_NAMES, {}),
        ("resume", "queue", BAD_NAMES, {}),
        ("claim", "queues", BAD_LISTS, {}),
        ("claim", "kinds", BAD_LISTS, {}),
        ("counts", "queues", BAD_LISTS, {}),
        ("beat", "kinds", BAD_LISTS, {"worker": "w"}),
        ("counts", "cap", {"zero": 0, "negative": -1, "a truth": True, "text": "1"}, {}),
        ("purge", "which", {"None": None, "a dict": {"states": ["dead"]}, "text": "dead"}, {}),
        ("replay_many", "which", {"None": None, "a list": ["dead"]}, {}),
        ("list", "which", {"a dict": {}, "text": "dead"}, {}),
        ("count", "which", {"a dict": {}, "text": "dead"}, {}),
        ("cancel_many", "which", {"None": None, "text": "dead"}, {}),
        ("cancel", "reason", {"None": None, "a number": 5}, {"id": SOME_ID}),
        ("cancel_many", "reason", {"None": None, "a number": 5}, {"which": tenure.Filter()}),
        ("enqueue_many", "jobs", {"None": None, "text": "k", "one job": tenure.NewJob(kind="k")}, {}),
        *[(verb, "id", BAD_IDS, {}) for verb in ("get", "history", "request", "explain", "cancel", "replay")],
        ("list", "before", BAD_IDS, {}),
        ("replay_many", "after", BAD_IDS, {"which": tenure.Filter()}),
        ("cancel_many", "after", BAD_IDS, {"which": tenure.Filter()}),
    ]
]


def fault(
    call: Callable[[], object], field: str, value: object, kind: type[Exception] = tenure.FieldError
) -> str | None:
    """What is wrong with the answer to a bad value; None if it names field, rule and value."""
    try:
        answer = call()
    except tenure.FieldError as error:
        facts = {
            "field": error.field == field,
            "value": error.value is value or error.value == value,
            "rule": error.rule.startswith(("must ", "needs ")),
            "text": str(error).startswith(f"{field}: {error.rule}, got ") and len(str(error)) < 500,
            "kind": isinstance(error, kind),
        }
        wrong = [name for name, right in facts.items() if not right]
        return f"wrong {', '.join(wrong)}: {error}" if wrong else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"taken, and answered {answer!r}"


def faults(say: Callable[[Any], object], field: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Which of these bad values are not answered as they should be."""
    found = {what: fault(lambda value=value: say(value), field, value) for what, value in values.items()}  # type: ignore[misc]
    return {what: wrong for what, wrong in found.items() if wrong is not None}


@pytest.mark.parametrize("field", FIELDS)
def test_a_bad_value_is_named_and_nothing_is_stored(q: tenure.Queue, field: str) -> None:
    values, beside = FIELDS[field]
    assert faults(lambda bad: q.enqueue(**{"kind": "k", **beside, field: bad}), field, values) == {}
    assert q.counts() == {}


@pytest.mark.parametrize("field", FIELDS)
def test_a_bad_value_in_a_bulk_is_named_and_nothing_is_stored(q: tenure.Queue, field: str) -> None:
    values, beside = FIELDS[field]
    good = tenure.NewJob(kind="k")

    def say(bad: Any) -> object:
        job: Any = {"kind": "k", **beside, field: bad}
        return q.enqueue_many([good, tenure.NewJob(**job), good])

    assert faults(say, field, values) == {}
    assert q.counts() == {}


@pytest.mark.parametrize("field", ["group_limit", "order"])
def test_what_is_said_of_no_group_is_named_as_well(q: tenure.Queue, field: str) -> None:
    values, _ = FIELDS[field]
    jobs = [tenure.NewJob(kind="k")] * 60
    assert faults(lambda bad: q.enqueue(**{"kind": "k", field: bad}), field, values) == {}
    assert faults(lambda bad: q.enqueue_job(tenure.NewJob(**{"kind": "k", field: bad})), field, values) == {}
    assert faults(lambda bad: q.enqueue_many([*jobs, tenure.NewJob(**{"kind": "k", field: bad})]), field, values) == {}  # fmt: skip
    assert q.counts() == {}


@pytest.mark.parametrize("name", ["max_payload", "max_crashes"])
def test_a_bad_limit_is_named_before_anything_is_opened(place: Place, name: str) -> None:
    def say(bad: Any) -> object:
        said: Any = {name: bad}
        return (
            tenure.open(place.url, **said)
            if place.way == "sync"
            else place.loop.wait(tenure.aopen(place.url, **said))
        )

    if place.path is not None:
        place.path.unlink()
    assert faults(say, name, BAD_COUNTS) == {}
    assert place.path is None or not place.path.exists()


@pytest.mark.parametrize(("said", "field", "value"), BESIDE)
def test_values_that_do_not_fit_are_named_and_nothing_is_stored(
    q: tenure.Queue, said: dict[str, Any], field: str, value: Any
) -> None:
    assert fault(lambda: q.enqueue("k", **said), field, value) is None
    assert q.counts() == {}


@pytest.mark.parametrize("name", ["run_at", "expires_at"])
def test_a_naive_datetime_is_a_type_error(q: tenure.Queue, name: str) -> None:
    moment: Any = {name: NAIVE}
    with pytest.raises(TypeError, match=f"{name}: must be timezone-aware"):
        q.enqueue("k", **moment)


def test_a_naive_clock_is_a_type_error(place: Place) -> None:
    q = place.open(clock=lambda: NAIVE)
    with pytest.raises(TypeError, match="clock: must be timezone-aware"):
        q.enqueue("k")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"queue": 5}, TypeError),
        ({"queue": ""}, ValueError),
        ({"delay": []}, TypeError),
        ({"delay": -1}, ValueError),
        ({"priority": "1"}, TypeError),
        ({"priority": 40_000}, ValueError),
        ({"id": 5}, TypeError),
        ({"id": "x"}, ValueError),
    ],
)
def test_a_refusal_is_also_the_error_python_would_raise(
    q: tenure.Queue, said: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        q.enqueue("k", **said)
    assert isinstance(caught.value, tenure.TenureError)


def random_text(length: int) -> str:
    """Text that no database can compress."""
    letters = random.Random(7)
    return "".join(chr(letters.randrange(0x4E00, 0x9FA0)) for _ in range(length))


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"kind": random_text(200)}, id="kind"),
        pytest.param({"queue": random_text(200)}, id="queue"),
        pytest.param({"unique": random_text(8_192)}, id="unique"),
        pytest.param({"unique": random_text(8_192), "unique_for": "1h"}, id="unique_for a period"),
        pytest.param({"group": random_text(600)}, id="group"),
        pytest.param({"flow": random_text(200)}, id="flow"),
        pytest.param({"tenant": random_text(200)}, id="tenant"),
        pytest.param({"tags": [random_text(200)] * 32}, id="tags"),
        pytest.param({"meta": {random_text(200): random_text(8_192)}}, id="meta"),
        pytest.param({"max_attempts": 2**31 - 1}, id="max_attempts"),
        pytest.param({"group": "g", "group_limit": 2**31 - 1}, id="group_limit"),
        pytest.param({"delay": "36500d"}, id="delay"),
    ],
)
def test_what_is_just_within_the_rules_is_stored(q: tenure.Queue, said: dict[str, Any]) -> None:
    answer = q.enqueue(**{"kind": "k", **said})
    job: Any = q.get(answer.id)
    kept = {
        name: list(job.tags) if name == "tags" else getattr(job, name)
        for name in said
        if name not in ("unique_for", "delay")
    }
    assert kept == {name: value for name, value in said.items() if name not in ("unique_for", "delay")}


@pytest.mark.parametrize("bad", [None, "k", {"kind": "k"}, ("k", {}), tenure.NewJob])
@pytest.mark.parametrize("count", [1, 100])
def test_a_bulk_takes_new_jobs_only(q: tenure.Queue, bad: Any, count: int) -> None:
    jobs = [*[tenure.NewJob(kind="k")] * count, bad]
    assert fault(lambda: q.enqueue_many(jobs), f"jobs[{count}]", bad, TypeError) is None
    assert q.counts() == {}


@pytest.mark.parametrize(("verb", "name", "values", "beside"), ARGUMENTS)
def test_a_bad_argument_is_named(
    q: tenure.Queue, verb: str, name: str, values: Mapping[str, Any], beside: Mapping[str, Any]
) -> None:
    assert faults(lambda bad: getattr(q, verb)(**{**beside, name: bad}), name, values) == {}


@pytest.mark.parametrize("name", ["queues", "kinds"])
def test_one_bad_name_among_good_ones_is_named(q: tenure.Queue, name: str) -> None:
    wanted: Any = {name: ["ok", "to be replaced"]}

    def say(bad: Any) -> object:
        wanted[name][1] = bad
        return q.claim(**wanted)

    assert faults(say, name, BAD_NAMES) == {}


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        pytest.param({"states": ["gone"]}, "states", "gone", id="an unknown state"),
        pytest.param({"states": ["dead", "Done"]}, "states", "Done", id="a state in capitals"),
        pytest.param({"states": "dead"}, "states", "dead", id="one state, not a list"),
        pytest.param({"kinds": "k"}, "kinds", "k", id="one kind, not a list"),
        pytest.param({"queues": "default"}, "queues", "default", id="one queue, not a list"),
        pytest.param({"ids": SOME_ID}, "ids", SOME_ID, id="one id, not a list"),
        pytest.param({"older_than": "-1h"}, "older_than", "-1h", id="a negative age"),
        pytest.param({"newer_than": "soon"}, "newer_than", "soon", id="no age"),
    ],
)
@pytest.mark.parametrize("verb", ["list", "purge", "replay_many"])
def test_a_bad_filter_is_named_and_changes_nothing(
    q: tenure.Queue, verb: str, said: dict[str, Any], field: str, value: Any
) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    q.settle(claim, tenure.Bury())
    assert fault(lambda: getattr(q, verb)(tenure.Filter(**said)), field, value) is None
    assert q.counts()["default"]["dead"] == 1


NOT_CLAIMS: list[Any] = [None, SOME_ID, (SOME_ID, 1), {"id": SOME_ID, "epoch": 1}]


@pytest.mark.parametrize("bad", NOT_CLAIMS)
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda q, bad: q.settle(bad, tenure.Done()), id="settle"),
        pytest.param(lambda q, bad: q.settle_many([(bad, tenure.Done())]), id="settle_many"),
        pytest.param(lambda q, bad: q.renew([bad]), id="renew"),
        pytest.param(lambda q, bad: q.progress(bad, 0.5), id="progress"),
    ],
)
def test_what_is_no_claim_is_refused(q: tenure.Queue, call: Any, bad: Any) -> None:
    assert fault(lambda: call(q, bad), "claim", bad, TypeError) is None


@pytest.mark.parametrize("bad", [None, "done", True, tenure.Done, ValueError("x"), {"result": 1}])
def test_what_is_no_outcome_is_refused_and_the_claim_stands(q: tenure.Queue, bad: Any) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    assert fault(lambda: q.settle(claim, bad), "outcome", bad, TypeError) is None
    assert fault(lambda: q.settle_many([(claim, bad)]), "outcome", bad, TypeError) is None
    assert q.settle(claim, tenure.Done())


@pytest.mark.parametrize(
    ("outcome", "field"),
    [
        pytest.param(lambda span: tenure.Snooze(span), "delay", id="snooze"),
        pytest.param(lambda span: tenure.Fail("e", retry_in=span), "retry_in", id="fail"),
    ],
)
def test_an_outcome_with_a_bad_wait_is_refused_and_the_claim_stands(
    q: tenure.Queue, outcome: Any, field: str
) -> None:
    q.enqueue("k")
    [claim] = q.claim()
    assert faults(lambda bad: q.settle(claim, outcome(bad)), field, BAD_SPANS) == {}
    assert q.settle(claim, tenure.Done())


def test_a_progress_that_is_not_from_0_to_1_is_refused(q: tenure.Queue) -> None:
    answer = q.enqueue("k")
    [claim] = q.claim()
    values = {repr(bad)[:20]: bad for bad in (-0.01, 1.01, float("inf"), True, "0.5", None, 10**400)}
    assert faults(lambda bad: q.progress(claim, bad), "done", values) == {}
    job = q.get(answer.id)
    assert job is not None
    assert job.progress is None
