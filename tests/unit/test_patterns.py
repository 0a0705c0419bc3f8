"""Patterns with stars, and words about what a payload holds."""

from __future__ import annotations

import fnmatch
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenure
from tenure.inside import Inside, check_path, fits, insides, needles
from tenure.patterns import escape, is_pattern, matches, packed, parts_of

TEXTS = st.text(alphabet="ab*?[]\\%_", max_size=12)


@pytest.fixture(scope="module")
def sqlite() -> Iterator[sqlite3.Connection]:
    """Nothing but SQLite's own opinion."""
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("send_*", "send_email", True),
        ("send_*", "send_", True),
        ("send_*", "resend_email", False),
        ("*_email", "send_email", True),
        ("s*_*l", "send_email", True),
        ("s*x*l", "send_email", False),
        ("a*a", "a", False),
        ("a*ab", "ab", False),
        ("*", "", True),
        ("send", "Send", False),
        (r"a\*b", "a*b", True),
        (r"a\*b", "axb", False),
        (r"a\*b*", "a*b!", True),
        (r"App\Jobs\*", r"App\Jobs*", True),
    ],
)
def test_a_star_stands_for_any_run_of_characters(pattern: str, text: str, expected: bool) -> None:
    assert matches(parts_of(pattern), text) is expected


@settings(deadline=None)
@given(TEXTS)
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    assert not is_pattern(escape(text))
    assert parts_of(escape(text)) == (text,)


@settings(deadline=None)
@given(
    st.lists(st.text(alphabet="ab?[]%_", max_size=3), min_size=2, max_size=4),
    st.text(alphabet="ab?[]%_", max_size=8),
)
def test_python_and_sqlite_agree_about_a_pattern(
    sqlite: sqlite3.Connection, parts: list[str], text: str
) -> None:
    glob = packed(parts)["glob"]
    [(told,)] = sqlite.execute("SELECT ? GLOB ?", (text, glob))
    assert bool(told) is matches(parts, text) is fnmatch.fnmatchcase(text, glob)


PAYLOAD = '{"to":"a@b.c","n":3,"f":1.5,"big":1e3,"ok":true,"none":null,"items":[{"sku":"A1"},{"sku":"B2"}],"tags":["x","y"],"o":{}}'


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("to", "a@b.c", True),
        ("to", "*@b.c", True),
        ("to", "a@b", False),
        ("n", "3", True),
        ("n", "3.0", True),
        ("n", "4", False),
        ("f", "1.5", True),
        ("big", "1000", True),
        ("ok", "true", True),
        ("ok", "1", False),
        ("none", "null", True),
        ("items.0.sku", "A1", True),
        ("items.1.sku", "A1", False),
        ("items.2.sku", "A1", False),
        ("tags", "y", True),
        ("tags", "z", False),
        ("o", "*", True),
        ("o", "x", False),
        ("missing", "*", False),
        ("to.deeper", "*", False),
    ],
)
def test_a_word_is_about_what_stands_at_its_path(path: str, value: str, expected: bool) -> None:
    word = [Inside(path, (value,))]
    assert fits(word, (), PAYLOAD) is expected
    assert fits((), word, PAYLOAD) is not expected
    if expected:
        assert all(needle in PAYLOAD for needle in needles(word))


def test_one_of_several_values_is_enough_and_all_words_must_hold() -> None:
    assert fits([Inside("n", ("2", "3")), Inside("to", ("a*",))], (), PAYLOAD)
    assert not fits([Inside("n", ("2", "3")), Inside("to", ("b*",))], (), PAYLOAD)


def test_in_a_payload_that_is_no_json_nothing_stands_anywhere() -> None:
    word = [Inside("to", ("*",))]
    assert not fits(word, (), "not json")
    assert fits((), word, "not json")


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), inner),
        max_leaves=8,
    ),
    st.text(max_size=20),
)
def test_needles_never_miss_what_fits(payload: Any, value: str) -> None:
    from tenure.payload import encode

    text = encode({"a": {"b": value}, "c": payload})
    word = [Inside("a.b", (escape(value),))]
    assert fits(word, (), text)
    assert all(needle in text for needle in needles(word))


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a b", "a:b", 'a"b', "a,b", "x" * 501])
def test_a_path_is_keys_joined_by_dots(path: str) -> None:
    with pytest.raises(tenure.FieldError, match="payload: must have keys joined by dots"):
        check_path(path, "payload")


@pytest.mark.parametrize("given", ["to", 5, [("to",)], {"to": 5}, {"to": b"x"}])
def test_what_is_no_words_about_a_payload_is_refused(given: Any) -> None:
    with pytest.raises(tenure.FieldTypeError, match="payload: must map"):
        insides(given, "payload")
