"""Everything that can happen in a small world, breadth first, with every law checked at every step.

Breadth first means that the trace to a broken law is a shortest one. Worlds that differ in nothing that matters are visited
once: times are counted from now, epochs from the latest, and workers are alike.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tests.proof.model.laws import Law, broken_law
from tests.proof.model.reference import Reference
from tests.proof.model.world import Scene, Step, World

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
    start = World(scene, model)
    came: dict[bytes, tuple[bytes, Step] | None] = {start.key(): None}
    line: deque[tuple[bytes, World]] = deque([(start.key(), start)])
    found = Found(states=1)
    while line:
        at, before = line.popleft()
        for asked in before.steps():
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


def _way(came: dict[bytes, tuple[bytes, Step] | None], at: bytes) -> list[Step]:
    """The steps from the beginning to here."""
    steps: list[Step] = []
    while (last := came[at]) is not None:
        at, step = last
        steps.append(step)
    return steps[::-1]
