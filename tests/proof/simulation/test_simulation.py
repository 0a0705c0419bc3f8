"""A thousand hours of the real worker, janitor and cron among faults, a fraction of a second each: whatever happened, the ledger balances.

Checked as it goes: a claim is begun once, a strict group keeps its order, every settle is answered as the fence says, no suspect
is told to start before a child is there for it. Checked at the end: what was acknowledged has ended, what is done was done,
nobody is blamed for a crash he had no part in, no fire of a schedule is missed or made twice, every death is told of once. In every
third hour what has ended goes after a while, and not before.
"""

from __future__ import annotations

import pytest

from bench.measure import say
from tests.proof import depth
from tests.proof.simulation.plants import PLANTS
from tests.proof.simulation.play import play
from tests.proof.tally import Tally
from tests.support.child import run_child

CHUNKS = depth.of(test=15, proof=40)
HOURS_EACH = depth.of(test=10, proof=25)
_PARTS = depth.of(test=2, proof=8)
_STRIDE = depth.of(test=8, proof=1)
"""In the proof every step is one to die at."""
_PLANTED = 60
"""How many hours a planted fault may go unnoticed."""


@pytest.mark.timeout(depth.of(test=120, proof=600))
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_after_an_hour_of_faults_every_job_has_ended_as_it_should(
    chunk: int, seed: int, tally: Tally
) -> None:
    for hour in range(HOURS_EACH):
        played = play(f"{seed}-{chunk}-{hour}")
        tally(
            hours=1, jobs=played.jobs, simulated_kills=played.kills, refused_settles=played.refused, losses=played.losses,
            taken_by_retention=played.gone, steps=played.steps,
        )  # fmt: skip
        tally(**{sort.replace(" ", "_"): count for sort, count in played.faults})


@pytest.mark.timeout(depth.of(test=120, proof=600))
@pytest.mark.parametrize("part", range(_PARTS))
def test_whoever_dies_at_whatever_step_between_two_awaits_every_job_ends_as_it_should(
    part: int, seed: int, tally: Tally
) -> None:
    """The same scene again and again, with a worker or a child of one killed one step later each time; a schedule fires in it."""
    calm = play(f"{seed}-calm", fatal=0)
    assert 0 < calm.fired_at < calm.steps, "no fire is among the steps"
    for fatal in range(1 + part, calm.steps + 1, _PARTS * _STRIDE):
        played = play(f"{seed}-calm", fatal=fatal)
        assert dict(played.faults)["killed at an await"] == 1
        assert played.fired_at, f"whoever died at step {fatal} took a fire along"
        tally(crash_points=1, jobs=played.jobs, losses=played.losses)


@pytest.mark.parametrize("name", list(PLANTS)[:: depth.of(test=4, proof=1)])
def test_a_fault_planted_in_the_package_is_noticed(name: str, seed: int, tally: Tally) -> None:
    planted, words = PLANTS[name]
    for hour in range(_PLANTED):
        with planted():
            verdict = _verdict(f"{seed}-{name}-{hour}")
        tally(planted_hours=1)
        if verdict is not None:
            assert words in verdict
            tally(planted_faults_noticed=1)
            return
    pytest.fail(f"{_PLANTED} hours were played, and nobody noticed: {name}")


def _verdict(name: str) -> str | None:
    """What is wrong with this hour."""
    try:
        play(name)
    except AssertionError as wrong:
        return str(wrong)
    return None


@pytest.mark.timeout(400)
def test_the_same_seed_leaves_the_same_trace_in_any_process(seed: int, tally: Tally) -> None:
    name = f"{seed}-again"
    first = play(name)
    say(f"{first}")
    assert play(name) == first
    # Another process hashes texts in another order.
    program = "import sys; from tests.proof.simulation.play import play; print(play(sys.argv[1]).trace)"
    assert run_child(program, name, within=300).strip() == first.trace
    tally(replays=2)
