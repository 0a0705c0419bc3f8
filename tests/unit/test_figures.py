"""Histograms: mergeable, and never further from the truth than a bucket is wide."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenure
from tenure.figures import Histogram

SECONDS = st.floats(min_value=1e-6, max_value=1e8)
MANY = st.lists(SECONDS, min_size=1, max_size=200)
EDGES = st.integers(-8, 200).map(lambda at: 2 ** (at / 4) / 1_000_000) | st.sampled_from(
    [-3.0, 0.0, math.inf]
)
"""Where a bucket begins, and what lies outside of all."""
WIDTH = 2 ** (1 / 8) * 1.000_001
"""Half a bucket, by factor: from its middle to either end."""


@given(MANY, st.floats(min_value=0, max_value=1))
def test_a_quantile_is_within_half_a_bucket_of_the_exact_one(values: list[float], share: float) -> None:
    exact = sorted(values)[max(math.ceil(share * len(values)), 1) - 1]
    told = Histogram(values).quantile(share)
    assert told is not None
    assert exact / WIDTH <= told <= exact * WIDTH


@given(MANY, MANY)
def test_merging_is_as_if_all_had_been_added_to_one(one: list[float], other: list[float]) -> None:
    merged = Histogram(one)
    merged.merge(Histogram(other))
    assert merged == Histogram([*one, *other])
    assert merged.count == len(one) + len(other)


@given(MANY, MANY)
def test_texts_put_together_are_the_text_of_both(one: list[float], other: list[float]) -> None:
    both = Histogram.decode(Histogram(one).encode() + Histogram(other).encode())
    assert both == Histogram([*one, *other])
    assert Histogram.decode(both.encode()) == both


@given(st.lists(SECONDS | EDGES, max_size=200), st.integers(1, 50))
def test_adding_one_by_one_is_as_adding_all(values: list[float], times: int) -> None:
    one_by_one, at_once = Histogram(), Histogram()
    for value in values:
        one_by_one.add(value, times)
    at_once.add_all(values, times)
    assert at_once == one_by_one
    assert at_once.count == len(values) * times


def test_what_is_no_number_ends_the_count_of_nobody_else() -> None:
    held = Histogram()
    held.add_all([0.5, float("nan"), 1.0])
    assert held.count == 3


def test_an_empty_one_has_no_quantile_and_no_text() -> None:
    assert Histogram().quantile(0.5) is None
    assert Histogram().encode() == ""
    assert Histogram.decode("").count == 0


def test_a_clock_that_went_back_counts_as_no_time_at_all() -> None:
    assert Histogram([-3.0, 0.0]).quantile(1) == 0.0


def test_a_thousand_alike_take_a_short_text() -> None:
    assert len(Histogram([0.01] * 1_000).encode()) < 12


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_is_from_nothing_to_all(share: float) -> None:
    with pytest.raises(tenure.FieldError, match="from 0 to 1"):
        Histogram([1.0]).quantile(share)


@pytest.mark.parametrize("text", ["1,", "1,2,3,", "a,1,", "1,2 3,4,", "1.5,2,"])
def test_a_text_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(tenure.FieldError, match="as encode"):
        Histogram.decode(text)


def test_no_number_is_no_time() -> None:
    with pytest.raises(tenure.FieldError, match="must be a number"):
        Histogram().add(math.nan)
