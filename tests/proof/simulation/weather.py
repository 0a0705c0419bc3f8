"""The weather: which faults come when, all of them drawn from the seed. Once it clears up, none does any more."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.proof.simulation.hub import Hub

__all__ = ["Weather"]


@dataclass
class Weather:
    """How bad it is, for one run."""

    hub: Hub
    chance: random.Random
    clear: bool = False
    outages: list[tuple[float, float]] = field(default_factory=list)
    """From when to when the store is away."""
    met: dict[str, int] = field(default_factory=dict)
    """How many faults of each sort there were."""

    def __post_init__(self) -> None:
        draw = self.chance
        worst = {
            "refused": 0.006, "lost": 0.006, "killed before": 0.0012, "killed after": 0.0012, "late": 0.005, "twice": 0.015,
            "twice later": 0.015, "killed at an await": 0.0004,
        }  # fmt: skip
        # Some runs meet one sort of fault only, some none of a sort, some all.
        self._often = {what: most * draw.choice((0.0, 0.3, 1.0, 1.0)) for what, most in worst.items()}
        at = self.hub.now
        for _ in range(draw.choice((0, 0, 1, 2, 3))):
            at += draw.uniform(60, 1_500)
            self.outages.append((at, at + draw.choice((1.0, 4.0, 8.0, 20.0, 60.0, 130.0))))

    def meets(self, what: str) -> bool:
        """Whether this fault comes now."""
        if self.clear or self.chance.random() >= self._often[what]:
            return False
        self.count(what)
        return True

    def count(self, what: str) -> None:
        """One more of this."""
        self.met[what] = self.met.get(what, 0) + 1
        self.hub.tell(f"fault: {what}")

    @property
    def away(self) -> bool:
        """Whether the store is away now."""
        return not self.clear and any(start <= self.hub.now < end for start, end in self.outages)

    def latency(self) -> float:
        """How long one way to the store takes."""
        if not self.clear and self.meets("late"):
            return self.chance.choice((0.5, 3.0, 12.0, 40.0))
        return self.chance.uniform(0.0001, 0.003)
