"""Lengths of time: what is understood, what is refused, and how they are spelled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.duration import Duration, micros, parse, spell
from tenure.errors import FieldError, FieldTypeError

UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("90s", 90),
        ("30m", 1_800),
        ("1h30m", 5_400),
        ("168h", 604_800),
        ("7d", 604_800),
        ("1.5h", 5_400),
        (".5s", 0.5),
        ("250ms", 0.25),
        ("10us", 0.000_010),
        ("10µs", 0.000_010),
        (" 5s ", 5),
        ("+5s", 5),
        ("0", 0),
        ("0s", 0),
        (90, 90),
        (0.25, 0.25),
        (0, 0),
        (timedelta(minutes=2), 120),
        (timedelta(days=36_500), 3_153_600_000),
        ("36500d", 3_153_600_000),
    ],
)
def test_a_duration_is_text_seconds_or_a_timedelta(given: Duration, seconds: float) -> None:
    assert parse(given) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "given",
    [
        *("", " ", "s", "5", "1h30", "five", "1 h", "1h 30m", "5S", "1w", "1e3s", "1,5s", "inf", "nan"),
        *("--5s", "+-5s", "-+5s", "+", "-"),
    ],
)
def test_text_without_a_clear_meaning_is_refused(given: str) -> None:
    with pytest.raises(FieldError, match=r"^lease: must be a duration, got .*90s") as caught:
        parse(given, "lease", negative=True)
    assert (caught.value.field, caught.value.value) == ("lease", given)


@pytest.mark.parametrize("given", [None, True, [], b"5s", {"seconds": 5}])
def test_a_duration_of_another_type_is_refused(given: object) -> None:
    with pytest.raises(FieldTypeError, match=r"^lease: must be a timedelta, a number of seconds or text"):
        parse(given, "lease")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        *(float("inf"), float("-inf"), float("nan"), 1e300, 10**400, 3_153_600_001),
        *("36501d", "9" * 400 + "s", timedelta.max, timedelta(days=36_500, microseconds=1)),
    ],
)
def test_more_than_a_hundred_years_is_refused(given: Duration) -> None:
    with pytest.raises(FieldError, match=r"^lease: must be at most 100 years"):
        parse(given, "lease")


@pytest.mark.parametrize("given", [-1, -0.5, "-5s", "-1h30m", timedelta(microseconds=-1)])
def test_a_negative_duration_is_refused_unless_it_is_asked_for(given: Duration) -> None:
    with pytest.raises(FieldError, match=r"^lease: must not be negative"):
        parse(given, "lease")
    assert parse(given, "lease", negative=True) < timedelta(0)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(0), "0s"),
        (timedelta(microseconds=999), "0s"),
        (timedelta(milliseconds=250), "250ms"),
        (timedelta(seconds=45), "45s"),
        (timedelta(hours=1, minutes=30), "1h30m"),
        (timedelta(days=3), "3d"),
        (timedelta(days=3, hours=4, minutes=5), "3d4h"),
        (timedelta(hours=-1), "-1h"),
    ],
)
def test_a_duration_is_spelled_in_its_two_largest_units(span: timedelta, words: str) -> None:
    assert spell(span) == words


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=36_500)))
def test_what_is_spelled_is_understood_and_off_by_less_than_its_last_unit(span: timedelta) -> None:
    words = spell(span)
    read = parse(words)
    last = words.lstrip("0123456789") if words == "0s" else words[-2:] if words.endswith("ms") else words[-1]
    unit = 1_000 if words == "0s" else UNITS[last]
    assert timedelta(0) <= span - read < timedelta(microseconds=unit)
    assert spell(read) == words


@given(st.integers(0, 36_499), st.sampled_from(["d", "h", "m", "s", "ms"]))
def test_one_unit_is_spelled_and_understood_exactly(count: int, unit: str) -> None:
    span = parse(f"{count}{unit}")
    assert micros(span) == count * UNITS[unit]


@given(st.timedeltas())
def test_microseconds_are_exact(span: timedelta) -> None:
    assert timedelta(microseconds=micros(span)) == span
