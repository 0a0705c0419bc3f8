"""What a person asks of a job while somebody's transaction moves it: who looks in two places looks once more in the first."""

from __future__ import annotations

import pytest

from tenure.job import Cancelling, JobId, Replayed
from tenure.store import people
from tenure.store.plan import Plan, Result
from tenure.store.postgres.dialect import CAN

ID = JobId("0190a5d0-7a2b-7c11-9d5e-2f4b8c1e6a70")


def looks(plan: Plan[object], *answers: list[tuple[object, ...]]) -> tuple[list[str], object]:
    """The statements that a plan begins with, so answered, and what it comes to if it ends with them."""
    names = [next(plan).name]
    for rows in answers:
        try:
            names.append(plan.send(Result(rows, len(rows))).name)
        except StopIteration as end:
            return names, end.value
    return names, None


def test_a_job_that_ends_while_it_is_looked_for_is_replayed() -> None:
    names, _ = looks(people.replay(ID, CAN, now=None), [], [], [("done",)])
    assert names[:3] == ["find_finished", "find_pending", "find_finished"]
    assert len(names) == 4
    assert looks(people.replay(ID, CAN, now=None), [], [], [])[1] is Replayed.UNKNOWN


@pytest.mark.parametrize("state", ["ready", "running"])
def test_a_job_that_starts_anew_while_it_is_looked_for_is_cancelled(state: str) -> None:
    names, _ = looks(people.cancel(ID, "", CAN, now=None), [], [], [(ID, 1, 1, state, None, 5)])
    assert names[:3] == ["find_pending", "find_finished", "find_pending"]
    assert len(names) == 4
    assert looks(people.cancel(ID, "", CAN, now=None), [], [], [])[1] is Cancelling.UNKNOWN
