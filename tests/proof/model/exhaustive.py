"""Everything that can happen in a small world, breadth first, with every law checked at every step.

Breadth first means that the trace to a broken law is a shortest one. Worlds that differ in nothing that matters are visited
once: times are counted from now, tickets are fresh or old, and workers are alike. In every world whatever can be said of every
claim that was ever lost or settled is said.
"""

from __future__ import annotations

import gc
from collections import deque
from dataclasses import dataclass, field

from tests.proof.model.laws import Law, broken_law
from tests.proof.model.reference import Reference
from tests.proof.model.world import SPOKEN, Scene, Step, World

__all__ = ["Found", "explore"]


@dataclass
class Found:
    """How much there was, and the first law that was broken, with the way there."""

    states: int = 0
    transitions: int = 0
    law: Law | None = None
    trace: list[Step] = field(default_factory=list)

    def __str__(self) -> str:
        if self.law is None:
            return f"{self.states:,} states, {self.transitions:,} transitions, every law kept"
        way = "\n".join(f"  {at}. {step}" for at, step in enumerate(self.trace, 1))
        return f"{self.law.__name__}: {self.law.__doc__}\n{way}"


def explore(scene: Scene, model: type[Reference] = Reference) -> Found:
    """Visit every state that the scene's world can be in; stop at the first broken law."""
    gc.disable()  # Worlds are in no cycle, and to look for one among so many takes as long as the walk.
    try:
        return _explore(scene, model)
    finally:
        gc.enable()


def _explore(scene: Scene, model: type[Reference]) -> Found:
    start = World(scene, model)
    came: dict[bytes, tuple[bytes, Step] | None] = {start.key(): None}
    line: deque[tuple[bytes, World]] = deque([(start.key(), start)])
    found = Found(states=1)
    while line:
        at, before = line.popleft()
        for asked in [*before.steps(), *_heard(before, found)]:
            after = before.copy()
            step = after.take(asked)
            if step is None:
                continue
            found.transitions += 1
            key = after.key()
            new = key not in came
            law = broken_law(before, step, after, new=new)
            if law is not None:
                found.law, found.trace = law, [*_way(came, at), step]
                return found
            if new:
                came[key] = (at, step)
                line.append((key, after))
                found.states += 1
    return found


def _heard(world: World, found: Found) -> list[Step]:
    """What is said of lost claims though it must not be heard, all of it at once; if it is heard, each is a step to look at."""
    lost, after, says = world.lost(), world.copy(), [SPOKEN[name] for name in world.scene.outcomes]
    answers = after.model.settle(*((held.ticket, said) for held in lost for said in says))
    right = [
        held.said == said.name for held in lost for said in says
    ]  # said again after a lost answer, it stands
    kept, _asked, _lost = after.model.renew(*(held.ticket for held in lost), lease=1)
    found.transitions += len(answers) + len(lost)
    same = answers == right and not kept and not after.model.moves and world.picture() == after.picture()
    return [] if same else [step for held in lost for step in world.spoken(held)]


def _way(came: dict[bytes, tuple[bytes, Step] | None], at: bytes) -> list[Step]:
    """The steps from the beginning to here."""
    steps: list[Step] = []
    while (last := came[at]) is not None:
        at, step = last
        steps.append(step)
    return steps[::-1]
