"""How much a run of `make torture` comes to in each minute, at the least: a run that did less says so, and ends as failed.

The figures are a third of what two cores did on which other work ran as well; a machine that does less than that has not been
tortured, whatever it printed. Short runs are not held to it: they begin with one test of everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.proof.tally import Counts, in_all

__all__ = ["JUDGED_FROM", "PACE", "slow"]

JUDGED_FROM = 10.0
"""Runs of so many minutes or more are held to it."""
_EVERYWHERE = "in all"
PACE: dict[str, dict[str, float]] = {
    _EVERYWHERE: {
        "jobs": 2_000, "kills": 15, "cuts": 1, "terminations": 0.5, "lost answers": 0.4, "stops": 0.5, "fills": 0.1,
        "jumps": 0.2, "fast restarts": 0.1, "immediate restarts": 0.1, "postmaster kills": 0.05, "failovers": 0.05,
    },
    "simulation": {"hours": 3},
    "soak": {"seconds": 60},
}  # fmt: skip
"""By topic and thing counted, for each minute; what comes in ones is held to whole ones."""


def slow(sums: Mapping[str, Counts], minutes: float) -> list[str]:
    """What there is too little of for a run of so many minutes."""
    if minutes < JUDGED_FROM:
        return []
    found = {**sums, _EVERYWHERE: in_all(sums)}
    return [
        f"{topic}: {found.get(topic, {}).get(name, 0):,} {name} in {minutes:g} minutes, of {int(rate * minutes):,}"
        for topic, paces in PACE.items()
        for name, rate in paces.items()
        if found.get(topic, {}).get(name, 0) < int(rate * minutes)
    ]
