"""How much a run of `make torture` comes to in each minute, at the least: a run that did less says so, and ends as failed.

The figures are a third of what two cores did on which other work ran as well; a machine that does less than that has not been
tortured, whatever it printed. Short runs are not held to it: in twenty minutes everything has had its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.proof.figures import WIRES
from tests.proof.tally import Counts

__all__ = ["JUDGED_FROM", "PACE", "Pace", "slow"]

JUDGED_FROM = 20.0
"""Runs of so many minutes or more are held to it."""


class Pace(NamedTuple):
    """How many of these there are in a minute, in all topics or in one."""

    rate: float
    names: tuple[str, ...]
    topic: str | None = None


PACE: dict[str, Pace] = {
    "jobs": Pace(2_000, ("jobs",)),
    "kills": Pace(15, ("kills",)),
    "power cuts": Pace(1, ("cuts",)),
    "restarts of the server": Pace(0.2, ("fast restarts", "immediate restarts", "postmaster kills")),
    "terminated backends": Pace(1, ("terminations",)),
    "failovers": Pace(0.05, ("failovers",)),
    "lost answers": Pace(0.5, ("lost answers",)),
    "faults of wires": Pace(0.5, tuple(f"{fault} faults" for fault in WIRES)),
    "stops": Pace(0.5, ("stops",)),
    "jumps of clocks": Pace(0.2, ("jumps",)),
    "full disks": Pace(0.1, ("fills",)),
    "simulated hours": Pace(3, ("hours",)),
    "seconds of soak": Pace(60, ("seconds",), "soak"),
}


def slow(sums: Mapping[str, Counts], minutes: float) -> list[str]:
    """What there is too little of for a run of so many minutes."""
    if minutes < JUDGED_FROM:
        return []
    found = {what: _sum(sums, pace) for what, pace in PACE.items()}
    least = {what: int(pace.rate * minutes) for what, pace in PACE.items()}
    return [
        f"{found[what]:,} {what} in {minutes:g} minutes, of {least[what]:,}"
        for what in PACE
        if found[what] < least[what]
    ]


def _sum(sums: Mapping[str, Counts], pace: Pace) -> int:
    """How many of these there were."""
    return sum(
        counts.get(name, 0)
        for topic, counts in sums.items()
        if pace.topic in (None, topic)
        for name in pace.names
    )
