"""summary: counts as people read them."""

from __future__ import annotations

import tenure

ZEROS = {state.value: 0 for state in tenure.State}


def test_there_is_a_line_for_each_state_in_the_order_of_a_life() -> None:
    lines = tenure.summary({"default": ZEROS}).splitlines()
    assert [line.split() for line in lines] == [[state.value, "0"] for state in tenure.State]


def test_all_queues_are_counted_together() -> None:
    told = tenure.summary({"mail": {**ZEROS, "ready": 2}, "images": {**ZEROS, "ready": 3, "dead": 1}})
    assert told.splitlines()[2] == "ready      5"
    assert told.splitlines()[5] == "dead       1"


def test_figures_stand_under_each_other() -> None:
    told = tenure.summary({"default": {**ZEROS, "ready": 7, "done": 1_234_567}})
    assert told == (
        "scheduled          0\n"
        "waiting            0\n"
        "ready              7\n"
        "running            0\n"
        "done       1,234,567\n"
        "dead               0\n"
        "cancelled          0"
    )


def test_a_store_without_jobs_has_a_summary_too() -> None:
    assert len(tenure.summary({}).splitlines()) == len(tenure.State)


def test_a_state_that_was_not_counted_is_none() -> None:
    assert tenure.summary({"default": {"ready": 1}}).splitlines()[0].split() == ["scheduled", "0"]
