"""A filter that is not understood: where, what was expected, what may have been meant."""

from __future__ import annotations

import pytest

import tenure
from tenure import query

ID = "0190a5d0-0000-7000-8000-000000000001"

MISTAKES = [
    # text, the part that is wrong, a piece of the sentence, what is near
    ("state:ded", "ded", "there is no state 'ded'; expected one of scheduled", "dead"),
    ("kind:a state:dead,runing", "runing", "there is no state 'runing'", "running"),
    ("stat:dead", "stat", "there is no field 'stat'; expected one of state, kind", "state"),
    ("knd:x", "knd", "there is no field 'knd'", "kind"),
    ("dead", "dead", "'dead' is no word of a filter; expected field:value", "state:dead"),
    (ID, ID, "is no word of a filter", f"id:{ID}"),
    ("state:dead kindd", "kindd", "'kindd' is no word", "kind:send_*"),
    ("state:", "", "state has no value; expected a state", ""),
    ("state:dead,", "", "state has no value", ""),
    ('kind:""', '""', "kind has no value; expected a kind", ""),
    (":dead", ":", "is no word of a filter", ""),
    ("-", "", "is no word of a filter", ""),
    ('error:"no end', '"no end', "the quote is not closed; expected another", ""),
    ('error:"a"b', "b", "text behind the closing quote; expected a blank or a comma", ""),
    ("age:1h", "1h", "an age is never exact; expected > or < and a length of time", "age:>1h"),
    ("age:>soon", ">soon", "'soon' is no length of time; expected > or <", ""),
    ("age:>5", ">5", "'5' is no length of time", ""),
    ("overdue:<5s", "<5s", "it can only be asked what is overdue for longer; expected > and a length of time", ""),
    ("overdue:>soon", ">soon", "'soon' is no length of time; expected >", ""),
    ("age:>1h,2h", "2h", "age takes one value", ""),
    ("attempt:many", "many", "'many' is no whole number; expected a number, as in attempt:3", ""),
    ("attempt:>=", ">=", "'' is no whole number", ""),
    ("-attempt:3", "attempt:3", "-attempt:3 cannot be asked; expected attempt:<3 or attempt:>3", ""),
    ("tag:a,b", "b", "tag takes one value; expected the word once more, as in tag:a tag:b", ""),
    ("group:a,b", "b", "group takes one value; expected a group's key; a comma in a value needs quotes", ""),
    ("-group:a", "group:a", "group cannot be turned around; expected the word without the minus", ""),
    ("id:7", "7", "'7' is no job's id; expected a UUID", ""),
    ("parent:x", "x", "'x' is no job's id", ""),
    ("kind:a kind:b", "kind:b", "kind is said twice; expected alternatives in one word, as in kind:one,two", ""),
    ("group:a group:b", "group:b", "group is said twice; expected one group", ""),
    ("payload:x", "payload", "there is no field 'payload'", "payload.PATH"),
    ("payload.:x", "payload.", "'' is no path into a payload; expected keys joined by dots", ""),
    ("payload.a..b:x", "payload.a..b", "'a..b' is no path into a payload", ""),
    ("payload.to:", "", "payload has no value", ""),
    ("paylod.to:x", "paylod.to", "there is no field 'paylod.to'", "payload.to"),
    ("kind:*a*b*c*d*e*f*g*h*i", "*a*b*c*d*e*f*g*h*i", "too many stars; expected at most 8", ""),
    (f"kind:{'x' * 201}", "x" * 201, "a value of 201 characters; expected at most 200", ""),
    ("kind:a\x00", "\x00", "a character that no job can have", ""),
    ("state:pending -state:pending", "state:pending -state:pending", "no state is left", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "part", "told", "near"), MISTAKES, ids=[repr(m[0])[:40] for m in MISTAKES])
def test_a_mistake_is_told_with_its_place_what_was_expected_and_what_is_near(
    text: str, part: str, told: str, near: str
) -> None:
    with pytest.raises(tenure.FilterError) as caught:
        query.parse(text)
    error = caught.value
    assert text[error.start : error.end] == part
    assert str(error).startswith(f"filter, column {error.start + 1}: ")
    assert told in str(error)
    assert error.near == near
    assert (f"did you mean {near}?" in str(error)) is bool(near)


def test_the_place_is_pointed_at_below_the_text() -> None:
    with pytest.raises(tenure.FilterError) as caught:
        query.parse("kind:send_* state:ded queue:x")
    assert caught.value.pointed() == "kind:send_* state:ded queue:x\n                  ^^^"


def test_nothing_that_steers_a_terminal_is_in_what_is_pointed_at() -> None:
    with pytest.raises(tenure.FilterError) as caught:
        query.parse("kind:\x1b[31m\nstate:ded")
    assert caught.value.pointed().isprintable() is False  # for the line between
    assert "\x1b" not in caught.value.pointed()
    assert len(caught.value.pointed().split("\n")) == 2


def test_a_text_beyond_all_measure_is_refused() -> None:
    with pytest.raises(tenure.FilterError, match="longer than 10000 characters"):
        query.parse("kind:" + "x" * 10_000)


def test_a_mistake_is_a_field_error_too() -> None:
    with pytest.raises(tenure.FieldError) as caught:
        query.parse("state:ded")
    assert (caught.value.field, caught.value.value) == ("filter", "ded")
