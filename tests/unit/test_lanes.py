"""Lanes: where a claim looks, and where it does not."""

from __future__ import annotations

import json

import pytest

from tenure.newjob import lane_of
from tenure.store.lanes import Marks, Scope


def looked_at(scope: Scope, lane: str) -> bool:
    """Whether the lane is in one of the ranges that a claim probes for lanes it does not know."""
    return any(gap["low"] < lane < gap["high"] for gap in json.loads(scope.gaps))


def test_every_lane_of_an_excepted_queue_is_stepped_over() -> None:
    scope = Scope(None, None, ("mail", "a b", "z"))
    for queue in ("mail", "a b", "z"):
        for kind in ("a", "k", "\U0010fffe"):
            for rank in (-32_768, 0, 32_767):
                assert not looked_at(scope, lane_of(queue, kind, rank))


def test_every_other_lane_is_looked_at() -> None:
    scope = Scope(None, None, ("mail", "a b", "z"))
    for queue in ("!", "a", "a  b", "mai", "mail 2", "mailbox", "mbox", "zz", "\u00e9"):
        assert looked_at(scope, lane_of(queue, "k", 0))


def test_an_excepted_queue_costs_one_range_whatever_it_holds() -> None:
    assert len(json.loads(Scope(None, None, ("mail",)).gaps)) == 2
    assert len(json.loads(Scope(None, None, ()).gaps)) == 1


def test_a_known_lane_is_not_looked_for_again() -> None:
    scope = Scope(None, ("k",), ("mail",))
    known, foreign = lane_of("other", "k", 0), lane_of("other", "x", 0)
    scope.add([known, foreign])
    assert scope.mine == [known]
    assert not looked_at(scope, known)
    assert not looked_at(scope, foreign)
    assert looked_at(scope, lane_of("other", "k", 1))


def test_a_mark_is_never_set_back() -> None:
    marks, lane = Marks(), lane_of("default", "k", 0)
    for reached in ([(5, 7), (5, 9), (4, 11)], [], [(3, 20)]):
        marks.advance_in(lane, [claimed(*at) for at in reached])
        marks.advance_in(lane_of("default", "k", 1), [claimed(9, 1)])
        assert place(marks, lane) == (5, 9)


def test_a_look_from_the_start_that_took_all_leaves_the_marks_where_they_are() -> None:
    scope, lane = Scope(None, ("k",)), lane_of("default", "k", 0)
    scope.marks.advance_in(lane, [claimed(5, 9)])
    looked = scope.begin()
    assert place(looked, lane) < (0, 0)
    looked.advance_in(lane, [claimed(3, 2)])
    looked.whole = True
    scope.end(looked, took=0)
    assert place(scope.marks, lane) == (5, 9)
    assert scope.fresh


def test_a_look_from_the_start_that_left_some_is_gone_on_with() -> None:
    scope, lane, other = Scope(None, ("k",)), lane_of("default", "k", 0), lane_of("default", "k", 1)
    for known in (lane, other):
        scope.marks.advance_in(known, [claimed(5, 9)])
    looked = scope.begin()
    looked.advance_in(lane, [claimed(3, 2)])
    scope.end(looked, took=0)
    assert place(scope.marks, lane) == (3, 2)
    assert place(scope.marks, other) < (0, 0)


@pytest.mark.parametrize(("took", "rests"), [(0.0, 1.0), (0.01, 1.0), (0.05, 3.0), (60.0, 4.0)])
def test_looks_from_the_start_that_take_long_are_seldom(
    took: float, rests: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    scope = Scope(None, None)
    assert not scope.fresh
    scope.end(scope.begin(), took=took)
    for later, fresh in ((rests - 0.01, True), (rests, False)):
        clock[0] = 100 + later
        assert scope.fresh == fresh


def claimed(run_at: int, seq: int) -> tuple[object, ...]:
    """A row as a claim answers it."""
    return (None, seq, *[None] * 8, run_at)


def place(marks: Marks, lane: str) -> tuple[int, int]:
    """Where a claim begins to read."""
    row = marks.row(lane, 1)
    return row["run_at"], row["seq"]
