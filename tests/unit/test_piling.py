"""Who is woken for nothing rests before it looks, ever longer, and not at all once something was for it."""

from __future__ import annotations

import time

import pytest

from tenure.worker.piling import Piling


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands where the test puts its only entry."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def rests(
    piling: Piling, moments: list[float], times: int, *, woken: bool = True, every: float = 0.01
) -> list[float]:
    found = []
    for _ in range(times):
        moments[0] += every
        piling.looked(woken=woken, found=False)
        found.append(piling.rest())
    return found


def test_who_is_woken_for_nothing_again_and_again_rests_ever_longer(moments: list[float]) -> None:
    assert rests(Piling(), moments, 15) == [0.0] * 8 + [0.001, 0.002, 0.004, 0.008, 0.01, 0.01, 0.01]


@pytest.mark.parametrize("why", [{"woken": False}, {"every": 0.06}], ids=["not woken", "seldom"])
def test_who_is_not_woken_often_never_rests(moments: list[float], why: dict[str, float]) -> None:
    assert rests(Piling(), moments, 30, **why) == [0.0] * 30  # type: ignore[arg-type]


def test_one_that_was_for_us_ends_it(moments: list[float]) -> None:
    piling = Piling()
    rests(piling, moments, 20)
    piling.looked(woken=True, found=True)
    assert piling.rest() == 0.0
    assert rests(piling, moments, 8) == [0.0] * 7 + [0.001]


def test_who_was_woken_long_ago_looks_at_once(moments: list[float]) -> None:
    piling = Piling()
    assert rests(piling, moments, 20)[-1] == 0.01
    moments[0] += 1.0
    assert piling.rest() == 0.0
