"""The life of a job as data: no state is a trap, and none is out of reach."""

from __future__ import annotations

import pytest

from tenure.job import FINISHED, PENDING, TRANSITIONS, State

MOVES = [(verb, old, new) for verb, moves in TRANSITIONS.items() for old, new in moves]


def reach(start: set[State | None], verbs: set[str]) -> set[State | None]:
    """Every state that these verbs lead to from `start`."""
    found = set(start)
    while more := {new for verb, old, new in MOVES if verb in verbs and old in found} - found:
        found |= more
    return found


def test_every_state_is_pending_running_or_finished() -> None:
    assert {*PENDING, State.RUNNING, *FINISHED} == set(State)


def test_every_state_can_be_reached() -> None:
    assert reach({None}, set(TRANSITIONS)) == {None, *State}


@pytest.mark.parametrize("state", [s for s in State if s not in FINISHED])
def test_a_state_that_is_not_the_end_leads_to_every_end(state: State) -> None:
    assert set(FINISHED) <= reach(
        {state}, set(TRANSITIONS) - {"replay", "absolve", "discard", "restore", "unreplay"}
    )


@pytest.mark.parametrize("state", FINISHED)
def test_a_finished_job_moves_by_replay_alone_unless_it_died_unjustly_or_is_given_up(state: State) -> None:
    others = {State.DEAD: {"absolve", "discard"}, State.CANCELLED: {"restore"}}
    assert {verb for verb, old, _ in MOVES if old == state} == {"replay"} | others.get(state, set())


def test_only_a_claim_makes_a_job_run_and_only_ready_jobs_are_claimed() -> None:
    assert [(verb, old) for verb, old, new in MOVES if new == State.RUNNING] == [("claim", State.READY)]


def test_only_enqueue_makes_a_job() -> None:
    assert {verb for verb, old, _ in MOVES if old is None} == {"enqueue"}


def test_no_move_is_told_twice_or_leads_nowhere() -> None:
    assert len(set(MOVES)) == len(MOVES)
    assert all(old != new for _, old, new in MOVES)
