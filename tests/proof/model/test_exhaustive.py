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
from tests.proof.model.words import Ask
from tests.proof.model.world import OUTCOMES, Scene
from tests.proof.tally import Tally

_TWICE = Ask(max_attempts=2)
_STRICT = Ask(max_attempts=2, group="g")
_START = Ask(max_attempts=2, group="g", order="start")
_PAIR = Ask(max_attempts=2, group="g", limit=2)
_UNIQUE = Ask(max_attempts=2, unique="u")
_FIRST = Ask(max_attempts=2, priority=1)
_BULK = Ask(max_attempts=2, queue="bulk", priority=1)
_BRIEF = Ask(max_attempts=2, expires_in=2, priority=1)
_BRIEF_HEAD = Ask(max_attempts=2, group="g", expires_in=2)
_DEEP = depth.DEPTH != "test"
_SCENES = [
    Scene(name="one job", jobs={"a": _TWICE}, claims=3, outcomes=(*OUTCOMES, "crashed")),
    Scene(name="one job that expires", jobs={"a": _BRIEF}, claims=depth.of(test=2, proof=3), pauses=("default",)),
    Scene(name="two jobs", jobs={"a": _TWICE, "b": _FIRST}, claims=depth.of(test=1, proof=3), people=""),
    Scene(name="two jobs and people", jobs={"a": _TWICE, "b": _FIRST}, claims=depth.of(test=1, proof=2, torture=3), people="a"),
    Scene(name="two queues, one of them paused", jobs={"a": _TWICE, "b": _BULK}, claims=depth.of(test=1, proof=2, torture=3), people="", pauses=("bulk",)),
    Scene(name="two jobs, one of them brief", jobs={"a": _BRIEF, "b": _TWICE}, claims=depth.of(test=1, proof=2, torture=3), people=""),
    Scene(name="a strict group", jobs={"a": _STRICT, "b": _STRICT}, claims=depth.of(test=2, proof=3), people="", vanishes=_DEEP),
    Scene(name="a group that starts in order", jobs={"a": _START, "b": _START}, claims=depth.of(test=1, proof=3), people="", beats=_DEEP),
    Scene(name="a unique key", jobs={"a": _UNIQUE, "b": _UNIQUE}, claims=depth.of(test=1, proof=3), people=""),
]  # fmt: skip
if _DEEP:
    _SCENES += [
        Scene(name="two jobs, people for both", jobs={"a": _TWICE, "b": _FIRST}, claims=1, people="ab"),
        Scene(name="a strict group and people", jobs={"a": _STRICT, "b": _STRICT}, claims=2, people="a", vanishes=False),
        Scene(name="a strict group behind a brief head", jobs={"a": _BRIEF_HEAD, "b": _STRICT}, claims=2, people="", pauses=("default",)),
        Scene(name="a group that starts in order and people", jobs={"a": _START, "b": _START}, claims=2, people="a", vanishes=False),
        Scene(name="a group of two", jobs={"a": _PAIR, "b": _PAIR}, claims=2, people=""),
        Scene(name="a unique key and people", jobs={"a": _UNIQUE, "b": _UNIQUE}, claims=2, people="ab", vanishes=False),
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
