"""The filter language: what its texts mean, and that what is written is read back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenure
from tenure import query
from tenure.job import State
from tenure.query.fields import FIELDS, STATES

ID, OTHER = "0190a5d0-0000-7000-8000-000000000001", "0190a5d0-0000-7000-8000-000000000002"

MEANINGS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    (" \t\n ", {}),
    ("state:dead", {"states": ["dead"]}),
    ("state:dead,cancelled", {"states": ["dead", "cancelled"]}),
    ("state:pending", {"states": ["pending"]}),
    ("-state:done,dead", {"states": ["scheduled", "waiting", "ready", "running", "cancelled"]}),
    ("state:pending -state:ready", {"states": ["scheduled", "waiting"]}),
    ("kind:send_*", {"kinds": ["send_*"]}),
    ("kind:a,b -kind:c -kind:d", {"kinds": ["a", "b"], "except_kinds": ["c", "d"]}),
    ("queue:mail -queue:bulk*", {"queues": ["mail"], "except_queues": ["bulk*"]}),
    ("error:Timeout*", {"error": "Timeout*"}),
    ("error:a,b -error:c", {"error": ["a", "b"], "except_error": ["c"]}),
    ('error:"no route, to host"', {"error": "no route, to host"}),
    (r'error:"say \"no\" \\ twice"', {"error": r'say "no" \ twice'}),
    (r"error:100\*", {"error": r"100\*"}),
    ("age:>1h", {"older_than": timedelta(hours=1)}),
    ("age:>=1h age:<=1d", {"older_than": timedelta(hours=1), "newer_than": timedelta(days=1)}),
    ("age:<1h30m", {"newer_than": timedelta(minutes=90)}),
    ("-age:>1h", {"newer_than": timedelta(hours=1)}),
    ("age:>1h age:>2h", {"older_than": timedelta(hours=2)}),
    ("attempt:3", {"attempt_from": 3, "attempt_to": 3}),
    ("attempt:>3", {"attempt_from": 4}),
    ("attempt:>=3 attempt:<5", {"attempt_from": 3, "attempt_to": 4}),
    ("-attempt:>=3", {"attempt_to": 2}),
    ("priority:<=-1", {"priority_to": -1}),
    ("-priority:<0", {"priority_from": 0}),
    ("tag:a tag:b -tag:c", {"tag": ["a", "b"], "except_tag": ["c"]}),
    (f"id:{ID.upper()},{OTHER}", {"ids": [ID, OTHER]}),
    ("fingerprint:9f86", {"fingerprint": "9f86"}),
    ("overdue:>5s", {"overdue_by": timedelta(seconds=5)}),
    ("group:chat:7", {"group": "chat:7"}),
    (f"tenant:acme flow:f parent:{ID}", {"tenant": "acme", "flow": "f", "parent": ID}),
    ('payload.to:"a@b.c"', {"payload": {"to": "a@b.c"}}),
    ("payload.items.0.sku:A1,A2", {"payload": {"items.0.sku": ["A1", "A2"]}}),
    ('payload.to:"" -payload.n:3', {"payload": {"to": ""}, "except_payload": {"n": "3"}}),
    ('state:dead kind:send_* queue:mail error:Timeout* age:>1h attempt:>=3 tag:x payload.to:"a@b.c"', {
        "states": ["dead"], "kinds": ["send_*"], "queues": ["mail"], "error": "Timeout*", "older_than": timedelta(hours=1),
        "attempt_from": 3, "tag": "x", "payload": {"to": "a@b.c"},
    }),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), MEANINGS, ids=[text or "empty" for text, _ in MEANINGS])
def test_a_text_means_a_filter(text: str, meant: dict[str, Any]) -> None:
    assert query.parse(text) == tenure.Filter(**meant)


@pytest.mark.parametrize("text", [text for text, _ in MEANINGS], ids=lambda text: text or "empty")
def test_what_is_written_is_read_back(text: str) -> None:
    which = query.parse(text)
    assert query.parse(query.format(which)) == which


def test_a_filter_is_written_as_one_would_write_it() -> None:
    said = 'state:dead kind:send_* -queue:bulk error:Timeout* age:>1h attempt:>=3 tag:vip payload.to:"a b"'
    assert query.format(query.parse(said)) == said
    assert query.format(tenure.Filter()) == ""
    assert query.format(tenure.Filter(states=[State.DEAD], older_than="90m")) == "state:dead age:>1h30m"


def test_every_field_has_an_example_that_is_understood() -> None:
    for field in FIELDS:
        query.parse(field.example.replace("0190a5d0-…", ID))


@pytest.mark.parametrize("part", ["states", "kinds", "queues", "ids", "error"])
def test_a_list_of_nothing_cannot_be_written(part: str) -> None:
    given: dict[str, Any] = {part: []}
    with pytest.raises(tenure.FieldError, match="must not be empty"):
        query.format(tenure.Filter(**given))


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00*"), min_size=1, max_size=30)
PATTERN = st.lists(TEXT | st.just("*") | st.just(r"\*"), min_size=1, max_size=5).map("".join)
SOME = st.lists(PATTERN, min_size=1, max_size=3, unique=True).map(tuple)
UUIDS = st.uuids().map(str)
AGE = st.integers(0, 36_500 * 86_400 * 10**6).map(lambda n: timedelta(microseconds=n))
NUMBER = st.integers(-999_999_999, 999_999_999)
PATH = (
    st.lists(st.from_regex(r"[^\s:\",.]+", fullmatch=True), min_size=1, max_size=3)
    .map(".".join)
    .filter(lambda p: not any("\ud800" <= c <= "\udfff" or c == "\x00" for c in p))
)
INSIDE = st.lists(
    st.tuples(PATH, st.lists(PATTERN | st.just(""), min_size=1, max_size=2, unique=True).map(tuple)),
    min_size=1, max_size=2, unique=True,
).map(tuple)  # fmt: skip
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "states": st.lists(st.sampled_from(STATES), min_size=1, unique=True).map(tuple),
        "kinds": SOME, "except_kinds": SOME, "queues": SOME, "except_queues": SOME, "error": SOME, "except_error": SOME,
        "tag": SOME, "except_tag": SOME, "ids": st.lists(UUIDS, min_size=1, max_size=3, unique=True).map(tuple),
        "fingerprint": TEXT, "group": TEXT, "tenant": TEXT, "flow": TEXT, "parent": UUIDS, "older_than": AGE, "newer_than": AGE, "overdue_by": AGE,
        "attempt_from": NUMBER, "attempt_to": NUMBER, "priority_from": NUMBER, "priority_to": NUMBER,
        "payload": INSIDE, "except_payload": INSIDE,
    },
)  # fmt: skip


@settings(deadline=None)
@given(FILTERS)
def test_every_filter_that_can_be_written_is_read_back(parts: dict[str, Any]) -> None:
    which = tenure.Filter(**parts)
    assert query.parse(query.format(which)) == which


PIECES = st.sampled_from(
    ["state:", "kind:", "age:", "payload.", "-", ":", ",", '"', "\\", "*", " ", ">", "<=", "dead", "1h", "3", "x", "é", "tag:", "id:"]
)  # fmt: skip


def read(text: str) -> tenure.Filter | tenure.FilterError:
    """What a text says, or what is wrong with it."""
    try:
        return query.parse(text)
    except tenure.FilterError as error:
        return error


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40))
def test_whatever_is_typed_is_understood_or_pointed_at(text: str) -> None:
    told = read(text)
    if isinstance(told, tenure.Filter):
        assert query.parse(query.format(told)) == told
    else:
        assert 0 <= told.start <= len(text)
        assert told.start <= told.end
        assert f"column {told.start + 1}" in str(told)
        assert len(told.pointed().split("\n")) == 2


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40), st.integers(-1, 45))
def test_completing_never_fails_whatever_is_typed(text: str, cursor: int) -> None:
    found = query.complete(text, cursor, {"kind": ["a b", "x"]})
    assert 0 <= found.start <= found.end <= len(text)
