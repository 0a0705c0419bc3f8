"""Whatever two workers do to two jobs, in whatever order, the contract's laws hold; and a contract that is broken is caught.

The model explored here is the one that every store is compared with (`test_model.py`).
"""

from __future__ import annotations

import pytest

from bench.measure import say
from tests.proof import depth
from tests.proof.model.broken import BROKEN, Broken
from tests.proof.model.exhaustive import explore
from tests.proof.model.laws import LAWS, nobody_is_stuck
from tests.proof.model.words import Ask, Name
from tests.proof.model.world import Scene
from tests.proof.tally import Tally

_TWICE = Ask(max_attempts=2)
_STRICT = Ask(max_attempts=2, group="g")
_START = Ask(max_attempts=2, group="g", order="start")
_PAIR = Ask(max_attempts=2, group="g", limit=2)
_UNIQUE = Ask(max_attempts=2, unique="u")
_FIRST = Ask(max_attempts=2, priority=1)
_DEEP = depth.DEPTH != "test"
_TWO: tuple[Name, ...] = ("done", "fail")
_SCENES = [
    Scene(name="one job, every outcome", jobs={"a": _TWICE}, claims=3, outcomes=("done", "fail", "snooze", "release", "bury", "cancelled", "crashed")),
    Scene(name="one job, settles said again", jobs={"a": _TWICE}, claims=depth.of(test=1, proof=3), outcomes=("done", "fail", "release"), repeats=True),
    Scene(name="two jobs", jobs={"a": _TWICE, "b": _FIRST}, claims=depth.of(test=1, proof=3), outcomes=("done",), people=""),
    Scene(name="two jobs and people", jobs={"a": _TWICE, "b": _FIRST}, claims=1, outcomes=(*_TWO, "release") if _DEEP else ("done",), people="ab" if _DEEP else "a"),
    Scene(name="a strict group", jobs={"a": _STRICT, "b": _STRICT}, claims=depth.of(test=1, proof=2), outcomes=_TWO, people="a"),
    Scene(name="a group that starts in order", jobs={"a": _START, "b": _START}, claims=depth.of(test=1, proof=2), outcomes=_TWO, people="a"),
    Scene(name="a unique key", jobs={"a": _UNIQUE, "b": _UNIQUE}, claims=depth.of(test=1, proof=2), outcomes=_TWO, people="a"),
]  # fmt: skip
if _DEEP:
    _SCENES += [
        Scene(name="two jobs that fail", jobs={"a": _TWICE, "b": _TWICE}, claims=2, outcomes=_TWO, people=""),
        Scene(name="a strict group, three claims", jobs={"a": _STRICT, "b": _STRICT}, claims=3, outcomes=("done",), people=""),
        Scene(name="a group of two", jobs={"a": _PAIR, "b": _PAIR}, claims=2, outcomes=_TWO, people=""),
    ]  # fmt: skip


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scene", _SCENES, ids=lambda scene: scene.name.replace(" ", "-"))
def test_every_law_holds_whatever_happens(scene: Scene, tally: Tally) -> None:
    found = explore(scene)
    assert found.law is None, str(found)
    say(f"{scene.name}: {found}")
    tally(scenes=1, states=found.states, transitions=found.transitions, broken_laws=0)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.model.__name__)
def test_a_broken_rule_is_caught_by_the_law_it_breaks(broken: Broken, tally: Tally) -> None:
    found = explore(broken.scene, broken.model)
    assert found.law is broken.law, str(found)
    say(f"{broken.model.__doc__}\n{found}")
    tally(broken_models_caught=1)


def test_every_law_has_a_broken_model_that_only_it_has_caught() -> None:
    assert {broken.law for broken in BROKEN} == {*LAWS, nobody_is_stuck}
