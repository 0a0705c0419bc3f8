"""What may come next in a filter that is being written."""

from __future__ import annotations

import pytest

from tenure import query
from tenure.patterns import escape, parts_of

KNOWN = {"kind": ["send_email", "send_sms", "two words", "a*b", "a*, b"], "queue": ["mail"]}


def offered(text: str, cursor: int | None = None) -> list[str]:
    """The whole text, with each candidate put in."""
    found = query.complete(text, cursor, KNOWN)
    return [text[: found.start] + c.text + text[found.end :] for c in found.candidates]


def test_an_empty_text_is_offered_every_field() -> None:
    assert offered("")[:3] == ["state:", "kind:", "queue:"]
    assert "payload." in offered("")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s", ["state:"]),
        ("state:dead p", ["state:dead priority:", "state:dead parent:", "state:dead payload."]),
        ("-q", ["-queue:"]),
        ("-gr", []),
        ("state:d", ["state:done", "state:dead"]),
        ("state:dead,c", ["state:dead,cancelled"]),
        ("state:dead,de", []),
        ("kind:send_", ["kind:send_email", "kind:send_sms"]),
        ("kind:SEND_E", ["kind:send_email"]),
        ("kind:two", ['kind:"two words"']),
        ('kind:"two w', ['kind:"two words"']),
        ("-kind:send_s", ["-kind:send_sms"]),
        ("kind:a", [r"kind:a\*b", r'kind:"a\\*, b"']),
        (r"kind:a\*", [r"kind:a\*b"]),
        ("queue:", ["queue:mail"]),
        ("age:>5", ["age:>5m"]),
        ("nosuch:x", []),
        ("payload.to:", []),
    ],
)
def test_what_is_being_typed_is_completed(text: str, expected: list[str]) -> None:
    assert offered(text) == expected


@pytest.mark.parametrize("name", ["a*b", "a*, b", "*x", r"a\*", 'a"*', "plain"])
def test_a_name_that_is_offered_means_itself_alone(name: str) -> None:
    [found] = query.complete("kind:", None, {"kind": [name]}).candidates
    assert query.parse(f"kind:{found.text}").kinds == (escape(name),)
    assert parts_of(escape(name)) == (name,)


def test_the_word_at_the_cursor_is_completed_and_the_rest_stays() -> None:
    assert offered("state:d kind:x", 7) == ["state:done kind:x", "state:dead kind:x"]


def test_a_blank_in_quotes_begins_no_word() -> None:
    assert offered('error:"no route" st') == ['error:"no route" state:']
    assert offered('error:"no st') == []


def test_a_candidate_says_what_it_means() -> None:
    [found] = query.complete("stat").candidates
    assert "as in state:dead,cancelled" in found.means


def test_the_field_whose_value_is_being_typed_is_told() -> None:
    assert query.open_field("state:dead kind:se") == "kind"
    assert query.open_field("-queue:a,") == "queue"
    assert query.open_field("kind:send ", 7) == "kind"
    assert [query.open_field(text) for text in ("", "ki", "kind:send ")] == [None] * 3
