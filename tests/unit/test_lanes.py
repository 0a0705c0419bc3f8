"""Lanes: where a claim looks, and where it does not."""

from __future__ import annotations

import json

from tenure.newjob import lane_of
from tenure.store.lanes import Scope


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
    scope, lane = Scope(None, ("k",)), lane_of("default", "k", 0)
    scope.add([lane])
    for reached in ([(5, 7), (5, 9), (4, 11)], [], [(3, 20)]):
        scope.advance_in(lane, [(None, seq, *[None] * 8, run_at) for run_at, seq in reached])
        scope.advance_in(lane_of("default", "k", 1), [(None, 1, *[None] * 8, 9)])
        row = scope.row(lane, 1)
        assert (row["run_at"], row["seq"]) == (5, 9)
