"""How much a whole proof comes to, and the share of it in `make test`: a run that has done less of anything here fails, though every test passed.

Some of it the tests assert themselves, part by part (each move of the model, each mutant); this is the sum, so that a smaller
number in some test, or a test that is left out, is noticed. `python -m tests.proof.figures` writes it into RELIABILITY.md.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from tests.proof import depth
from tests.proof.page import PAGE, put
from tests.proof.sqlite.small import may_mount
from tests.proof.tally import STORES, Counts, in_all, sums_of
from tests.support.fresh import KINDS

__all__ = ["FIGURES", "MARKS", "SHARES", "WIRES", "asked_here", "judge", "short", "table", "whole"]

MARKS = "<!-- figures: written by `python -m tests.proof.figures` -->", "<!-- /figures -->"
_EVERYWHERE = "in all"
WIRES = ("reset", "swallow", "client gone", "server gone", "drip", "end", "end of requests", "silent")
"""What wires do to what goes over them."""


def _each(name: str, least: int, stores: tuple[str, ...] = tuple(KINDS)) -> dict[str, int]:
    """So many on each of these stores."""
    return {f"{name}/{store}": least for store in stores}


_TWO = ("sqlite", "postgres")
FIGURES: dict[str, dict[str, int]] = {
    "model": {
        "writes/sqlite": 20_000, "writes/shared": 10_000, "writes/postgres": 5_000, "async writes": 17_000,
        **_each("stale settles", 500), "broken rules found": 50,
    },
    "exhaustive": {"scenes": 15, "states": 200_000, "broken models caught": 46},
    "guards": {"killed": 2_000},
    "simulation": {
        "hours": 1_000, "crash points": 250, "killed": 6_000, "killed at an await": 100, "killed before": 1_000,
        "killed after": 1_000, "stands still": 2_500, "refused": 5_000, "lost": 5_000, "late": 5_000, "twice": 10_000,
        "twice later": 800, "clock jumped": 400, "planted faults noticed": 11, "taken by retention": 10_000,
    },
    "kills": {
        **_each("worker kills", 80), **_each("producer kills", 80), **_each("janitor kills", 30), "stale tried": 1_000,
        "stale refused": 1_000,
        **_each("crashes", 60),
    },
    "pool_kills": {**_each("pool parent kills", 10, _TWO), **_each("pool worker kills", 20, _TWO)},
    "gateway_kills": _each("gateway kills", 40, _TWO),
    "server_faults": {"stale tried": 300, "stale refused": 300},
    "commits": {"lost commits": 100, "lost in own transactions": 10},
    "wires": {f"{fault} faults": 12 for fault in WIRES},
    "leaving": {**{f"{fault} faults": 3 for fault in WIRES}, "pools gone": 2, "gateways gone": 2},
    "power": {"full cuts": 300, "normal cuts": 100, "webhooks": 50_000},
    "power_async": {"cuts": 150, "webhooks": 8_000},
    "full": {"fills": 40},
    "hammer": {**_each("seconds", 60, ("sqlite", "shared")), "processes": 16},
    "stops": {**_each("stops", 100), "told of their loss": 100},
    "clocks": {**_each("jumps", 20), "skewed workers": 3},
    "cron_zones": {"zones": 40, "windows": 90_000},
    "payloads": {"payloads": 2_000, "failures": 1_500},
    "words": {"texts": 12_000, "filters": 600},
    "http": {"requests": 2_500},
    "canaries": {"urls": 30, "commands": 16},
    "roles": {
        "tests as worker": 3_000, "tests as migrator": 1_500, "tests as producer": 1_200, "tests as viewer": 800,
    },
    "half_open": {"dead lines": 1, "clients gone": 1},
    "growth": {"long readers": 1},
    "first": {**_each("frozen stores", 1), "opened by the next": 3},
    "rolling": {"deploys": 6},
    "soak": {**_each("seconds", 150), "processes": 24, "updates": 500, "visits": 500},
    _EVERYWHERE: {
        **_each("kills", 300), "fast restarts": 10, "immediate restarts": 10, "postmaster kills": 5, "terminations": 200,
        "failovers": 5, "lost answers": 100,
    },
}  # fmt: skip
"""By topic and thing counted; faults whatever topic they are of."""
SHARES: dict[str, dict[str, int]] = {
    "model": {"writes": 1_500, "async writes": 700, "stale settles": 100, "broken rules found": 3},
    "exhaustive": {"scenes": 9, "states": 5_000, "broken models caught": 46},
    "guards": {"killed": 12},
    "simulation": {"hours": 150, "crash points": 30, "planted faults noticed": 3},
    "power": {"full cuts": 18, "normal cuts": 18},
    "power_async": {"cuts": 16},
    "full": {"fills": 6},
    "stops": _each("stops", 2),
    "clocks": _each("jumps", 2),
    "wires": {f"{fault} faults": 1 for fault in ("reset", "swallow", "server gone", "drip", "end", "silent")},
    "half_open": {"dead lines": 1, "clients gone": 1},
    "growth": {"long readers": 1},
    "first": {**_each("frozen stores", 1), "opened by the next": 3},
    "roles": {"tests as worker": 100},
    "rolling": {"deploys": 1},
    "soak": {"seconds": 20, "processes": 24},
    "pool_kills": _each("kills", 3, _TWO),
    "gateway_kills": _each("gateway kills", 6, _TWO),
    "commits": {"lost commits": 9},
    "leaving": {"swallow faults": 2, "server gone faults": 1, "pools gone": 1},
    "hammer": {**_each("seconds", 1, ("sqlite", "shared")), "processes": 16},
    "cron_zones": {"zones": 5},
    "payloads": {"payloads": 200, "failures": 150},
    "words": {"texts": 1_000, "filters": 80},
    "http": {"requests": 150},
    "canaries": {"urls": 30, "commands": 16},
    "kills": {**_each("kills", 60), **_each("crashes", 5)},
    _EVERYWHERE: {
        **_each("kills", 60), "fast restarts": 2, "immediate restarts": 2, "postmaster kills": 2,
        "terminations": 20, "failovers": 1, "lost answers": 14,
    },
}  # fmt: skip
"""The same of `make test`: enough to tell that no part of it has been left out."""
_WANTED: dict[str, tuple[str, str, dict[str, dict[str, int]]]] = {
    "test": ("not proof", "all of `make test`", SHARES),
    "proof": ("proof", "a whole proof", FIGURES),
}
"""By depth: which marks are asked for, what such a run is called, and what it comes to."""
_MINUTES = {"test": 12, "proof": 40}
"""By depth: how long such a run is to take on two cores. That is told, and fails nothing: machines differ."""
_BEGAN = time.monotonic()


def table() -> str:
    """The figures, for people."""
    lines = ["| what | at the least, in a whole `make proof` |", "|---|---|"]
    lines += [
        f"| {topic.replace('_', ' ')} | {', '.join(_words(figures))} |" for topic, figures in FIGURES.items()
    ]
    return "\n".join(lines)


def _words(figures: Mapping[str, int]) -> list[str]:
    by_store: dict[str, dict[str, int]] = {}
    for name, least in figures.items():
        thing, _, store = name.partition("/")
        by_store.setdefault(thing, {})[store] = least
    return [_spread(thing, each) for thing, each in by_store.items()]


def _spread(thing: str, each: Mapping[str, int]) -> str:
    if "" in each:
        return f"{each['']:,} {thing}"
    if len(each) == len(KINDS) and len(set(each.values())) == 1:
        return f"{min(each.values()):,} {thing} on each store"
    return f"{thing}: " + " and ".join(f"{least:,} on {STORES[store]}" for store, least in each.items())


def short(sums: Mapping[str, Counts], wanted: Mapping[str, Mapping[str, int]] = FIGURES) -> list[str]:
    """What there is too little of."""
    found = {**sums, _EVERYWHERE: in_all(sums)}
    return [
        f"{topic}: {found.get(topic, {}).get(name, 0):,} {name} of {least:,}"
        for topic, figures in wanted.items()
        for name, least in figures.items()
        if found.get(topic, {}).get(name, 0) < least
    ]


def asked_here(wanted: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """What this machine can do besides: where file systems may be mounted, every disk that fills up is one."""
    more = {"mounted": wanted["full"]["fills"]} if may_mount() else {}
    return {**wanted, "full": {**wanted["full"], **more}}


def judge(session: pytest.Session) -> None:
    """Say how long a whole run took, and let one that passed fail if it did too little, and say of what."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.exitstatus not in {0, 1} or terminal is None or not whole(session.config):
        return
    _, called, wanted = _WANTED[depth.DEPTH]
    took, may = (time.monotonic() - _BEGAN) / 60, _MINUTES[depth.DEPTH]
    terminal.write_line("")  # the dots end without one
    terminal.write_line(f"{called} took {took:.1f} of {may} minutes", yellow=took > may)
    if session.exitstatus:
        return
    for line in short(sums_of(terminal)[0], asked_here(wanted)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        terminal.write_line(f"too little for {called}: {line}", red=True)


def whole(config: pytest.Config) -> bool:
    """Whether this run is all of `make test` or of `make proof`: none of it chosen by a name, and none left out."""
    if depth.DEPTH not in _WANTED or config.option.collectonly:
        return False
    option = config.option
    chosen = (
        option.keyword
        or option.deselect
        or getattr(option, "lf", False)
        or getattr(option, "stepwise", False)
    )
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    return not chosen and not named and option.markexpr == _WANTED[depth.DEPTH][0]


if __name__ == "__main__":
    put(PAGE, MARKS, table())
