"""How much a whole proof comes to: a run of `make proof` that has done less of anything here fails, though every test passed.

Some of it the tests assert themselves, part by part (each move of the model, each mutant); this is the sum, so that a smaller
number in some test, or a test that is left out, is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.proof import depth
from tests.proof.tally import Counts, in_all, sums_of

__all__ = ["FIGURES", "judge", "short", "whole"]

_EVERYWHERE = "in all"
FIGURES: dict[str, dict[str, int]] = {
    "model": {
        "writes/sqlite": 20_000, "writes/shared": 10_000, "writes/postgres": 5_000, "async writes": 17_000,
        "stale settles/sqlite": 500, "stale settles/shared": 500, "stale settles/postgres": 500, "broken rules found": 50,
    },
    "exhaustive": {"scenes": 15, "states": 200_000, "broken models caught": 46},
    "guards": {"killed": 900},
    "simulation": {"hours": 1_000, "planted faults noticed": 10},
    "kills": {"stale tried": 1_000, "stale refused": 1_000},
    "server_faults": {"stale tried": 300, "stale refused": 300},
    "commits": {"lost in own transactions": 10},
    "stops": {"stops": 100, "stale tried": 100, "stale refused": 100},
    "cron_zones": {"zones": 40},
    "soak": {"seconds": 360},
    "rolling": {"deploys": 6},
    _EVERYWHERE: {
        "kills/sqlite": 300, "kills/shared": 300, "kills/postgres": 300, "cuts": 300, "fast restarts": 10,
        "immediate restarts": 10, "postmaster kills": 5, "terminations": 200, "failovers": 5, "lost answers": 100,
    },
}  # fmt: skip
"""By topic and thing counted; faults whatever topic they are of."""


def short(sums: Mapping[str, Counts]) -> list[str]:
    """What there is too little of."""
    found = {**sums, _EVERYWHERE: in_all(sums)}
    return [
        f"{topic}: {found.get(topic, {}).get(name, 0):,} {name} of {least:,}"
        for topic, figures in FIGURES.items()
        for name, least in figures.items()
        if found.get(topic, {}).get(name, 0) < least
    ]


def judge(session: pytest.Session) -> None:
    """Let a whole run that passed fail if it did too little, and say of what."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.exitstatus != 0 or terminal is None or not whole(session.config):
        return
    terminal.ensure_newline()
    for line in short(sums_of(terminal)[0]):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        terminal.write_line(f"too little for a whole proof: {line}", red=True)


def whole(config: pytest.Config) -> bool:
    """Whether this run is all of `make proof`: none of it chosen by a name, and none left out."""
    chosen = config.option.keyword or config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    return depth.DEPTH == "proof" and not chosen and not config.option.collectonly
