"""A call that may have taken effect is asked again as such, whatever comes in between."""

from __future__ import annotations

import pytest

import tenure
from tenure.store.base import Broken, LockBusy, with_patience


def test_a_lock_that_the_try_in_doubt_may_hold_does_not_make_the_call_a_new_one() -> None:
    tries: list[bool] = []

    def once(again: bool) -> str:
        tries.append(again)
        if len(tries) == 1:
            raise Broken(OSError("gone"), "gone", asked=True)
        if len(tries) == 2:
            raise LockBusy
        return "done"

    assert with_patience(once, patience=30, repeatable=True) == "done"
    assert tries == [False, True, True]


def test_a_lock_that_the_try_in_doubt_holds_for_too_long_is_an_outage() -> None:
    def once(again: bool) -> None:
        if again:
            raise LockBusy
        raise Broken(OSError("gone"), "gone", asked=True)

    with pytest.raises(tenure.StoreUnavailable, match="still holds locks"):
        with_patience(once, patience=0.1, repeatable=True)


def test_a_lock_that_somebody_else_holds_is_told_at_once() -> None:
    def once(again: bool) -> None:
        raise LockBusy

    with pytest.raises(LockBusy):
        with_patience(once, patience=30, repeatable=True)
