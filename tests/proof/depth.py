"""How deep the proof goes: a share of each scene in `make test`, all of it in `make proof`, more in `make torture`.

`TENURE_DEPTH` names the depth (test, proof or torture), `TENURE_SEED` the seed of everything that is drawn at random; without
one `make test` takes the same every day, and the others draw their own. A scene asks `of(…)` how much to do and draws from `random.Random` seeded by the fixture `seed`.
"""

from __future__ import annotations

import os
import random
from typing import Literal, TypeVar, cast

__all__ = ["DEPTH", "Depth", "draw_seed", "lasting", "of", "seed"]

Depth = Literal["test", "proof", "torture"]
N = TypeVar("N", int, float)


def _named() -> Depth:
    named = os.environ.get("TENURE_DEPTH") or "test"
    if named not in {"test", "proof", "torture"}:
        message = f"TENURE_DEPTH is {named!r}; it is one of test, proof, torture"
        raise ValueError(message)
    return cast("Depth", named)


DEPTH: Depth = _named()
_EVERYDAY = 7
"""The seed of `make test`, so that what fails there failed by the change under test; new draws are for the other two."""


def of(*, test: N, proof: N, torture: N | None = None) -> N:
    """How much to do at this depth; a round of torture does as much as the proof, unless it is told otherwise."""
    match DEPTH:
        case "test":
            return test
        case "proof":
            return proof
        case "torture":
            return proof if torture is None else torture


def lasting(otherwise: float, *, around: float) -> float:
    """How many seconds one scene may live that lives as long as the run of torture it is in: $TENURE_MINUTES, but for what is
    `around` it; not less than twenty, and where nobody says how long the run is, `otherwise`."""
    minutes = os.environ.get("TENURE_MINUTES")
    return otherwise if not minutes else max(float(minutes) * 60 - around, 20.0)


def draw_seed() -> None:
    """Draw the run's seed, unless one is given. The process that starts the run does it; those it starts inherit it."""
    if not os.environ.get("TENURE_SEED"):
        drawn = _EVERYDAY if DEPTH == "test" else random.SystemRandom().randrange(1, 1_000_000)
        os.environ["TENURE_SEED"] = str(drawn)


def seed() -> int:
    """The run's seed."""
    return int(os.environ["TENURE_SEED"])
