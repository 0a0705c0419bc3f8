"""note and set_note: small texts by name, set by comparing, kept for ever or for a while."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import tenure
from tests.support.claiming import at_once
from tests.support.clock import MovedClock
from tests.support.places import Place

RACERS = 16
LONGEST = 65_536
TEXTS = ["", "free", "free\nfree", "it's ☃ {} :name %s $1", "x" * LONGEST]


class Undone(Exception):
    """Raised to roll a transaction back."""


def names(place: Place) -> list[str]:
    """The notes that the table holds, those that are over too."""
    return [name for (name,) in place.sql("SELECT name FROM tenure.notes ORDER BY name")]


@pytest.mark.parametrize("text", TEXTS, ids=["empty", "word", "lines", "signs", "longest"])
def test_a_note_says_what_was_put_down_last(q: tenure.Queue, place: Place, text: str) -> None:
    assert q.note("bot:token") is None
    assert q.set_note("bot:token", "something")
    assert q.set_note("bot:token", text)
    assert q.set_note("bot:other", "else")
    assert q.note("bot:token") == text
    assert place.open().note("bot:token") == text


def test_a_note_that_was_taken_away_is_gone(q: tenure.Queue, place: Place) -> None:
    q.set_note("a", "1")
    assert q.set_note("a", None)
    assert q.note("a") is None
    assert q.set_note("a", None)
    assert names(place) == []


def test_a_note_is_changed_only_where_it_says_what_is_expected(q: tenure.Queue) -> None:
    assert not q.set_note("a", "1", expect="0")
    assert q.note("a") is None
    assert q.set_note("a", "1", expect=None)
    assert not q.set_note("a", "2", expect=None)
    assert not q.set_note("a", "2", expect="0")
    assert q.note("a") == "1"
    assert q.set_note("a", "2", expect="1")
    assert q.note("a") == "2"


def test_a_note_is_taken_away_only_where_it_says_what_is_expected(q: tenure.Queue) -> None:
    assert q.set_note("a", None, expect=None)
    assert not q.set_note("a", None, expect="1")
    q.set_note("a", "1")
    assert not q.set_note("a", None, expect=None)
    assert not q.set_note("a", None, expect="2")
    assert q.note("a") == "1"
    assert q.set_note("a", None, expect="1")
    assert q.note("a") is None


def test_a_note_is_over_when_its_time_is(cq: tenure.Queue, clock: MovedClock) -> None:
    assert cq.set_note("a", "1", keep="10s")
    clock.advance("9s")
    assert cq.note("a") == "1"
    clock.advance("1s")
    assert cq.note("a") is None
    assert not cq.set_note("a", "2", expect="1")
    assert not cq.set_note("a", None, expect="1")
    assert cq.set_note("a", None, expect=None)
    assert cq.set_note("a", "2", expect=None)
    assert cq.note("a") == "2"


def test_a_note_put_down_again_is_kept_as_long_as_was_said_last(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.set_note("longer", "1", keep="10s")
    cq.set_note("longer", "2", keep="1h")
    cq.set_note("for ever", "1", keep="10s")
    cq.set_note("for ever", "2", expect="1")
    cq.set_note("shorter", "1")
    cq.set_note("shorter", "1", expect="1", keep="10s")
    clock.advance("30m")
    assert [cq.note(name) for name in ("longer", "for ever", "shorter")] == ["2", "2", None]


def test_retention_forgets_notes_that_are_over_and_no_others(
    cq: tenure.Queue, clock: MovedClock, place: Place
) -> None:
    cq.set_note("short", "1", keep="1h")
    cq.set_note("long", "1", keep="1d")
    cq.set_note("for ever", "1")
    clock.advance("2h")
    cq.retain()
    assert names(place) == ["for ever", "long"]


@pytest.mark.parametrize("expect", [None, "free"], ids=["where there is none", "where there is one"])
def test_of_many_who_race_for_a_note_one_is_told_that_it_is_theirs(place: Place, expect: str | None) -> None:
    queues = [place.open() for _ in range(4)]
    if expect is not None:
        queues[0].set_note("leader", expect)
    won = at_once(
        [
            partial(queues[n % 4].set_note, "leader", f"racer {n}", expect=expect, keep="1h")
            for n in range(RACERS)
        ]
    )
    assert won.count(True) == 1
    assert queues[0].note("leader") == f"racer {won.index(True)}"


def test_of_many_who_race_to_take_a_note_away_one_did(place: Place) -> None:
    queues = [place.open() for _ in range(4)]
    queues[0].set_note("leader", "me")
    gone = at_once([partial(queues[n % 4].set_note, "leader", None, expect="me") for n in range(RACERS)])
    assert gone.count(True) == 1


def test_counting_by_comparing_loses_no_count(place: Place) -> None:
    queues = [place.open() for _ in range(4)]

    def count(queue: tenure.Queue) -> None:
        while True:
            now = queue.note("count")
            if queue.set_note("count", str(int(now or "0") + 1), expect=now):
                return

    at_once([partial(count, queue) for queue in queues])
    assert queues[0].note("count") == "4"


def test_a_note_put_down_inside_commits_with_the_callers_transaction(own_place: Place) -> None:
    q = own_place.open()
    with own_place.transaction() as tx:
        assert tx.queue.set_note("a", "1", expect=None)
        assert tx.queue.note("a") == "1"
        assert q.note("a") is None
    assert q.note("a") == "1"


@pytest.mark.parametrize(
    "said",
    [
        {"value": "2"},
        {"value": "2", "expect": "1", "keep": "1h"},
        {"value": None},
        {"value": None, "expect": "1"},
    ],
    ids=["anyway", "compared", "taken away", "taken away by comparing"],
)
def test_what_was_done_to_a_note_inside_rolls_back_with_the_callers_transaction(
    own_place: Place, said: dict[str, Any]
) -> None:
    q = own_place.open()
    q.set_note("a", "1")
    with pytest.raises(Undone), own_place.transaction() as tx:
        assert tx.queue.set_note("a", **said)
        assert tx.queue.note("a") == said["value"]
        raise Undone
    assert q.note("a") == "1"


@pytest.mark.parametrize("name", ["", "x" * 201, " a", "a\n", "a\x00", "a\ud800", 5, None], ids=repr)
def test_a_bad_name_is_told_and_nothing_is_kept(q: tenure.Queue, place: Place, name: Any) -> None:
    for call in (partial(q.note, name), partial(q.set_note, name, "1")):
        with pytest.raises(tenure.FieldError) as caught:
            call()
        assert caught.value.field == "name"
    assert names(place) == []


@pytest.mark.parametrize("field", ["value", "expect"])
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (5, "must be text"),
        (b"1", "must be text"),
        ("a\x00b", "without NUL"),
        ("a\ud800b", "lone surrogates"),
        ("x" * (LONGEST + 1), "at most 65536 bytes"),
        ("é" * (LONGEST // 2 + 1), "at most 65536 bytes"),
    ],
    ids=["number", "bytes", "NUL", "surrogate", "too long", "too long in bytes"],
)
def test_a_bad_text_is_told_and_nothing_is_kept(
    q: tenure.Queue, place: Place, field: str, text: Any, rule: str
) -> None:
    with pytest.raises(tenure.FieldError, match=rule) as caught:
        q.set_note("a", **{"value": "1", field: text})
    assert caught.value.field == field
    assert isinstance(caught.value, TypeError) == (not isinstance(text, str))
    assert names(place) == []


@pytest.mark.parametrize(
    ("value", "keep"), [("1", 0), ("1", -1), ("1", "soon"), ("1", True), (None, "1h")], ids=repr
)
def test_a_bad_time_to_keep_is_told_and_nothing_is_kept(
    q: tenure.Queue, place: Place, value: str | None, keep: Any
) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        q.set_note("a", value, keep=keep)
    assert caught.value.field == "keep"
    assert names(place) == []
