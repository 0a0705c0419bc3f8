"""How long a failed job waits: every policy, at every attempt number."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import FieldError
from tenure.retry import DEFAULT, Exponential, Fixed, Ladder, RetryPolicy

HOUR = 3_600
ATTEMPTS = st.one_of(st.integers(-10, 100), st.integers(), st.sampled_from([10**9, 10**400, -(10**400)]))


def seconds(policy: RetryPolicy, *attempts: int) -> list[float]:
    return [policy.delay(n).total_seconds() for n in attempts]


def test_a_ladder_has_a_rung_per_attempt_and_its_last_one_serves_the_rest() -> None:
    ladder = Ladder("30s", "2m", "10m", "1h")
    assert seconds(ladder, 1, 2, 3, 4, 5, 6, 10**9) == [30, 120, 600, HOUR, HOUR, HOUR, HOUR]


def test_the_default_doubles_from_a_minute_to_an_hour() -> None:
    assert seconds(DEFAULT, 1, 2, 3, 4, 5, 6, 7, 8) == [60, 120, 240, 480, 960, 1_920, HOUR, HOUR]
    assert Exponential() == DEFAULT


@pytest.mark.parametrize("policy", [Ladder("30s", "2m"), Exponential(), Fixed("5s")])
@pytest.mark.parametrize("attempt", [0, -1, -(10**9)])
def test_an_attempt_below_one_counts_as_the_first(policy: RetryPolicy, attempt: int) -> None:
    assert policy.delay(attempt) == policy.delay(1)


@pytest.mark.parametrize("attempt", [1_100, 10**9, 10**400])
def test_no_attempt_number_overflows(attempt: int) -> None:
    assert seconds(Exponential(), attempt) == [HOUR]
    assert seconds(Exponential(first="1us", factor=1_000, cap="36500d"), attempt) == [36_500 * 24 * HOUR]
    assert seconds(Exponential(first=0), attempt) == [0]
    assert seconds(Exponential(first="5s", factor=1), attempt) == [5]


def test_a_fixed_wait_is_always_the_same() -> None:
    assert seconds(Fixed("5s"), -1, 0, 1, 2, 10**9) == [5, 5, 5, 5, 5]


def test_a_first_wait_beyond_the_cap_is_cut_to_it() -> None:
    assert seconds(Exponential(first="2h", cap="1h"), 1, 2) == [HOUR, HOUR]


@given(ATTEMPTS, st.floats(0, 1))
def test_jitter_stays_within_its_bounds_and_the_cap(attempt: int, jitter: float) -> None:
    plain = Exponential().delay(attempt).total_seconds()
    spread = Exponential(jitter=jitter).delay(attempt).total_seconds()
    assert plain * (1 - jitter) - 1e-6 <= spread <= min(plain * (1 + jitter), HOUR) + 1e-6


def test_jitter_differs_from_wait_to_wait() -> None:
    policy = Exponential(jitter=0.2)
    assert len({policy.delay(3) for _ in range(20)}) > 1


@given(ATTEMPTS, ATTEMPTS)
def test_a_later_attempt_never_waits_less(one: int, other: int) -> None:
    early, late = sorted([one, other])
    assert DEFAULT.delay(early) <= DEFAULT.delay(late)


@pytest.mark.parametrize("make", [lambda: Ladder("1s"), lambda: Fixed(1), lambda: Exponential(jitter=0.5)])
def test_policies_are_values(make: type[RetryPolicy]) -> None:
    assert isinstance(make(), RetryPolicy)
    assert make() == make()
    assert hash(make()) == hash(make())
    policy: Any = make()
    with pytest.raises(FrozenInstanceError):
        setattr(policy, fields(policy)[0].name, None)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Ladder(), "rungs"),
        (lambda: Ladder("1s", "-1s"), "rungs[1]"),
        (lambda: Ladder("soon"), "rungs[0]"),
        (lambda: Fixed(-1), "every"),
        (lambda: Exponential(first="-1s"), "first"),
        (lambda: Exponential(cap="-1s"), "cap"),
        (lambda: Exponential(factor="2"), "factor"),  # type: ignore[arg-type]
        (lambda: Exponential(factor=None), "factor"),  # type: ignore[arg-type]
        (lambda: Exponential(jitter=None), "jitter"),  # type: ignore[arg-type]
        (lambda: Exponential(jitter=True), "jitter"),
        (lambda: Exponential(factor=0.5), "factor"),
        (lambda: Exponential(factor=1_001), "factor"),
        (lambda: Exponential(factor=float("nan")), "factor"),
        (lambda: Exponential(jitter=-0.1), "jitter"),
        (lambda: Exponential(jitter=1.1), "jitter"),
        (lambda: Exponential(jitter=float("nan")), "jitter"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(make: type[RetryPolicy], field: str) -> None:
    with pytest.raises(FieldError) as caught:
        make()
    assert caught.value.field == field


def test_anything_with_a_delay_is_a_policy() -> None:
    class Mine:
        def delay(self, attempt: int) -> timedelta:
            return timedelta(seconds=attempt)

    assert isinstance(Mine(), RetryPolicy)
