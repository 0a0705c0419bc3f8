"""Payloads as text, and error texts: what is kept exactly, what is refused, what is masked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from time import process_time
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import PayloadError
from tenure.job import decode_text
from tenure.payload import (
    _SECRETS,
    MAX_DEPTH,
    MAX_ERROR,
    MAX_PAYLOAD,
    MAX_TRACEBACK,
    clean_error,
    encode,
    mask,
)

TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"

TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)


@dataclass
class Point:
    x: float
    tags: list[Any]


def nested(levels: int, innermost: Any) -> Any:
    """`innermost` inside that many lists."""
    value = innermost
    for _ in range(levels):
        value = [value]
    return value


@given(JSON)
def test_a_payload_comes_back_exactly_as_it_went_in(value: Any) -> None:
    text = encode(value)
    assert text.isascii()
    assert "\x00" not in text
    assert decode_text(text) == value


def test_keys_keep_their_order() -> None:
    assert encode({"b": 1, "a": 2}) == '{"b":1,"a":2}'


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, 2), [1, 2]),
        (Point(1.5, ["a"]), {"x": 1.5, "tags": ["a"]}),
        ({"at": datetime(2030, 1, 1, tzinfo=UTC)}, {"at": "2030-01-01T00:00:00Z"}),
        ([UUID(int=1)], ["00000000-0000-0000-0000-000000000001"]),
    ],
)
def test_what_msgspec_can_turn_into_json_may_be_a_payload(value: Any, plain: Any) -> None:
    assert json.loads(encode(value)) == plain


@pytest.mark.parametrize(
    ("value", "path", "rule"),
    [
        ({"a": [1, {"b": float("nan")}]}, ".a[1].b", "must be a finite number"),
        ([float("inf")], "[0]", "must be a finite number"),
        ({"p": Point(float("-inf"), [])}, ".p.x", "must be a finite number"),
        ({"a": {1: "x"}}, ".a[1]", "must have text keys"),
        ({None: 1}, "[None]", "must have text keys"),
        ({"a": [object()]}, ".a[0]", "must be JSON-able"),
        ({"f": len}, ".f", "must be JSON-able"),
        pytest.param(10**5_000, "", "must be JSON", id="a number too long to write"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_path_inside_it(value: Any, path: str, rule: str) -> None:
    with pytest.raises(PayloadError) as caught:
        encode(value)
    assert (caught.value.path, caught.value.field) == (path, f"payload{path}")
    assert caught.value.rule.startswith(rule)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("innermost", [1, [], {}])
def test_a_payload_is_nested_at_most_100_deep(innermost: Any) -> None:
    own = 0 if innermost == 1 else 1
    deepest = nested(MAX_DEPTH - own, innermost)
    assert decode_text(encode(deepest)) == deepest
    with pytest.raises(PayloadError, match="must be nested at most 100 deep"):
        encode([deepest])


def test_a_payload_without_a_bottom_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    for endless in (circle, {"a": circle}, nested(5_000, 1)):
        with pytest.raises(PayloadError, match="must be nested at most 100 deep"):
            encode(endless)


def test_a_wide_payload_is_not_a_deep_one() -> None:
    wide: list[dict[str, list[int]]] = [{"a": []} for _ in range(500)]
    assert decode_text(encode(wide)) == wide


def test_a_payload_is_at_most_a_mebibyte_of_json() -> None:
    assert len(encode("a" * (MAX_PAYLOAD - 2))) == MAX_PAYLOAD
    with pytest.raises(
        PayloadError, match=r"must be at most 1048576 bytes of JSON, this is 1048577.*reference"
    ):
        encode("a" * (MAX_PAYLOAD - 1))


def test_text_that_is_no_json_is_told_to_who_looks() -> None:
    with pytest.raises(PayloadError, match=r"is not JSON .*payload_text"):
        decode_text("{not json")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"token {TOKEN} is not valid", TOKEN),
        (f"POST https://api.telegram.org/bot{TOKEN}/sendMessage: 502", TOKEN[10:]),
        ("could not connect to postgresql://app:hunter2@db.local:5432/app", "hunter2"),
        ("redis://:hunter2@cache/0 refused", "hunter2"),
        ("Authorization: Bearer hunter2", "hunter2"),
        ("authorization=Basic hunter2", "hunter2"),
        ("{'Authorization': 'Bearer hunter2', 'X': '1'}", "hunter2"),
        ("Authorization: hunter2", "hunter2"),
        ("Authorization: Bot hunter2", "hunter2"),
        ("password=hunter2 host=db", "hunter2"),
        ('{"password": "hunter2"}', "hunter2"),
        ("PASSWD: hunter2", "hunter2"),
        ("?api_key=hunter2&x=1", "hunter2"),
        ("access_token=hunter2", "hunter2"),
        ("secret='hunter2'", "hunter2"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in mask(text)
    assert secret not in clean_error(RuntimeError(text))


PIECES = ("password", "PassWd", "pwd", "SECRET", "api_key", "API-Key", "access_token", "authorization", "Author\u0131zation", "pa\u017f\u017fword", "=", ": ", "'", '"', "://", "a", "@", "\n", " ", "&", "hunter2", TOKEN, "1", "x:y")  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_word_is_looked_for_that_a_secret_could_do_without(text: str) -> None:
    whole = text
    for _, pattern, instead in _SECRETS:
        whole = pattern.sub(instead, whole)
    assert mask(text) == whole


def test_what_stands_around_a_secret_stays_readable() -> None:
    masked = mask("connect to postgresql://app:hunter2@db.local/app failed: password=x1&user=app")
    assert masked == "connect to postgresql://app:***@db.local/app failed: password=***&user=app"


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'chapter'",
        "at 2030-01-01T12:30:45, job 0192f0c1-7b1e-7000-8000-000000000001",
        "https://example.org:8080/path?page=2",
        "line 123456: unexpected end",
        "the password was wrong",
        "",
    ],
)
def test_plain_errors_are_left_alone(text: str) -> None:
    assert mask(text) == text


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 50))
def test_an_error_text_can_be_kept_by_every_store(text: str, limit: int) -> None:
    kept = clean_error(text, limit)
    assert "\x00" not in kept
    assert kept.encode().decode() == kept
    assert len(kept) <= limit


def test_an_error_text_is_cut_at_4096_characters() -> None:
    assert clean_error("é" * MAX_ERROR) == "é" * 4_096
    assert clean_error("é" * (MAX_ERROR + 1)) == "é" * 4_095 + "…"


def test_an_error_whose_text_cannot_be_read_is_still_told() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert clean_error(Broken()) == "<Broken whose text could not be read>"


@pytest.mark.parametrize(
    "text", ["a." * 32_768, "a-b:" * 16_384, "1" * 65_536, "x://a" * 13_000, "authorization " * 4_600]
)
def test_masking_costs_in_proportion_to_the_text(text: str) -> None:
    start = process_time()
    clean_error(text, MAX_TRACEBACK)
    # In proportion it is some milliseconds, else it is ten seconds: no machine is so slow, or so fast.
    assert process_time() - start < 2
